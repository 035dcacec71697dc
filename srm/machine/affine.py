"""Terms in normal form: sums of `coefficient * hole * counters * signals`, with at most one hole in each.

    2 * (?close - ?open) * #opened + 1   ->   {(close; #opened): 2, (open; #opened): -2, (; ): 1}

Given the trajectory every counter and signal is a number, so a term in this form is affine in the holes. Coefficients are
exact fractions: proofs need them, and floats are taken from them where speed counts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from srm.machine.terms import CounterTerm, HoleTerm, NamedTerm, Negation, Number, Product, SignalTerm, Sum, Term

# No machine a person writes comes near these; without them a few lines of products could fill the memory.
LARGEST_FORM = 256  # monomials; the largest term that ships has 11
MOST_FACTORS = 32  # factors of one product, and counters and signals of one monomial
LARGEST_NUMBER = Fraction(sys.float_info.max)
FINEST_NUMBER = 1 << 1100  # the largest denominator of a coefficient; that of the smallest float is below it
MOST_WORK = 200_000  # monomials made while the terms of one machine are expanded once: half a second, 60 MB


class NotAffine(Exception):
    """A product of two holes, or a term too large to multiply out; `at` is the offending part."""

    def __init__(self, reason: str, at: Term) -> None:
        super().__init__(reason)
        self.at = at


@dataclass
class WorkBudget:
    """How many monomials may still be made. Terms named by `let` can ask for far more than their text is long."""

    remaining: int = MOST_WORK

    def spend(self, monomials: int, at: Term) -> None:
        self.remaining -= monomials
        if self.remaining < 0:
            raise NotAffine("the terms up to here take too long to multiply out", at)


@dataclass(frozen=True, order=True)
class Monomial:
    """`?hole` (or no hole) times counters and signals, which are sorted by name."""

    hole: str | None = None
    counters: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = [f"#{c}" for c in self.counters] + list(self.signals) + ([f"?{self.hole}"] if self.hole else [])
        return " * ".join(named) or "1"


Form = Mapping[Monomial, Fraction]
ONE = Monomial()


def exact(value: float) -> Fraction:
    """The number as it is written: 0.1 is one tenth."""
    return Fraction(repr(value))


def expand(term: Term, named: Mapping[str, Form] | None = None, budget: WorkBudget | None = None) -> Form:
    """The normal form; `named` gives the forms of the machine's named terms."""
    named = named or {}
    match term:
        case Number(value):
            return {ONE: exact(value)} if value else {}
        case HoleTerm(name):
            return {Monomial(name): Fraction(1)}
        case CounterTerm(name):
            return {Monomial(None, (name,)): Fraction(1)}
        case SignalTerm(name):
            return {Monomial(None, (), (name,)): Fraction(1)}
        case NamedTerm(name):
            return named[name]
        case Negation(inner):
            return scale(expand(inner, named, budget), Fraction(-1))
        case Sum(inner):
            forms = [expand(part, named, budget) for part in inner]
            if budget:
                budget.spend(sum(map(len, forms)), term)
            return _bounded(add(*forms), term)
        case Product(factors):
            return _expand_product(factors, named, budget, term)


def _expand_product(
    factors: tuple[Term, ...], named: Mapping[str, Form], budget: WorkBudget | None, at: Product
) -> Form:
    if len(factors) > MOST_FACTORS:
        raise NotAffine(f"a product of more than {MOST_FACTORS} factors", at)
    product: Form = {ONE: Fraction(1)}
    for factor in factors:
        form = expand(factor, named, budget)
        if len(product) * len(form) > LARGEST_FORM:
            raise NotAffine(f"more than {LARGEST_FORM} parts when multiplied out", at)
        if budget:
            budget.spend(len(product) * len(form), at)
        product = _bounded(_multiply(product, form, at), at)
    return product


def add(*forms: Form) -> Form:
    total: dict[Monomial, Fraction] = {}
    for form in forms:
        for monomial, coefficient in form.items():
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def scale(form: Form, by: Fraction) -> Form:
    return {monomial: by * coefficient for monomial, coefficient in form.items()}


def _multiply(left: Form, right: Form, at: Term) -> Form:
    total: dict[Monomial, Fraction] = {}
    for a, x in left.items():
        for b, y in right.items():
            if a.hole is not None and b.hole is not None:
                raise NotAffine(
                    f"?{a.hole} * ?{b.hole} is a product of two holes; a term may only be a sum of holes, "
                    "each times numbers, counters and signals",
                    at,
                )
            monomial = Monomial(
                a.hole or b.hole, tuple(sorted(a.counters + b.counters)), tuple(sorted(a.signals + b.signals))
            )
            if len(monomial.counters) + len(monomial.signals) > MOST_FACTORS:
                raise NotAffine(f"a product of more than {MOST_FACTORS} counters and signals", at)
            total[monomial] = total.get(monomial, Fraction(0)) + x * y
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def _bounded(form: Form, at: Term) -> Form:
    if len(form) > LARGEST_FORM:
        raise NotAffine(f"more than {LARGEST_FORM} parts when multiplied out", at)
    if any(abs(c) > LARGEST_NUMBER or c.denominator > FINEST_NUMBER for c in form.values()):
        raise NotAffine("a number too large or too small to be held, when multiplied out", at)
    return form
