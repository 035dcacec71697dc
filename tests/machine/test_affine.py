"""Terms in normal form: worked by hand, and the same value however a term is computed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srm.machine.affine import LARGEST_FORM, ONE, Form, Monomial, NotAffine, WorkBudget, add, exact, expand, scale
from srm.machine.language.parse import parse
from srm.machine.terms import CounterTerm, HoleTerm, NamedTerm, Negation, Number, Product, SignalTerm, Sum, Term
from tests.machines import Names, terms

HEAD = "machine m\nholes ?open ?close ?unlock\ncounters\n    #opened counts wait\n    #closed counts push\n"


def form_of(text: str) -> Form:
    machine = parse(f"{HEAD}let told = {text}\nstart s\n")
    return machine.forms["told"]


def test_a_product_of_a_sum_is_multiplied_out() -> None:
    assert form_of("2 * (?close - ?open) * #opened + 1") == {
        Monomial("close", ("opened",)): 2,
        Monomial("open", ("opened",)): -2,
        ONE: 1,
    }


def test_counters_and_signals_of_a_monomial_are_sorted() -> None:
    assert form_of("speed * #opened * ?open * #closed") == {Monomial("open", ("closed", "opened"), ("speed",)): 1}


def test_what_cancels_leaves_nothing() -> None:
    assert form_of("?open - ?open + 0 * #opened") == {}


def test_decimals_are_exact() -> None:
    assert form_of("0.1 + 0.2") == {ONE: Fraction(3, 10)}
    assert exact(1e-7) == Fraction(1, 10**7)


def test_named_terms_are_read_in_place() -> None:
    machine = parse(f"{HEAD}let worth = ?unlock - 1\nlet left = 2 * worth\nstart s\n    wait // left * #opened\n")
    assert machine.form(machine.nodes[0].rules[0].pay) == {
        Monomial("unlock", ("opened",)): 2,
        Monomial(None, ("opened",)): -2,
    }


def test_monomials_print_in_the_words_of_the_language() -> None:
    assert str(Monomial("open", ("opened",), ("speed",))) == "#opened * speed * ?open"
    assert str(ONE) == "1"


def test_a_product_of_holes_is_refused_at_the_product() -> None:
    term = Product((HoleTerm("a"), Sum((Number(1.0), HoleTerm("b")))))
    with pytest.raises(NotAffine, match=r"\?a \* \?b is a product of two holes") as refused:
        expand(Sum((Number(1.0), term)))
    assert refused.value.at is term


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (Sum(tuple(CounterTerm(f"c{i}") for i in range(LARGEST_FORM + 1))), "more than 256 parts"),
        (Product((Number(1e200), Number(1e200))), "too large or too small"),
        (Product((Number(1e-200), Number(1e-200))), "too large or too small"),
        (Sum((Number(1.7e308), Number(1.7e308))), "too large or too small"),
        (Product((Number(1.0),) * 33), "more than 32 factors"),
        (Product((Product((CounterTerm("c"),) * 30), Product((CounterTerm("c"),) * 3))), "more than 32 counters"),
    ],
    ids=["parts", "huge", "tiny", "huge sum", "factors", "degree"],
)
def test_forms_stay_within_bounds(term: Term, reason: str) -> None:
    with pytest.raises(NotAffine, match=reason):
        expand(term)


def test_a_budget_bounds_the_work_of_many_terms() -> None:
    large = {Monomial(None, (f"c{i}",)): Fraction(1) for i in range(100)}
    twice = Sum((NamedTerm("t"), NamedTerm("t")))
    budget = WorkBudget(450)
    expand(twice, {"t": large}, budget)
    expand(twice, {"t": large}, budget)
    with pytest.raises(NotAffine, match="take too long"):
        expand(twice, {"t": large}, budget)


def test_sums_of_forms() -> None:
    one, other = {ONE: Fraction(1), Monomial("a"): Fraction(2)}, {Monomial("a"): Fraction(-2)}
    assert add(one, other) == {ONE: 1}
    assert scale(one, Fraction(-3)) == {ONE: -3, Monomial("a"): -6}


# However it is computed

NAMES = Names(("a", "b"), ("c", "d"), ("speed",), closed=("known",), open=("left",))
NAMED: dict[str, Form] = {
    "known": {ONE: Fraction(2), Monomial(None, ("c",)): Fraction(1)},
    "left": {Monomial("a"): Fraction(1), ONE: Fraction(-1)},
}


def value_of(term: Term, values: Mapping[str, Fraction]) -> Fraction:
    """The value of a term, computed as it is written."""
    match term:
        case Number(value):
            return Fraction(value)
        case HoleTerm(name) | CounterTerm(name) | SignalTerm(name):
            return values[name]
        case NamedTerm(name):
            return value_of_form(NAMED[name], values)
        case Negation(inner):
            return -value_of(inner, values)
        case Sum(inner):
            return sum((value_of(part, values) for part in inner), Fraction(0))
        case Product(factors):
            product = Fraction(1)
            for factor in factors:
                product *= value_of(factor, values)
            return product


def value_of_form(form: Form, values: Mapping[str, Fraction]) -> Fraction:
    total = Fraction(0)
    for monomial, coefficient in form.items():
        for name in (*monomial.counters, *monomial.signals, *([monomial.hole] if monomial.hole else [])):
            coefficient *= values[name]
        total += coefficient
    return total


@given(terms(NAMES), st.tuples(*(st.fractions(-4, 4, max_denominator=4),) * 5))
def test_the_normal_form_has_the_value_of_the_term(term: Term, drawn: tuple[Fraction, ...]) -> None:
    values = dict(zip(("a", "b", "c", "d", "speed"), drawn, strict=True))
    assert value_of_form(expand(term, NAMED), values) == value_of(term, values)


@given(terms(NAMES))
def test_normal_forms_have_at_most_one_hole_and_no_zeros(term: Term) -> None:
    form = expand(term, NAMED)
    assert all(form.values())
    assert all(list(monomial.counters) == sorted(monomial.counters) for monomial in form)
