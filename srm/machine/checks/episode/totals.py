"""The most and the least that an episode of N steps can earn, where all values are known.

    V[t, node] = the best over the rules of a node, and over idling, of what the step pays and V[t - 1, target]

Guards, events and balances are left out, so both are bounds; where every step is paid by one rule without a guard they are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from srm.machine.affine import ONE
from srm.machine.checks.core.conditions import FALSE
from srm.machine.checks.core.report import Finding, fraction_text
from srm.machine.checks.core.rules import Living
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.episode.bounds import StepBounds

LONGEST = 20_000  # steps that are counted out
Best = Callable[[Iterable[Fraction]], Fraction]


def largest_and_least(subject: Subject, living: Living, steps: int) -> Iterator[Finding]:
    """Of a machine with values and without hindsight; nothing where a range is open."""
    if subject.open_holes or steps > LONGEST or any(rule.hindsight for _, rule, _ in subject.machine.rules):
        return
    moves = _moves(subject, living, steps)
    if moves is None:
        return
    least, most = (_total(subject, moves, steps, best) for best in (min, max))
    message = f"an episode of {steps:,} steps earns {fraction_text(least)} at least and {fraction_text(most)} at most"
    yield Finding("note", "episode", "", message)


Moves = dict[str, list[tuple[str, Fraction, Fraction]]]  # of each node: where it leads, and what it pays, from and to


def _moves(subject: Subject, living: Living, steps: int) -> Moves | None:
    moves: Moves = {}
    for node in subject.machine.nodes:
        idle = [] if subject.idles[node.name] == FALSE else [(node.name, Fraction(0), Fraction(0))]
        moves[node.name] = idle
        for rule, label in subject.rules_of(node.name):
            bounds = StepBounds.of(subject, rule, steps)
            ends = [(part.get(ONE, Fraction(0)), *bounds.ranges[reading]) for reading, part in bounds.parts.items()]
            low = high = Fraction(0)
            for factor, first, last in ends:
                if first is None or last is None:
                    return None
                low, high = low + min(factor * first, factor * last), high + max(factor * first, factor * last)
            if label not in living.dead:
                moves[node.name].append((rule.target or node.name, low, high))
    return moves


def _total(subject: Subject, moves: Moves, steps: int, best: Best) -> Fraction:
    value = {node: Fraction(0) for node in moves}
    for _ in range(steps):
        value = {
            node: best((low if best is min else high) + value[target] for target, low, high in listed)
            for node, listed in moves.items()
        }
    return value[subject.machine.start]
