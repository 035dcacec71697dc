"""The moves of a machine and the elementary loops they form.

A *move* is one step at one node: what happens, the rule that fires (or none: idle), what it pays, and what it does to the
counters and to the balances of the vocabulary. A loop that can be repeated for ever leaves each node as often as it enters
it, and each balance where it was: its moves x satisfy A x = 0, x >= 0. Every such x is a sum of *elementary* loops, the
extreme rays of that cone, so what holds of all of them holds of every way of going round. They are also the loops a reader
recognises: pick_up_key, drop_key.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import gcd

from srm.machine.affine import Form
from srm.machine.checks.core.conditions import (
    FALSE,
    Condition,
    Items,
    Reading,
    counters_of,
    given,
    items_of,
    literals_of,
    signals_of,
    substitute,
    with_counters,
)
from srm.machine.checks.core.facts import closure
from srm.machine.checks.core.letters import Letter, TooManyLetters, after_step, alphabet, counting, level_change, within
from srm.machine.checks.core.rules import Living
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.model import Rule
from srm.machine.terms import Happens
from srm.machine.vocabulary import Balance

MOST_TRIED = 200_000  # rules at sets of events, which takes a few seconds
MOST_RAYS = 500  # each is asked about; a few milliseconds each
MOST_COMPARED = 5_000_000  # supports, which takes about a second
LONGEST_LOOP = 16  # moves that are put into an order
MOST_ORDERS = 5_000  # that are begun for one; the longest of the shipped machines takes 60


class TooManyLoops(Exception):
    """More elementary loops than can be listed."""


@dataclass(frozen=True)
class Move:
    node: str
    target: str
    rule: Rule | None  # None: idle
    label: str | None
    letter: Letter
    pay: Items
    condition: Condition  # the comparisons that must hold
    levels: tuple[int, ...]  # what it adds to each balance
    counts: frozenset[str]
    resets: frozenset[str]

    @property
    def reads(self) -> tuple[set[str], set[str]]:
        """The counters and the signals that its guard and its pay read."""
        counters = {name for monomial, _ in self.pay for name in monomial.counters}
        signals = {name for monomial, _ in self.pay for name in monomial.signals}
        return counters | set(counters_of(self.condition)), signals | set(signals_of(self.condition))


def find_moves(subject: Subject, prover: Prover, living: Living, nodes: Collection[str]) -> list[Move]:
    """Every move within these nodes that can be made and that pays (perhaps later), counts, resets or changes a balance."""
    # All that can happen at one step
    distinct: dict[object, Move] = {}
    repaid = set(subject.machine.repaid_events)
    letters = alphabet(_literals(subject, nodes), subject.vocabulary)
    if len(letters) * len(subject.machine.rules) > MOST_TRIED:
        raise TooManyLetters(
            f"{len(letters):,} sets of events can happen at one step, for {len(subject.machine.rules)} rules"
        )

    # Of moves that do the same one is enough
    for letter in letters:
        for node in nodes:
            for move in _moves_at(subject, living, node, letter):
                inside = move.target in nodes
                again = frozenset(repaid & set(letter.events))  # what hindsight may pay anew
                pays = move.pay or again or (move.rule is not None and move.rule.hindsight)
                matters = pays or move.counts or move.resets or any(move.levels) or move.target != node
                key = (node, move.target, move.label, move.levels, move.counts, move.resets, move.condition, again)
                if inside and matters and key not in distinct:
                    distinct[key] = move

    # Those that some assignment lets happen
    made = [move for move in distinct.values() if prover.can(move.condition, living.facts[move.node]) is not False]
    return sorted(made, key=lambda move: list(nodes).index(move.node))


def _literals(subject: Subject, nodes: Collection[str]) -> tuple[Happens, ...]:
    guards = [subject.fires[label] for node in nodes for _, label in subject.rules_of(node)]
    counted = [happens for counter in subject.machine.counters for happens in counter.happens]
    balanced = [Happens(event) for balance in subject.balances for event in (*balance.plus, *balance.minus)]
    repaid = map(Happens, subject.machine.repaid_events)
    return tuple(dict.fromkeys([*literals_of(*guards), *counted, *balanced, *repaid]))


def _moves_at(subject: Subject, living: Living, node: str, letter: Letter) -> Iterator[Move]:
    zeros: dict[str, Form] = {name: {} for name in living.zeros(node)}
    levels = tuple(level_change(balance, letter) for balance in subject.balances)
    options: list[tuple[Rule | None, str | None, Condition]] = [
        (rule, label, subject.fires[label]) for rule, label in subject.rules_of(node) if label not in living.dead
    ]
    for rule, label, fires in [*options, (None, None, subject.idles[node])]:
        condition = with_counters(given(fires, letter.happening), zeros)
        if condition == FALSE:
            continue
        counts, resets = counting(subject.machine.counters, node, rule, letter)
        pay = items_of(substitute(subject.form(rule.pay), zeros)) if rule else ()
        target = (rule.target if rule else None) or node
        yield Move(node, target, rule, label, letter, pay, condition, levels, counts, resets)


def cancelling(subject: Subject, living: Living, nodes: Collection[str]) -> frozenset[str]:
    """The changes of a bounded signal that every step within these nodes is paid for alike: what they pay adds up to a bounded sum, however
    long one stays."""
    vocabulary = subject.vocabulary
    changes = [s for s in vocabulary.signals if s.change_of and vocabulary.width(s.change_of)] if vocabulary else []
    if not changes or any(rule.hindsight for _, rule, _ in subject.machine.rules):
        return frozenset()
    steps = [
        dict(move.pay)
        for letter in alphabet(_literals(subject, nodes), vocabulary)
        for node in nodes
        for move in _moves_at(subject, living, node, letter)
        if move.target in nodes
    ]
    return frozenset(s.name for s in changes if _paid_alike(s.name, steps))


def _paid_alike(signal: str, pays: Sequence[Form]) -> bool:
    """Whether all pay the same sum of holes for the signal, and it stands in no product with another reading."""
    factors = set()
    for pay in pays:
        reading = {m: coefficient for m, coefficient in pay.items() if signal in m.signals}
        if any(m.counters or m.signals != (signal,) for m in reading):
            return False
        factors.add(frozenset((m.hole, coefficient) for m, coefficient in reading.items()))
    return len(factors) == 1 and factors != {frozenset()}


def without(move: Move, signals: Collection[str]) -> Move:
    """The move without what it pays for these signals."""
    return replace(move, pay=tuple((m, c) for m, c in move.pay if not set(m.signals) & set(signals)))


def make(move: Move, reading: Reading) -> tuple[Fraction, Reading] | None:
    """What a move pays and what is read after it; None if its guard does not hold."""
    if not reading.holds(move.condition):
        return None
    counters = after_step(reading.counters, move.counts, move.resets)
    return reading.value(dict(move.pay)), replace(reading, counters=counters)


def make_round(moves: Sequence[Move], reading: Reading) -> tuple[Fraction, Reading] | None:
    """The same of several moves, one after the other."""
    total = Fraction(0)
    for move in moves:
        made = make(move, reading)
        if made is None:
            return None
        pay, reading = made
        total += pay
    return total, reading


# Elementary loops

Ray = dict[int, int]  # how often each move (by its index) occurs


def components(moves: Sequence[Move]) -> list[frozenset[str]]:
    """The nodes that can be left and entered again, in groups whose nodes lead to one another, in the order of the moves."""
    leads: dict[str, set[str]] = {}
    for move in moves:
        leads.setdefault(move.node, set()).add(move.target)
    reach = {node: closure(targets, lambda other: leads.get(other, ())) for node, targets in leads.items()}
    groups = dict.fromkeys(frozenset(other for other in reach[node] if node in reach.get(other, ())) for node in leads)
    return [group for group in groups if group]


def rows_of(moves: Sequence[Move]) -> list[list[int]]:
    """A: how much each move adds to having left each node, and to each balance. A loop x has A x = 0."""
    nodes = dict.fromkeys(move.node for move in moves)
    rows = [[(move.node == node) - (move.target == node) for move in moves] for node in nodes]
    return rows + [list(levels) for levels in zip(*(move.levels for move in moves), strict=True)]


def elementary_loops(moves: Sequence[Move]) -> list[Ray]:
    """The extreme rays of {x >= 0 : nodes are left as often as entered, balances are kept}, by double description."""
    # Without a row every move alone is extreme; each row keeps the rays it balances and joins those it does not in pairs
    rays: list[Ray] = [{index: 1} for index in range(len(moves))]
    for row in rows_of(moves):
        sums = [sum(row[index] * times for index, times in ray.items()) for ray in rays]
        kept = [ray for ray, total in zip(rays, sums, strict=True) if total == 0]
        above = [(ray, total) for ray, total in zip(rays, sums, strict=True) if total > 0]
        below = [(ray, -total) for ray, total in zip(rays, sums, strict=True) if total < 0]
        if len(above) * len(below) * len(rays) > MOST_COMPARED:
            raise TooManyLoops("there are more loops than can be listed")
        supports = [_support(ray) for ray in rays]
        for up, rise in above:
            for down, fall in below:
                others = ~(_support(up) | _support(down))
                # elementary: no third loop uses only moves of these two
                if sum(not support & others for support in supports) == 2:
                    kept.append(_combine(up, fall, down, rise))
        rays = kept
    if len(rays) > MOST_RAYS:
        raise TooManyLoops("there are more loops than can be judged")
    return rays


def _support(ray: Ray) -> int:
    """The moves that occur, as bits."""
    return sum(1 << index for index in ray)


def _combine(up: Ray, fall: int, down: Ray, rise: int) -> Ray:
    total = Tally({index: times * fall for index, times in up.items()})
    total.update({index: times * rise for index, times in down.items()})
    common = gcd(*total.values())
    return {index: times // common for index, times in total.items()}


def arrange(moves: Sequence[Move], balances: Sequence[Balance]) -> tuple[Move, ...] | None:
    """An order in which the moves lead round and keep every balance within its bounds; None if none was found."""
    if len(moves) > LONGEST_LOOP:
        return None
    first, tally = min(move.node for move in moves), Tally(moves)
    for levels in _beginnings(moves, balances):
        order = _order(first, levels, tally, balances)
        if order is not None:
            return order
    return None


def _beginnings(moves: Sequence[Move], balances: Sequence[Balance]) -> Iterator[tuple[int, ...]]:
    """Levels of the balances at which a loop may begin, the least first: so what must come first does."""
    choices = []
    for index, balance in enumerate(balances):
        touched = any(move.levels[index] for move in moves)
        high = balance.least + len(moves) if balance.most is None else balance.most
        choices.append(sorted({balance.least, high}) if touched else [balance.least])
    yield from sorted(product(*choices), key=sum)


def _order(
    first: str, begin: tuple[int, ...], moves: Tally[Move], balances: Sequence[Balance]
) -> tuple[Move, ...] | None:
    """Depth first: the next move is any that is left, starts here and keeps the balances."""
    kinds, count = (
        tuple(moves),
        moves.total(),
    )  # numbered: to compare moves took 50 of the 54 s of a machine with 8 rules
    todo: list[tuple[str, tuple[int, ...], tuple[Move, ...], tuple[int, ...]]] = [
        (first, begin, (), tuple(moves.values()))
    ]
    tried: set[object] = set()
    while todo and len(tried) < MOST_ORDERS:
        here, levels, done, remaining = todo.pop()
        if len(done) == count:
            if here == first:
                return done
            continue
        for index in reversed(range(len(kinds))):
            move = kinds[index]
            if not remaining[index] or move.node != here:
                continue
            after = tuple(level + change for level, change in zip(levels, move.levels, strict=True))
            others = (*remaining[:index], remaining[index] - 1, *remaining[index + 1 :])
            if (move.target, others) not in tried and within(after, balances):
                tried.add((move.target, others))
                todo.append((move.target, after, (*done, move), others))
    return None
