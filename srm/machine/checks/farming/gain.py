"""Farming: loops that can be repeated for a positive total.

Three things are asked of each elementary loop (see `moves`), for the assignments the constraint allows:

    can a round pay more than 0?                        if not, it cannot be farmed
    does a guard, or the pay itself, wear out?          its counters only grow, and each round takes something from it
    if it does not: is there a way to go round for ever   the guards as polynomials in the number of rounds

In an endless run, what wears out happens finitely often, and the rest is a sum of elementary loops up to a bounded remainder;
so if every loop that can pay wears out, no run can gain without end, however it mixes its loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from srm.machine.affine import ONE, Form, Monomial, add, scale
from srm.machine.checks.core.conditions import (
    Condition,
    Every,
    Items,
    Sign,
    every,
    items_of,
    needed_signs,
    rename,
    rename_form,
    sign,
    some,
)
from srm.machine.checks.core.facts import reachable
from srm.machine.checks.core.ranges import by_reading, reading_range
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.farming.moves import Move
from srm.machine.model import RepayEvery
from srm.machine.vocabulary import Vocabulary

MOST_CHOICES = 64


@dataclass(frozen=True)
class Loop:
    """An elementary loop: its moves, in an order in which they can be made if there is one."""

    moves: tuple[Move, ...]
    in_order: bool

    @cached_property
    def signature(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What a reader sees of it: where it is and what happens, whichever rules fire."""
        return tuple(sorted((move.node, move.letter.events) for move in self.moves))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(move.node for move in self.moves))

    @cached_property
    def counted(self) -> frozenset[str]:
        return frozenset(name for move in self.moves for name in move.counts)

    @property
    def pay(self) -> Form:
        """What a round pays. Each move meets counters and signals at another time, so where several read them each has its own."""
        pays = [dict(move.pay) for move in self.moves]
        reading = sum(any(monomial.counters or monomial.signals for monomial in pay) for pay in pays)
        return add(*(apart(pay, number) if reading > 1 else pay for number, pay in enumerate(pays, start=1)))

    @property
    def paid(self) -> int:
        """How many of its moves fire a rule."""
        return sum(move.rule is not None for move in self.moves)


@dataclass(frozen=True)
class Recurring:
    """What can happen again and again at some nodes: all that is part of a loop there."""

    rules: frozenset[str]  # labels
    resets: frozenset[str]  # counters that are reset

    @classmethod
    def of(cls, loops: Sequence[Loop]) -> Recurring:
        moves = [move for loop in loops for move in loop.moves]
        rules = frozenset(move.label for move in moves if move.label is not None)
        return cls(rules, frozenset(name for move in moves for name in move.resets))


# What a round can pay


def can_gain(subject: Subject, loop: Loop, recurring: Recurring, beyond: Form | None = None) -> Condition:
    """A round of the loop pays more than `beyond` (0), for some counters and signals. Holds at least whenever it truly can.

    Hindsight may re-pay a step later, so each step counts as the best of its own pay and every re-pay it may get.
    """
    offset = scale(beyond or {}, Fraction(-1))
    options = [
        [apart(form, number) for form in finally_paid(subject, move, recurring)]
        for number, move in enumerate(loop.moves, start=1)
    ]
    size = 1
    for option in options:
        size *= len(option)
    if size > MOST_CHOICES:
        return Every()
    return some(_can_be_positive(add(*chosen, offset), subject.vocabulary) for chosen in product(*options))


def gains_as_it_goes(subject: Subject, loop: Loop, recurring: Recurring) -> Condition:
    """The guards of all moves hold and together they pay more than 0, where each move has counters and signals of its own.

    A move that recurs meets many counters and signals; the best of those it can meet stand for all.
    """
    conditions: list[Condition] = []
    total: Form = {}
    if may_be_repaid(subject, loop, recurring):
        return Every()  # hindsight reads counters at another time
    for number, move in enumerate(dict.fromkeys(loop.moves), start=1):
        conditions.append(rename(move.condition, *(_own(names, number) for names in move.reads)))
        total = add(total, scale(apart(dict(move.pay), number), Fraction(loop.moves.count(move))))
    return every((*conditions, sign(total, ">")))


def apart(form: Form, number: int) -> Form:
    """The form with names of its own for the counters and signals that the move with this number reads."""
    counters = {name for monomial in form for name in monomial.counters}
    signals = {name for monomial in form for name in monomial.signals}
    return rename_form(form, _own(counters, number), _own(signals, number))


