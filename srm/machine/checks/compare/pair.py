"""Two machines side by side, for the question whether they pay the same.

Holes are matched by name: a hole of both is one unknown, and one that only one machine has a value for takes that value in the
other, so that a concretized machine can be compared with the open one it came from. Counters belong to their machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from srm.machine.affine import Form
from srm.machine.checks.core.conditions import (
    FALSE,
    Condition,
    counter_form,
    every,
    given,
    literals_of,
    negate,
    substitute,
    with_counters,
)
from srm.machine.checks.core.letters import OTHER, Letter, Value, alphabet, attribute_values, counting
from srm.machine.checks.core.subject import Subject
from srm.machine.holes import Hole
from srm.machine.model import Hindsight, Machine, RepayEvery, RepayLast, Rule
from srm.machine.terms import AttributeOf, Cell, Happens, Term, Test
from srm.machine.vocabulary import Balance, Vocabulary


@dataclass(frozen=True)
class Option:
    """One thing a machine may do at a node when a letter is read."""

    rule: Rule | None  # None: idle
    label: str | None
    condition: Condition  # the comparisons that must hold
    pay: Form
    target: str
    counts: frozenset[str]
    resets: frozenset[str]


@dataclass(frozen=True)
class MachineSide:
    """One of the two machines, with names for its counters that the other does not use."""

    subject: Subject
    number: int

    def own(self, counter: str) -> str:
        return f"{counter} of machine {self.number}"

    @cached_property
    def counters(self) -> tuple[str, ...]:
        return tuple(self.own(counter.name) for counter in self.subject.machine.counters)

    @cached_property
    def renaming(self) -> Mapping[str, Form]:
        return {c.name: counter_form(self.own(c.name)) for c in self.subject.machine.counters}

    @cached_property
    def _options(self) -> dict[tuple[str, Letter], tuple[Option, ...]]:
        return {}

    def options(self, node: str, letter: Letter) -> tuple[Option, ...]:
        key = (node, letter)
        if key not in self._options:
            self._options[key] = tuple(self._find_options(node, letter))
        return self._options[key]

    def _find_options(self, node: str, letter: Letter) -> Iterator[Option]:
        """Steps at which two rules hold are left out: an evaluator refuses them, and determinism is another question."""
        rules = self.subject.rules_of(node)
        fires = {label: given(self.subject.fires[label], letter.happening) for _, label in rules}
        choices: list[tuple[Rule | None, str | None, Condition]] = [
            (rule, label, every((fires[label], *(negate(fires[other]) for _, other in rules if other != label))))
            for rule, label in rules
        ]
        idles = given(self.subject.idles[node], letter.happening)
        for rule, label, when in [*choices, (None, None, idles)]:
            condition = with_counters(when, self.renaming)
            if condition == FALSE:
                continue
            counts, resets = counting(self.subject.machine.counters, node, rule, letter)
            yield Option(
                rule,
                label,
                condition,
                self.form(rule.pay) if rule else {},
                (rule.target if rule else None) or node,
                frozenset(map(self.own, counts)),
                frozenset(map(self.own, resets)),
            )

    def form(self, term: Term) -> Form:
        return substitute(self.subject.form(term), self.renaming)

    def hindsight(self, rule: Rule | None) -> list[tuple[object, Form]]:
        """The changes a rule makes to earlier pay: which steps, and the form they are paid with."""
        return [
            (change.events if isinstance(change, RepayEvery) else change.milestone, self.form(change.pay))
            for change in (rule.changes if rule else ())
        ]


@dataclass(frozen=True)
class Pair:
    first: MachineSide
    second: MachineSide

    @property
    def vocabulary(self) -> Vocabulary | None:
        return self.first.subject.vocabulary

    @property
    def balances(self) -> tuple[Balance, ...]:
        return self.vocabulary.balances if self.vocabulary else ()

    @cached_property
    def open_holes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.first.subject.open_holes, *self.second.subject.open_holes)))

    @cached_property
    def allowed(self) -> tuple[Condition, ...]:
        return self.first.subject.allowed

    @cached_property
    def whole_holes(self) -> tuple[str, ...]:
        return self.first.subject.whole_holes

    @cached_property
    def looks_back(self) -> bool:
        return any(rule.hindsight for side in (self.first, self.second) for _, rule, _ in side.subject.machine.rules)

    @cached_property
    def letters(self) -> list[Letter]:
        literals = list(dict.fromkeys(self._literals()))
        milestones = list(self._milestones())
        values = attribute_values(literals, self.vocabulary)
        apart: dict[str, list[str]] = {}
        for event, test in ((milestone.event, test) for milestone in milestones for test in milestone.tests):
            if isinstance(test.value, AttributeOf):
                apart.setdefault(event, []).append(test.attribute)
                apart.setdefault(test.value.event, []).append(test.value.attribute)
        tests = [test for happens in (*literals, *milestones) for test in happens.tests]
        for name in dict.fromkeys(name for names in apart.values() for name in names):
            own_tests = [test for test in tests if test.attribute == name]
            values[name] = _few_values(values.get(name, ()), own_tests, name, self.vocabulary)
        told_apart = {event: tuple(dict.fromkeys(names)) for event, names in apart.items()}
        return alphabet(literals, self.vocabulary, values, told_apart)

    def _milestones(self) -> Iterator[Happens]:
        """What hindsight looks for, with tests that compare attributes of two steps: these are told apart by value."""
        for side in (self.first, self.second):
            for _, rule, _ in side.subject.machine.rules:
                for change in rule.changes:
                    if isinstance(change, RepayLast):
                        yield change.milestone

    def _literals(self) -> Iterator[Happens]:
        for side in (self.first, self.second):
            machine = side.subject.machine
            yield from literals_of(*side.subject.fires.values())
            for counter in machine.counters:
                yield from counter.happens
            for _, rule, _ in machine.rules:
                yield from _looked_for(rule.hindsight) if rule.hindsight else ()
        yield from (Happens(event) for balance in self.balances for event in (*balance.plus, *balance.minus))


def _looked_for(hindsight: Hindsight) -> Iterator[Happens]:
    if hindsight.since is not None:
        yield Happens(hindsight.since)
    for change in hindsight.changes:
        if isinstance(change, RepayEvery):
            yield from map(Happens, change.events)
        else:
            known = tuple(test for test in change.milestone.tests if not isinstance(test.value, AttributeOf))
            yield Happens(change.milestone.event, known)


def _few_values(
    known: Sequence[Value], tests: Sequence[Test], name: str, vocabulary: Vocabulary | None
) -> tuple[Value, ...]:
    """Those that are named, and enough others for two attributes to be equal, different, or next to one another."""
    attribute = vocabulary.attributes[vocabulary.attribute_index[name]] if vocabulary else None
    is_cell = any(test.relation == "next to" or isinstance(test.value, Cell) for test in tests)
    if attribute.is_cell if attribute else is_cell:
        return tuple(dict.fromkeys((Cell(1, 1), Cell(2, 1), Cell(5, 5), *known)))
    named = [test.value for test in tests if isinstance(test.value, str)]
    values = (attribute.values or ()) if attribute else (OTHER, "yet another")
    return tuple(dict.fromkeys((*[value for value in values if value not in named][:2], *named)))


def pair_of(first: Subject, other: Machine) -> Pair:
    """The subject beside another machine, with the holes of both matched."""
    machine = _with_values_of(first.machine, other)
    partner = _with_values_of(other, first.machine)
    return Pair(MachineSide(replace(first, machine=machine), 1), MachineSide(Subject(partner, first.vocabulary), 2))


def _with_values_of(machine: Machine, other: Machine) -> Machine:
    """The machine with values for the holes to which only the other gives one; a space that such a value misses is dropped."""
    values = {hole.name: hole.value for hole in other.holes}
    return replace(machine, holes=tuple(_with_value(hole, values.get(hole.name)) for hole in machine.holes))


def _with_value(hole: Hole, value: float | None) -> Hole:
    if hole.value is not None or value is None:
        return hole
    return replace(hole, value=value, space=hole.space if hole.space and value in hole.space else None)
