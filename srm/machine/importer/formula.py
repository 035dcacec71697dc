"""Formulas of the `reward_machines` package: an `or` (|) of `and`s (&) of events that happen or do not (!).

In this form two questions are easy that decide how lines are translated: can two formulas hold together, and does some
formula of a state always hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedInput

from srm.machine.terms import Always, And, Guard, Happens, Not, Or

MOST_EVENTS = 12  # of a state, for asking whether its formulas leave nothing out: 4,096 cases

Case = Mapping[str, bool]  # event -> whether it happens; an `and` of literals


@dataclass(frozen=True)
class Formula:
    """Holds when one of its cases does: none for a formula that never holds, an empty case for one that always does."""

    cases: tuple[Case, ...]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event for case in self.cases for event in case))


@cache
def grammar() -> Lark:
    text = (files("srm.machine.importer") / "reward_machines.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", start=["initial_line", "terminal_line", "edge_line", "formula"])


def read_formula(text: str) -> Formula | str:
    """The formula, or what is wrong with it."""
    try:
        tree = grammar().parse(text, start="formula")
    except UnexpectedInput as error:
        at = len(text) if error.pos_in_stream is None else error.pos_in_stream
        literal = (re.split("[&|]", text[:at])[-1] + re.split("[&|]", text[at:])[0]).strip()[:40]
        return f"'{literal}' is not an event; a formula is like 'a&!b|c'" if literal else "an event is missing here"
    return Formula(tuple(case for branch in tree.children if (case := _case(branch)) is not None))


def _case(tree: Any) -> Case | None:
    """None: it never holds."""
    case: dict[str, bool] = {}
    for literal in tree.children:
        *nots, event = literal.children
        happens = "".join(nots).count("!") % 2 == 0
        if event in ("True", "False"):
            if happens != (event == "True"):
                return None
        elif case.setdefault(str(event), happens) != happens:
            return None
    return case


def meet(one: Formula, other: Formula) -> bool:
    """Whether both can hold at one step."""
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
    guards = [_join(And, [_literal(names[event], on) for event, on in case.items()]) for case in formula.cases]
    return _join(Or, guards) if guards else Not(Always())


def _literal(event: str, happens: bool) -> Guard:
    return Happens(event) if happens else Not(Happens(event))


def _join(kind: type[And] | type[Or], guards: list[Guard]) -> Guard:
    if not guards:
        return Always()
    return guards[0] if len(guards) == 1 else kind(tuple(guards))
