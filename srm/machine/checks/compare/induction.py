"""A proof by induction that two machines pay the same on every trace.

For each pair of nodes that both machines can stand at together, the counters are grouped into classes that always read the same
there (one class reads 0). The classes begin with "all are 0" at the start and are split whenever a step that both machines can
make tells two counters apart, until nothing changes: then they hold on every trace. If, with counters of a class put equal, no
step can pay differently, no trace can.

Only what a step does is used, never how often something happened, so machines that are equal for a subtler reason are not
proved equal here; `search` then looks for a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from srm.machine.affine import Form, add
from srm.machine.checks.compare.pair import MachineSide, Option, Pair
from srm.machine.checks.core.conditions import (
    FALSE,
    Condition,
    counter_form,
    every,
    items_of,
    negated,
    sign,
    substitute,
    with_counters,
)
from srm.machine.checks.core.letters import Letter
from srm.machine.checks.core.solve import Prover

ZERO = "0"
Classes = dict[str, str]  # each counter's class: the name of its first member, or ZERO
Nodes = tuple[str, str]


@dataclass(frozen=True)
class JointStep:
    nodes: Nodes
    letter: Letter
    first: Option
    second: Option
    condition: Condition


def pays_the_same(pair: Pair, prover: Prover) -> dict[Nodes, Classes] | None:
    """The pairs of nodes with the classes of their counters, if they prove that both machines always pay the same."""
    invariant = _invariant(pair, prover)
    for nodes, classes in invariant.items():
        for step in _steps(pair, prover, nodes, classes):
            if not _agree(pair, prover, step, _readings(classes)):
                return None
    return invariant


def _invariant(pair: Pair, prover: Prover) -> dict[Nodes, Classes]:
    start = (pair.first.subject.machine.start, pair.second.subject.machine.start)
    invariant: dict[Nodes, Classes] = {start: dict.fromkeys((*pair.first.counters, *pair.second.counters), ZERO)}
    todo = [start]
    while todo:
        nodes = todo.pop()
        for step in list(_steps(pair, prover, nodes, invariant[nodes])):
            target = (step.first.target, step.second.target)
            after = _after(invariant[nodes], step)
            joined = _common(invariant[target], after) if target in invariant else after
            if joined != invariant.get(target):
                invariant[target] = joined
                todo.append(target)
    return invariant


def _steps(pair: Pair, prover: Prover, nodes: Nodes, classes: Classes) -> Iterator[JointStep]:
    readings = _readings(classes)
    for letter in pair.letters:
        for first in pair.first.options(nodes[0], letter):
            for second in pair.second.options(nodes[1], letter):
                both = with_counters(every((first.condition, second.condition)), readings)
                if both != FALSE and prover.can(both) is not False:
                    yield JointStep(nodes, letter, first, second, both)


def _readings(classes: Classes) -> Mapping[str, Form]:
    return {counter: {} if name == ZERO else counter_form(name) for counter, name in classes.items()}


def _after(classes: Classes, step: JointStep) -> Classes:
    """The classes after a step: counters that were equal and moved alike still are."""
    counts, resets = step.first.counts | step.second.counts, step.first.resets | step.second.resets
    moved = {c: (ZERO, 0) if c in resets else (name, int(c in counts)) for c, name in classes.items()}
    return _grouped(moved, (ZERO, 0))


def _common(one: Classes, other: Classes) -> Classes:
    """The classes of counters that are equal in both."""
    return _grouped({counter: (one[counter], other[counter]) for counter in one}, (ZERO, ZERO))


def _grouped(keys: Mapping[str, object], zero: object) -> Classes:
    names: dict[object, str] = {zero: ZERO}
    return {counter: names.setdefault(key, counter) for counter, key in keys.items()}


def _agree(pair: Pair, prover: Prover, step: JointStep, readings: Mapping[str, Form]) -> bool:
    difference = add(substitute(step.first.pay, readings), negated(substitute(step.second.pay, readings)))
    if prover.can(every((step.condition, sign(difference, "!=")))) is not False:
        return False
    return _looks_back(pair.first, step.first, readings) == _looks_back(pair.second, step.second, readings)


def _looks_back(side: MachineSide, option: Option, readings: Mapping[str, Form]) -> object:
    """What a rule changes in earlier pay, so that equal changes are equal values."""
    changes = [(where, items_of(substitute(form, readings))) for where, form in side.hindsight(option.rule)]
    since = option.rule.hindsight.since if option.rule and option.rule.hindsight else None
    return (since, changes) if changes else None
