"""Random machines that are valid, and random streams of events for them, over a small vocabulary.

Every construct of the language is drawn. Numbers are small multiples of 1/4, so that floats compare exactly, and machines
are small: what goes wrong with one construct goes wrong with little else around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from srm.machine.holes import Atom, Constraint, EveryHole, Hole, Space
from srm.machine.model import Counter, Hindsight, Machine, Node, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import (
    RELATIONS,
    Always,
    And,
    AttributeOf,
    Cell,
    Compare,
    CounterTerm,
    Guard,
    Happens,
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
    Test,
    events_of,
)
from srm.machine.vocabulary import NOTHING, Attribute, Event, Signal, Vocabulary, pack_cell
from srm.trajectory import Events

WORDS = Vocabulary(
    "rooms",
    events=(
        Event("pick", "takes what is in front", ("colour", "place")),
        Event("drop", "puts it down", ("colour", "place")),
        Event("toggle", "opens or closes a door", ("place",)),
        Event("push", "pushes a button", ("colour",)),
        Event("wait", "does nothing"),
        Event("see", "has the target in view", ("place",), act=False),
    ),
    attributes=(
        Attribute("colour", "colour of the object", ("red", "green", "blue")),
        Attribute("place", "the cell it happens at", None),
    ),
    signals=(Signal("speed", "cells a step"), Signal("height", "above the floor")),
)
GRID = 3  # cells lie in [0, GRID) x [0, GRID), so that neighbours are common


def quarters(least: int = -8, most: int = 8) -> st.SearchStrategy[float]:
    """Multiples of 1/4 from least/4 to most/4."""
    return st.integers(least, most).map(lambda number: number / 4)


# Terms and guards


@dataclass(frozen=True)
class Names:
    """What a term of the machine being drawn may use."""

    holes: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()  # terms named by `let` that use no hole
    open: tuple[str, ...] = ()  # those that do, so that no two may be multiplied


def _named(kind: type, names: tuple[str, ...]) -> st.SearchStrategy[Term]:
    return st.sampled_from(names).map(kind) if names else st.nothing()


def _product(*factors: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.tuples(*factors).map(Product)


def _as_one(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One alternative among others, however many it has inside: unions of unions are otherwise drawn from as one."""
    return strategy.map(lambda drawn: drawn)


