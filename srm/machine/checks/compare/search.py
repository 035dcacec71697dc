"""A shortest trace on which two machines pay differently, breadth first over what can happen.

Along a trace every counter is a number, so what remains open are the holes: a way of going on is a set of linear comparisons of
holes, and a difference is an assignment that keeps them, the constraint, and `pay != other pay`. Ways that lead to the same nodes and
counters under fewer comparisons make others superfluous. Traces keep the balances of the vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from srm.machine.affine import Form, add
from srm.machine.checks.compare.pair import MachineSide, Option, Pair
from srm.machine.checks.core.conditions import (
    FALSE,
    TRUE,
    Condition,
    Every,
    each_sign,
    every,
    negated,
    number_form,
    rename_form,
    sign,
    some,
    substitute,
)
from srm.machine.checks.core.letters import NONE, Letter, Value, after_step, level_change, passes, within
from srm.machine.checks.core.solve import Answer, Prover
from srm.machine.model import RepayEvery
from srm.machine.terms import AttributeOf, Happens


@dataclass(frozen=True)
class JointWalk:
    """Where both machines stand after a trace, and under which comparisons of holes they do."""

    nodes: tuple[str, str]
    counters: tuple[tuple[str, int], ...]
    levels: tuple[int, ...]
    comparisons: frozenset[Condition] = frozenset()
    trace: tuple[Letter, ...] = ()
    visited: tuple[tuple[str, str], ...] = ()  # the nodes before each step
    pays: tuple[tuple[Form, Form], ...] = ()  # of each step, as they stand now


@dataclass(frozen=True)
class SearchOutcome:
    steps: int  # all traces up to this length were looked at
    walk: JointWalk | None = None  # one on which the pays differ
    example: Answer | None = None
    complete: bool = False  # nothing is left to look at: the traces go round in circles
    sure: bool = True  # no question on the way was left undecided


@dataclass
class _Budget:
    ends: float
    seen: dict[object, list[frozenset[Condition]]] = field(default_factory=dict)

    def is_new(self, key: object, comparisons: frozenset[Condition]) -> bool:
        """Whether no earlier walk came to the same place under a part of these comparisons."""
        earlier = self.seen.setdefault(key, [])
        if any(known <= comparisons for known in earlier):
            return False
        earlier.append(comparisons)
        return True


def find_difference(pair: Pair, prover: Prover, most_steps: int, seconds: float) -> SearchOutcome:
    budget = _Budget(time.monotonic() + seconds)
    start = (pair.first.subject.machine.start, pair.second.subject.machine.start)
    counters = tuple((name, 0) for name in (*pair.first.counters, *pair.second.counters))
    walks = [JointWalk(start, counters, tuple(0 for _ in pair.balances))]
    sure = True
    for length in range(1, most_steps + 1):
        further: list[JointWalk] = []
        for walk in walks:
            for longer, differs in _longer(pair, prover, walk):
                if time.monotonic() > budget.ends:
                    return SearchOutcome(length - 1, sure=sure)
                if differs != FALSE:
                    example = prover.example(every((*longer.comparisons, differs)))
                    if example.possible:
                        return SearchOutcome(length, longer, example, sure=sure)
                    sure = sure and example.possible is False
                if budget.is_new(_place(pair, longer), longer.comparisons):
                    further.append(longer)
        if not further:
            return SearchOutcome(length, complete=True, sure=sure)
        walks = further
    return SearchOutcome(most_steps, sure=sure)


def _place(pair: Pair, walk: JointWalk) -> object:
    """What decides how a walk can go on; with hindsight this includes what happened."""
    here = (walk.nodes, walk.counters, walk.levels)
    return (here, walk.trace, walk.visited) if pair.looks_back else here


def _longer(pair: Pair, prover: Prover, walk: JointWalk) -> Iterator[tuple[JointWalk, Condition]]:
    """The walks that are one step longer, each with the condition under which some step is now paid differently."""
    numbers = {name: number_form(value) for name, value in walk.counters}
    for letter in pair.letters:
        if not letter.occurrences and _sleeps(pair, walk, letter):
            continue
        changes = (level_change(balance, letter) for balance in pair.balances)
        levels = tuple(level + change for level, change in zip(walk.levels, changes, strict=True))
        if not within(levels, pair.balances):
            continue
        for first in pair.first.options(walk.nodes[0], letter):
            for second in pair.second.options(walk.nodes[1], letter):
                both = every((first.condition, second.condition))
                condition = _at_step(both, numbers, len(walk.trace))
                if condition == FALSE:
                    continue
                comparisons = walk.comparisons | (
                    frozenset(condition.parts) if isinstance(condition, Every) else {condition}
                )
                if condition != TRUE and prover.can(every(comparisons)) is False:
                    continue
                yield _step(pair, walk, letter, levels, (first, second), frozenset(comparisons), numbers)


def _sleeps(pair: Pair, walk: JointWalk, letter: Letter) -> bool:
    """Whether a step without events changes nothing, so that it need not be part of a shortest trace."""
    options = [*pair.first.options(walk.nodes[0], letter), *pair.second.options(walk.nodes[1], letter)]
    return all(option.rule is None for option in options)


def _step(
    pair: Pair,
    walk: JointWalk,
    letter: Letter,
    levels: tuple[int, ...],
    options: tuple[Option, Option],
    comparisons: frozenset[Condition],
    numbers: Mapping[str, Form],
) -> tuple[JointWalk, Condition]:
    # What is paid now, and what hindsight makes of earlier pay
    number = len(walk.trace)
    now = tuple(_read(option.pay, numbers, number) for option in options)
    repaid = [
        _repaid(side, option, walk, letter, [pays[index] for pays in walk.pays], numbers)
        for index, (side, option) in enumerate(zip((pair.first, pair.second), options, strict=True))
    ]

    # Only pays that changed can have begun to differ
    pays = (*zip(*repaid, strict=True), (now[0], now[1]))
    changed = [p for p, old in zip(pays, (*walk.pays, None), strict=True) if p != old]
    differs = some(sign(add(one, negated(other)), "!=") for one, other in changed)

    # Where both machines stand then
    counts, resets = options[0].counts | options[1].counts, options[0].resets | options[1].resets
    counters = tuple(after_step(dict(walk.counters), counts, resets).items())
    nodes = (options[0].target, options[1].target)
    after = JointWalk(nodes, counters, levels, comparisons, (*walk.trace, letter), (*walk.visited, walk.nodes), pays)
    return after, differs


def _repaid(
    side: MachineSide, option: Option, walk: JointWalk, letter: Letter, pays: list[Form], numbers: Mapping[str, Form]
) -> list[Form]:
    """The pay of the earlier steps after the hindsight of a rule."""
    hindsight = option.rule.hindsight if option.rule else None
    if hindsight is None:
        return pays
    begins = max((i + 1 for i, earlier in enumerate(walk.trace) if hindsight.since in earlier.events), default=0)
    window = range(begins, len(walk.trace))
    for change in hindsight.changes:
        form = _read(side.form(change.pay), numbers, len(walk.trace))
        if isinstance(change, RepayEvery):
            chosen = [i for i in window if set(change.events) & set(walk.trace[i].events)]
        else:
            chosen = [i for i in window if _is_milestone(change.milestone, walk.trace[i], letter)][-1:]
        for index in chosen:
            pays[index] = form
    return pays


def _is_milestone(milestone: Happens, earlier: Letter, now: Letter) -> bool:
    if milestone.event not in earlier.events:
        return False
    having = _attributes(earlier, milestone.event)
    return all(passes(test, having.get(test.attribute, NONE), _compared(test.value, now)) for test in milestone.tests)


def _compared(value: object, now: Letter) -> Value:
    return _attributes(now, value.event).get(value.attribute, NONE) if isinstance(value, AttributeOf) else NONE


def _attributes(letter: Letter, event: str) -> dict[str, Value]:
    tests = [test for occurrence in letter.occurrences if occurrence.event == event for test in occurrence.tests]
    return {test.attribute: test.value for test in tests if not isinstance(test.value, AttributeOf)}


# Forms at one step of a trace


def _read(form: Form, numbers: Mapping[str, Form], step: int) -> Form:
    """The form with the counters' numbers; a signal is a new unknown at each step."""
    known = substitute(form, numbers)
    if not any(monomial.signals for monomial in known):
        return known
    return rename_form(known, {}, {name: f"{name} at step {step + 1}" for m in known for name in m.signals})


def _at_step(condition: Condition, numbers: Mapping[str, Form], step: int) -> Condition:
    return each_sign(condition, lambda comparison: sign(_read(comparison.form, numbers, step), comparison.relation))
