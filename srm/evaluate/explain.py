"""Terms and guards with numbers in place of names: `2 * (-0.4 - 0.1) + 1.2 = 0.2 > 0`.

Every function takes a walk that stands before the step in question, since that is where counters are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from srm.evaluate.reference import COMPARE, ROUNDING, Walk
from srm.machine.model import Machine
from srm.machine.terms import (
    And,
    Compare,
    CounterTerm,
    Guard,
    HoleTerm,
    NamedTerm,
    Negation,
    Not,
    Number,
    Or,
    Product,
    SignalTerm,
    Sum,
    Term,
    compared_terms,
    number_text,
)

Signals = Mapping[str, float]
MANY_PARTS = 3  # a longer sum is shown without the parts whose counter stands at 0


@dataclass(frozen=True)
class Share:
    """What one hole contributes to a pay: `coefficient * value`. `hole` None is the part without holes."""

    hole: str | None
    coefficient: float
    amount: float


@dataclass(frozen=True)
class Amount:
    """A pay as it is written, with numbers in place, and in all."""

    written: str
    in_numbers: str
    value: float
    shares: tuple[Share, ...]  # their amounts add up to `value`


def amount_of(walk: Walk, term: Term, signals: Signals) -> Amount:
    by_hole: dict[str | None, tuple[float, float]] = {}
    for monomial, fraction in walk.machine.form(term).items():
        coefficient = float(fraction)
        for name in monomial.counters:
            coefficient *= walk.counts[name]
        for name in monomial.signals:
            coefficient *= signals[name]
        if coefficient:
            before, amount = by_hole.get(monomial.hole, (0.0, 0.0))
            worth = 1.0 if monomial.hole is None else walk.assignment[monomial.hole]
            by_hole[monomial.hole] = (before + coefficient, amount + coefficient * worth)
    shares = tuple(Share(hole, coefficient, amount) for hole, (coefficient, amount) in by_hole.items())
    return Amount(str(term), equation(walk, term, signals), walk.value(term, signals), shares)


def number(value: float) -> str:
    """Four digits that matter, and nothing of rounding."""
    return number_text(float(f"{0.0 if abs(value) < ROUNDING else value:.4g}"))


def equation(walk: Walk, term: Term, signals: Signals) -> str:
    """`2 * (-0.4 - 0.1) + 1.2 = 0.2`, or only `1.2` where there is nothing to work out."""
    total = number(walk.value(term, signals))
    text = str(_in_place(walk, term, signals))
    return total if text == total else f"{text} = {total}"


def _in_place(walk: Walk, term: Term, signals: Signals) -> Term:
    match term:
        case HoleTerm() | CounterTerm() | SignalTerm():
            return Number(float(number(walk.value(term, signals))))
        case NamedTerm(name):
            return _in_place(walk, dict(walk.machine.terms)[name], signals)
        case Negation(inner):
            negated = _in_place(walk, inner, signals)
            return Number(-negated.value) if isinstance(negated, Number) else Negation(negated)
        case Sum(inner):
            return _sum_in_place(walk, inner, signals)
        case Product(factors):
            return Product(tuple(_in_place(walk, factor, signals) for factor in factors))
        case _:
            return term


def _sum_in_place(walk: Walk, inner: tuple[Term, ...], signals: Signals) -> Term:
    if len(inner) > MANY_PARTS:
        inner = tuple(part for part in inner if not _is_naught(walk, part, signals)) or (Number(0.0),)
    first, *rest = inner
    # a negation among the later parts is kept, since it prints as a subtraction
    later = [
        Negation(_in_place(walk, part.term, signals)) if isinstance(part, Negation) else _in_place(walk, part, signals)
        for part in rest
    ]
    return Sum((_in_place(walk, first, signals), *later)) if later else _in_place(walk, first, signals)


def _is_naught(walk: Walk, part: Term, signals: Signals) -> bool:
    factors = part.factors if isinstance(part, Product) else ()
    return any(isinstance(factor, CounterTerm) and walk.value(factor, signals) == 0 for factor in factors)


def guard_in_numbers(walk: Walk, guard: Guard, signals: Signals) -> str:
    """The guard with each comparison worked out; one that fails says so."""
    match guard:
        case Compare(left, relation, right):
            text = f"{equation(walk, left, signals)} {relation} {equation(walk, right, signals)}"
            difference = walk.value(left, signals) - walk.value(right, signals)
            return text if COMPARE[relation](difference) else f"{text} (false)"
        case Not(inner):
            text = guard_in_numbers(walk, inner, signals)
            return f"not ({text})" if isinstance(inner, And | Or | Compare) else f"not {text}"
        case And(inside) | Or(inside):
            wrapped = And | Or if isinstance(guard, And) else Or
            texts = [
                f"({guard_in_numbers(walk, g, signals)})"
                if isinstance(g, wrapped)
                else guard_in_numbers(walk, g, signals)
                for g in inside
            ]
            return (" and " if isinstance(guard, And) else " or ").join(texts)
        case _:
            return str(guard)


def holes_compared(machine: Machine, guard: Guard) -> tuple[str, ...]:
    """The holes that decide a guard, each once, in the machine's order."""
    names = {monomial.hole for side in compared_terms(guard) for monomial in machine.form(side)}
    return tuple(name for name in machine.hole_names if name in names)