def _sums(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.lists(inner, min_size=2, max_size=3).map(lambda parts: Sum(tuple(parts)))


@cache  # building a strategy costs more than drawing from it
def terms(names: Names, size: int = 2) -> st.SearchStrategy[Term]:
    """Terms affine in the holes, `size` operators deep."""
    known = quarters().map(Number) | _named(CounterTerm, names.counters) | _named(SignalTerm, names.signals)
    known |= _named(NamedTerm, names.closed)
    hole = _named(HoleTerm, names.holes) | _named(NamedTerm, names.open)
    for _ in range(size):
        either = _as_one(known) | _as_one(hole)
        times = _product(known, hole) | _product(hole, known) | _product(known, hole, known)
        hole, known = (
            hole | hole.map(Negation) | _sums(either) | times,
            known | known.map(Negation) | _sums(known) | _product(known, known),
        )
    return _as_one(known) | _as_one(hole) if names.holes else known


@cache
def _happens(of: str | None = None, compared: tuple[str, ...] = ()) -> st.SearchStrategy[Happens]:
    """An event with tests of its attributes; in hindsight these may be `compared` with those of the rule's own events."""
    listed = [event for event in WORDS.events if of in (None, event.name)]
    return st.one_of([st.builds(Happens, st.just(event.name), _tests(event, compared)) for event in listed])


def _tests(event: Event, compared: tuple[str, ...]) -> st.SearchStrategy[tuple[Test, ...]]:
    if not event.attributes:
        return st.just(())
    some = st.lists(_test(event, compared), min_size=1, max_size=2).map(tuple)
    return some if compared else _as_one(some) | st.just(()) | st.just(())


def _test(event: Event, compared: tuple[str, ...]) -> st.SearchStrategy[Test]:
    choices: list[st.SearchStrategy[Test]] = []
    others = [WORDS.events[WORDS.event_index[name]] for name in compared]
    for name in event.attributes:
        attribute = WORDS.attributes[WORDS.attribute_index[name]]
        same = [AttributeOf(other.name, name) for other in others if name in other.attributes]
        compare = st.sampled_from(same) if same else st.nothing()
        if attribute.values is None:
            cell = compare | st.builds(Cell, st.integers(0, GRID - 1), st.integers(0, GRID - 1))
            choices.append(st.builds(Test, st.just(name), st.just("next to"), cell))
            value = cell | st.just("none")
        else:
            value = compare | st.sampled_from((*attribute.values, "none"))
        choices.append(st.builds(Test, st.just(name), st.sampled_from(("=", "!=")), value))
    return st.one_of(choices)


@cache
def guards(names: Names, size: int = 2) -> st.SearchStrategy[Guard]:
    term = terms(names, 1)
    compare = st.builds(Compare, term, st.sampled_from(RELATIONS), term)
    guard: st.SearchStrategy[Guard] = _as_one(_happens()) | compare | st.just(Always())
    for _ in range(size):
        several = st.lists(guard, min_size=2, max_size=3).map(tuple)
        guard = guard | guard.map(Not) | several.map(And) | several.map(Or)
    return guard


# Machines


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    whole = draw(st.booleans())
    ends = st.integers(-2, 2) if whole else quarters()
    low, high = sorted(draw(st.lists(ends, min_size=2, max_size=2, unique=True)))
    return Space(float(low), float(high), whole)


def values_in(space: Space | None) -> st.SearchStrategy[float]:
    if space is None:
        return quarters()
    if space.whole:
        return st.integers(int(space.low), int(space.high)).map(float)
    return quarters(int(4 * space.low), int(4 * space.high))


def holes(draw: st.DrawFn, names: tuple[str, ...], values: bool | None) -> tuple[Hole, ...]:
    spaced = {name: draw(spaces()) if draw(st.integers(0, 3)) == 3 else None for name in names}
    valued = draw(st.booleans()) if values is None else values
    if not valued:
        return tuple(Hole(name, space=space) for name, space in spaced.items())
    spread = st.none() | quarters(0, 4)
    missing = st.nothing() if values else st.none()
    drawn = [(name, draw(values_in(space) | missing), space) for name, space in spaced.items()]
    return tuple(Hole(name, value, None if value is None else draw(spread), space) for name, value, space in drawn)


@cache
@st.composite
def _hindsight(draw: st.DrawFn, guard: Guard, names: Names) -> Hindsight:
    events = [event.name for event in WORDS.events]
    pay = terms(names, 1)
    every = st.builds(
        RepayEvery, st.lists(st.sampled_from(events), min_size=1, max_size=3, unique=True).map(tuple), pay
    )
    last = st.builds(RepayLast, _happens() | _happens(compared=events_of(guard)), pay)
    changes = draw(st.lists(every | last, min_size=1, max_size=3))
    return Hindsight(tuple(changes), draw(st.none() | st.sampled_from(events)))


@cache
@st.composite
def _tier_guards(draw: st.DrawFn, names: Names, deterministic: bool) -> list[Guard]:
    """The guards of the rules of one tier. Deterministic ones that share a tier ask for different acts."""
    count = draw(st.integers(1, 3))
    guard = guards(names)
    if count == 1 or not deterministic:
        return [draw(guard) for _ in range(count)]
    acts = draw(st.permutations(WORDS.acts))[:count]
    happen = [draw(_happens(act)) for act in acts]
    return [act if draw(st.booleans()) else And((act, draw(guard))) for act in happen]


@cache
@st.composite
def _rules(draw: st.DrawFn, targets: tuple[str, ...], names: Names, deterministic: bool) -> list[Rule]:
    """The rules of one node, unnamed."""
    found = []
    for tier in range(draw(st.integers(0, 2))):
        for guard in draw(_tier_guards(names, deterministic)):
            target = draw(st.none() | st.sampled_from(targets))
            hindsight = draw(_hindsight(guard, names)) if draw(st.integers(0, 3)) == 3 else None
            found.append(Rule(guard, draw(terms(names)), target, None, tier, hindsight))
    return found


def _renamed(rule: Rule, name: str) -> Rule:
    return Rule(rule.guard, rule.pay, rule.target, name, rule.tier, rule.hindsight)


@cache
@st.composite
def _counter(draw: st.DrawFn, name: str, nodes: tuple[str, ...], rules: tuple[str, ...]) -> Counter:
    counts = draw(_happens() | (st.sampled_from(rules).map(RuleOf) if rules else st.nothing()))
    at = draw(st.lists(st.sampled_from(nodes), max_size=2, unique=True))
    return Counter(name, counts, tuple(at), tuple(draw(st.lists(_happens(), max_size=2))))


@cache
@st.composite
def _constraint(draw: st.DrawFn, name: str, names: tuple[str, ...]) -> Constraint:
    term = terms(Names(holes=names), 1)
    every = (
        st.lists(st.sampled_from(names), max_size=2, unique=True).map(tuple).map(EveryHole) if names else st.nothing()
    )
    listed = st.lists(term, min_size=1, max_size=2).map(tuple)
    label = st.none() | st.sampled_from(("reward opening", "penalize it; # 2 // -> (", "größer, ?a", ""))
    atom = st.builds(Atom, listed | every, st.sampled_from(("<=", ">=", "=")), term, label)
    return Constraint(tuple(draw(st.lists(atom, max_size=3))), name)


@cache
@st.composite
def _lets(draw: st.DrawFn, names: Names) -> tuple[tuple[tuple[str, Term], ...], Names]:
    """Named terms, each of which may use those before it, and the names with them added."""
    lets: list[tuple[str, Term]] = []
    for index in range(draw(st.integers(0, 2))):
        uses_holes = draw(st.booleans())
        usable = names if uses_holes else Names((), names.counters, names.signals, names.closed)
        name = f"total{index}"
        lets.append((name, draw(terms(usable, 1))))
        closed, opened = ((), (name,)) if uses_holes else ((name,), ())
        names = Names(names.holes, names.counters, names.signals, names.closed + closed, names.open + opened)
    return tuple(lets), names


@st.composite
def machines(draw: st.DrawFn, *, deterministic: bool = False, values: bool | None = None) -> Machine:
    """A valid machine over `WORDS`.

    `deterministic` machines never have two rules of a tier that hold at one step. `values` True gives every hole a
    value, False gives none.
    """
    hole_names = tuple("abcde"[: draw(st.integers(0, 5))])
    counter_names = tuple(f"count{index}" for index in range(draw(st.integers(0, 3))))
    node_names = tuple(f"room{index}" for index in range(draw(st.integers(1, 3))))
    signal_names = tuple(signal.name for signal in WORDS.signals)
    lets, names = draw(_lets(Names(hole_names, counter_names, signal_names)))
    rules = [draw(_rules(node_names, names, deterministic)) for _ in node_names]
    labels = []
    for number, listed in enumerate(rules):
        for index, rule in enumerate(listed):
            if draw(st.booleans()):
                labels.append(f"rule{number}{index}")
                listed[index] = _renamed(rule, labels[-1])
    nodes = tuple(
        Node(name, tuple(listed), draw(st.booleans())) for name, listed in zip(node_names, rules, strict=True)
    )
    constraint_names = draw(st.sampled_from(((), ("default",), ("signs",), ("relational", "default", "signs"))))
    return Machine(
        name="drawn",
        nodes=nodes,
        start=draw(st.sampled_from(node_names)),
        holes=holes(draw, hole_names, values),
        counters=tuple(draw(_counter(name, node_names, tuple(labels))) for name in counter_names),
        terms=lets,
        constraints=tuple(draw(_constraint(name, hole_names)) for name in constraint_names),
        words=draw(st.sampled_from((WORDS.name, None))),
    )


# What happens


@dataclass(frozen=True)
class Stream:
    """Events of a rollout, and where its episodes end. [T, B] each mask."""

    events: Events
    terminated: np.ndarray
    truncated: np.ndarray
    valid: np.ndarray


def _occurrence(event: Event) -> st.SearchStrategy[tuple[int, ...]]:
    """The event's index and the values of all attributes."""
    nothing = st.just(NOTHING)
    coordinate = st.integers(0, GRID - 1)
    values = []
    for attribute in WORDS.attributes:
        if attribute.name not in event.attributes:
            values.append(nothing)
        elif attribute.values is None:
            values.append(st.builds(pack_cell, coordinate, coordinate) | nothing)
        else:
            values.append(st.integers(NOTHING, len(attribute.values) - 1))
    return st.tuples(st.just(WORDS.event_index[event.name]), *values)


# At most one act, any number of other events.
_HAPPENED = st.tuples(
    st.none() | st.one_of([_occurrence(event) for event in WORDS.events if event.act]),
    *(st.none() | _occurrence(event) for event in WORDS.events if not event.act),
).map(lambda found: sorted(occurrence for occurrence in found if occurrence is not None))
_STEP = st.tuples(
    st.sampled_from(
        (None, None, None, None, None, None, None, "truncated", "terminated")
    ),  # most episodes have a few steps
    _HAPPENED,
    st.tuples(*(quarters(-4, 4) for _ in WORDS.signals)),
)


@st.composite
def streams(draw: st.DrawFn, *, most_steps: int = 14, most_worlds: int = 3) -> Stream:
    """What may happen in a few envs, with episodes that end anywhere.

    Some envs spend a step on resetting, as EnvPool's do: it is not valid and nothing happens at it.
    """
    steps, envs = draw(st.integers(1, most_steps)), draw(st.integers(1, most_worlds))
    terminated, truncated = (np.zeros((steps, envs), np.bool_) for _ in range(2))
    valid = np.ones((steps, envs), np.bool_)
    signals = np.zeros((steps, envs, len(WORDS.signals)))
    rows: list[tuple[int, ...]] = []  # step, env, event, attributes
    for env in range(envs):
        spends = draw(st.booleans())
        for step, (end, happened, reading) in enumerate(draw(st.lists(_STEP, min_size=steps, max_size=steps))):
            signals[step, env] = reading
            if spends and step and (terminated | truncated)[step - 1, env]:
                valid[step, env] = False
                continue
            terminated[step, env], truncated[step, env] = end == "terminated", end == "truncated"
            rows.extend((step, env, *occurrence) for occurrence in happened)
    table = np.array(rows, np.int32).reshape(len(rows), 3 + len(WORDS.attributes))
    step, env, event, attributes = table[:, 0], table[:, 1], table[:, 2].astype(np.int16), table[:, 3:]
    return Stream(Events(steps, envs, step, env, event, attributes, signals), terminated, truncated, valid)


def assignments(machine: Machine, count: int) -> st.SearchStrategy[np.ndarray]:
    """`count` assignments of the machine's holes, each in its space, [K, H]."""
    row = st.tuples(*(values_in(hole.space) for hole in machine.holes))
    rows = st.lists(row, min_size=count, max_size=count)
    return rows.map(lambda drawn: np.array(drawn, np.float64).reshape(count, len(machine.holes)))
