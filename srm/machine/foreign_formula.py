"""Formulas of the `reward_machines` package: an `or` (|) of `and`s (&) of events that happen or do not (!).

In this form two questions are easy that decide how lines are taken over: can two formulas hold together, and does some
formula of a state always hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from srm.machine.terms import Always, And, Guard, Happens, Not, Or

MOST_EVENTS = 12  # of a state, for asking whether its formulas leave nothing out: 4,096 cases
LONGEST_EVENT = 90

Case = Mapping[str, bool]  # event -> whether it happens; an `and` of literals


@dataclass(frozen=True)
class Formula:
    """Holds when one of its cases does: none for a formula that never holds, an empty case for one that always does."""

    cases: tuple[Case, ...]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event for case in self.cases for event in case))


@dataclass
class Budget:
    """How many pairs of cases may still be compared; lines made to cost more are taken to hold together."""

    left: int = 1_000_000


def read_formula(text: str) -> Formula | str:
    """The formula, or what is wrong with it."""
    cases: list[Case] = []
    for conjunction in text.split("|"):
        case: dict[str, bool] = {}
        possible = True
        for literal in conjunction.split("&"):
            found = re.fullmatch(r"\s*((?:!\s*)*)(\w*)\s*", literal, re.ASCII)
            if found is None or not re.fullmatch(rf"[A-Za-z_]\w{{0,{LONGEST_EVENT}}}", found.group(2), re.ASCII):
                shown = literal.strip()[:40]
                return f"'{shown}' is not an event; a formula is like 'a&!b|c'" if shown else "an event is missing here"
            happens, event = found.group(1).count("!") % 2 == 0, found.group(2)
            if event in ("True", "False"):
                possible = possible and happens == (event == "True")
            else:
                possible = possible and case.get(event, happens) == happens
                case[event] = happens
        if possible:
            cases.append(case)
    return Formula(tuple(cases))


def meet(one: Formula, other: Formula, budget: Budget) -> bool:
    """Whether both can hold at one step."""
    budget.left -= len(one.cases) * len(other.cases)
    if budget.left < 0:
        return True
    return any(
        all(b.get(event, happens) == happens for event, happens in a.items()) for a in one.cases for b in other.cases
    )


def covers_all(formulas: Sequence[Formula]) -> bool:
    """Whether one of them always holds; False too where there are too many events to tell."""
    cases = [case for formula in formulas for case in formula.cases]
    events = list(dict.fromkeys(event for case in cases for event in case))
    if len(events) > MOST_EVENTS:
        return any(not case for case in cases)
    return all(
        any(all(at[event] == happens for event, happens in case.items()) for case in cases)
        for at in (dict(zip(events, truths, strict=True)) for truths in product((False, True), repeat=len(events)))
    )


def guard_of(formula: Formula, names: Mapping[str, str]) -> Guard:
    """The formula as a guard, with our names for its events."""
    guards = [_joined(And, [_literal(names[event], on) for event, on in case.items()]) for case in formula.cases]
    return _joined(Or, guards) if guards else Not(Always())


def _literal(event: str, happens: bool) -> Guard:
    return Happens(event) if happens else Not(Happens(event))


def _joined(kind: type[And] | type[Or], guards: list[Guard]) -> Guard:
    if not guards:
        return Always()
    return guards[0] if len(guards) == 1 else kind(tuple(guards))
