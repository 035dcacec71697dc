"""What can happen at one step, as a finite alphabet.

Machines tell two steps apart only by the events they ask for, each with its tests. A *variant* of an event is one way of
passing those tests (with attributes that show it); a *letter* is a set of events that can happen together, each as one
of its variants. At most one event of an exclusive group (the acts are one) happens at a step, so the alphabet of a machine is
small; where no vocabulary is known any events may coincide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from srm.machine.model import Counter, Rule, RuleOf
from srm.machine.terms import AttributeOf, Cell, Happens, Test
from srm.machine.vocabulary import Balance, Vocabulary

MOST_LETTERS = 4096
NONE = "none"
OTHER = "another"  # stands for every value a machine does not name, where the vocabulary is not known
Value = str | Cell


class TooManyLetters(Exception):
    """More can happen at one step than can be listed."""


@dataclass(frozen=True)
class EventVariant:
    """An occurrence of an event that passes just these of the tests asked for."""

    occurrence: Happens  # its tests are equalities that name the attributes
    passed: frozenset[Happens]


@dataclass(frozen=True)
class Letter:
    """What happens at one step: the events with their attributes, and the questions they answer with yes."""

    occurrences: tuple[Happens, ...]
    happening: frozenset[Happens]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(occurrence.event for occurrence in self.occurrences)

    def __str__(self) -> str:
        return " and ".join(map(str, self.occurrences)) or "nothing happens"


def passes(test: Test, value: Value, compared: Value = NONE) -> bool:
    """Whether an attribute of this value passes; `compared` is the value of the `event.attribute` the test speaks of."""
    wanted = compared if isinstance(test.value, AttributeOf) else test.value
    if test.relation == "next to":
        if not (isinstance(value, Cell) and isinstance(wanted, Cell)):
            return False
        return abs(value.x - wanted.x) + abs(value.y - wanted.y) == 1
    return (value == wanted) == (test.relation == "=")


def attribute_values(literals: Iterable[Happens], vocabulary: Vocabulary | None) -> dict[str, tuple[Value, ...]]:
    """For each attribute that is tested, values of every kind that the tests can tell apart.

    Of cells these are the ones named, their neighbours and one that is neither: every other cell passes the same tests.
    """
    tests = [test for literal in literals for test in literal.tests]
    values = {}
    for name in dict.fromkeys(test.attribute for test in tests):
        own_tests = [test for test in tests if test.attribute == name]
        cells = [test.value for test in own_tests if isinstance(test.value, Cell)]
        is_cell = any(test.relation == "next to" for test in own_tests) or bool(cells)
        if vocabulary is not None:
            attribute = vocabulary.attributes[vocabulary.attribute_index[name]]
            is_cell = attribute.is_cell
            named: tuple[str, ...] = attribute.values or ()
        else:
            named = (*(t.value for t in own_tests if isinstance(t.value, str) and t.value != NONE), OTHER)
        values[name] = (*(_cells(cells) if is_cell else dict.fromkeys(named)), NONE)
    return values


def _cells(named: Sequence[Cell]) -> list[Cell]:
    around = [
        Cell(cell.x + dx, cell.y + dy)
        for cell in named
        for dx, dy in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1))
        if cell.x + dx >= 0 and cell.y + dy >= 0
    ]
    known = dict.fromkeys(around)
    free = next(cell for n in range(len(known) + 1) if (cell := Cell(n + 1, n + 1)) not in known)
    return [free, *known]


def variants(
    event: str, literals: Iterable[Happens], values: Mapping[str, tuple[Value, ...]], told_apart: Sequence[str] = ()
) -> list[EventVariant]:
    """The ways in which the event can pass the tests; attributes in `told_apart` are listed value by value."""
    questions = [literal for literal in literals if literal.event == event]
    tested = list(dict.fromkeys([test.attribute for literal in questions for test in literal.tests] + list(told_apart)))
    distinct: dict[object, EventVariant] = {}
    for chosen in product(*(values[name] for name in tested)):
        having = dict(zip(tested, chosen, strict=True))
        passed = frozenset(a for a in questions if all(passes(test, having[test.attribute]) for test in a.tests))
        attributes = tuple(Test(name, "=", value) for name, value in having.items())
        distinct.setdefault(
            (passed, *(having[name] for name in told_apart)), EventVariant(Happens(event, attributes), passed)
        )
    return list(distinct.values())


def alphabet(
    literals: Sequence[Happens],
    vocabulary: Vocabulary | None,
    values: Mapping[str, tuple[Value, ...]] | None = None,
    told_apart: Mapping[str, Sequence[str]] | None = None,
) -> list[Letter]:
    """Every letter over the events of the literals, smallest first; the first is the one in which nothing happens."""
    known = attribute_values(literals, vocabulary) if values is None else values
    apart = told_apart or {}
    each = {
        event: variants(event, literals, known, apart.get(event, ()))
        for event in dict.fromkeys(literal.event for literal in literals)
    }
    groups = () if vocabulary is None else vocabulary.groups
    sets: list[tuple[str, ...]] = [()]
    size = 1  # letters in all
    for event in each:
        beside = [others for others in sets if not any(event in group and group & set(others) for group in groups)]
        size += len(each[event]) * sum(prod(len(each[other]) for other in others) for others in beside)
        if size > MOST_LETTERS:
            raise TooManyLetters(
                f"more than {MOST_LETTERS:,} sets of events can happen at one step; declare which exclude each other"
            )
        sets += [(*others, event) for others in beside]
    letters = []
    for events in sorted(sets, key=len):
        for chosen in product(*(each[event] for event in events)):
            passed = frozenset(literal for variant in chosen for literal in variant.passed)
            letters.append(Letter(tuple(variant.occurrence for variant in chosen), passed))
    return letters


# What a step does


def counting(
    counters: Sequence[Counter], node: str, fired: Rule | None, letter: Letter
) -> tuple[frozenset[str], frozenset[str]]:
    """The counters that a step adds to, and those it resets."""
    counts, resets = set(), set()
    for counter in counters:
        if any(reset in letter.happening for reset in counter.resets):
            resets.add(counter.name)
        elif not counter.at or node in counter.at:
            if isinstance(counter.counts, RuleOf):
                counted = fired is not None and fired.name == counter.counts.name
            else:
                counted = counter.counts in letter.happening
            if counted:
                counts.add(counter.name)
    return frozenset(counts), frozenset(resets)


def after_step(counters: Mapping[str, int], counts: Collection[str], resets: Collection[str]) -> dict[str, int]:
    return {name: 0 if name in resets else value + (name in counts) for name, value in counters.items()}


def level_change(balance: Balance, letter: Letter) -> int:
    """What a step adds to a balance of the vocabulary."""
    return sum((event in balance.plus) - (event in balance.minus) for event in letter.events)


def within(levels: Sequence[int], balances: Sequence[Balance]) -> bool:
    """Whether each balance is kept."""
    return all(b.least <= n and (b.most is None or n <= b.most) for n, b in zip(levels, balances, strict=True))