def _own(names: Iterable[str], number: int) -> dict[str, str]:
    return {name: f"{name} at move {number}" for name in names}


def may_be_repaid(subject: Subject, loop: Loop, recurring: Recurring) -> bool:
    return any(len(finally_paid(subject, move, recurring)) > 1 for move in loop.moves)


def finally_paid(subject: Subject, move: Move, recurring: Recurring) -> list[Form]:
    """What the step may be worth in the end: its own pay, and what hindsight of rules that can still fire may make of it.

    Hindsight for the last step of a kind changes one step each time, so it matters only if its rule can fire again and again.
    """
    ahead = reachable(subject, {move.node})
    pays: dict[Items, Form] = {move.pay: dict(move.pay)}
    for node, rule, label in subject.machine.rules:
        for change in rule.changes if node.name in ahead else ():
            again = isinstance(change, RepayEvery) or label in recurring.rules
            if again and set(change.events) & set(move.letter.events):
                form = subject.form(change.pay)
                pays.setdefault(items_of(form), form)
    return list(pays.values())


def _can_be_positive(form: Form, vocabulary: Vocabulary | None) -> Condition:
    """For counters of at least 0 and signals within their ranges: the sum is above 0 where each reading is at an end of its range, or one
    that can grow without end counts for it. Readings of one signal (its value, its square) count as if they were independent."""
    parts = by_reading(form)
    total, grows = [parts.pop(ONE, {})], []
    for reading, part in parts.items():
        low, high = reading_range(reading, vocabulary)
        ends = {end for end in (low, high) if end is not None} or {Fraction(0)}
        if len(ends) * len(total) > MOST_CHOICES:
            low, high, ends = None, None, {Fraction(0)}
        total = [add(sum_, scale(part, end)) for sum_ in total for end in sorted(ends)]
        if low is None or high is None:
            grows.append(sign(part, "!=" if low is None and high is None else "<" if low is None else ">"))
    return some((*(sign(sum_, ">") for sum_ in total), *grows))


# What wears out


@dataclass(frozen=True)
class Wear:
    """A comparison `start - rounds * by > 0` (or >= 0) that a loop needs and that its counters bring down."""

    sign: Sign
    move: Move
    start: Form  # with all counters at 0
    by: Form  # what a round takes
    when: Condition  # for which holes it does


def wears(loop: Loop, recurring: Recurring) -> Iterator[Wear]:
    """The guards of a loop that going round uses up; a counter that can be reset again and again uses up nothing."""
    for move in dict.fromkeys(loop.moves):
        for needed in needed_signs(move.condition):
            parts = by_reading(needed.form)
            start = parts.pop(ONE, {})
            when = _falls(parts, loop, recurring)
            if when is not None:
                by = add(*(_times_counted(part, reading, loop) for reading, part in parts.items()))
                yield Wear(needed, move, start, by, when)


def _falls(parts: dict[Monomial, Form], loop: Loop, recurring: Recurring) -> Condition | None:
    """When the sum of these parts falls for ever as the loop is repeated, whatever happens beside it; None: never."""
    if any(reading.signals or recurring.resets & set(reading.counters) for reading in parts):
        return None
    own = [part for reading, part in parts.items() if set(reading.counters) <= loop.counted]
    if not own:
        return None
    return every((*(sign(part, "<=") for part in parts.values()), some(sign(part, "<") for part in own)))


def _times_counted(part: Form, reading: Monomial, loop: Loop) -> Form:
    """What one round takes from a part: minus its factor, as often as its counter counts in a round."""
    if len(reading.counters) != 1:
        return {}
    times = sum(reading.counters[0] in move.counts for move in loop.moves)
    return {monomial: -times * coefficient for monomial, coefficient in part.items()} if times else {}


def wears_out(subject: Subject, loop: Loop, recurring: Recurring) -> Condition:
    """For which holes a guard of the loop, or what it pays, falls until it cannot go on for gain."""
    guards = some(wear.when for wear in wears(loop, recurring))
    moves = dict.fromkeys(loop.moves)
    pays = [by_reading(dict(move.pay)) for move in moves]
    for parts in pays:
        parts.pop(ONE, None)
    varying = any(reading.signals for parts in pays for reading in parts)
    if varying or may_be_repaid(subject, loop, recurring):
        return guards
    falls = [fall for parts in pays if (fall := _falls(parts, loop, recurring)) is not None]
    none_grows = every(sign(part, "<=") for parts in pays for part in parts.values())
    return some((guards, every((none_grows, some(falls)))))
