"""The report on farming: every elementary loop of a machine with what was proved of it.

Loops that look the same to a reader (the same events at the same nodes, whichever rules fire) are told once, by the one of
which the worst is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srm.machine.checks.bounds import describe_bound, largest_total
from srm.machine.checks.conditions import counters_of, every, negate
from srm.machine.checks.farming import Loop, can_gain, for_ever, gains_as_it_goes, wears_out
from srm.machine.checks.letters import TooManyLetters
from srm.machine.checks.moves import Move, TooManyLoops, arrange, components, elementary_loops, find_moves
from srm.machine.checks.report import Finding, Step, Witness, assignment_text, form_text
from srm.machine.checks.rules import Living
from srm.machine.checks.solve import Answer, Prover
from srm.machine.checks.subject import Subject

MOST_COMPANIONS = 20  # loops tried beside one that cannot be repeated alone
WORST_FIRST = ("for ever", "undecided", "bounded", "never")


@dataclass(frozen=True)
class Verdict:
    loop: Loop
    kind: str  # of WORST_FIRST
    example: Answer | None = None


def check_farming(subject: Subject, prover: Prover, living: Living) -> Iterator[Finding]:
    nodes = [node.name for node in subject.machine.nodes if node.name in living.reached and not node.accepting]
    try:
        moves = find_moves(subject, prover, living, nodes)
        groups = [[m for m in moves if {m.node, m.target} <= group] for group in components(moves)]
        rays = [elementary_loops(group) for group in groups]
    except (TooManyLetters, TooManyLoops) as reason:
        yield Finding("warning", "farming", "", f"not decided: {reason}")
        return
    safe = True
    for group, listed in zip(groups, rays, strict=True):
        loops = [_loop(subject, [group[i] for i, times in ray.items() for _ in range(times)]) for ray in listed]
        for finding in _component(subject, prover, living, group, loops):
            safe = safe and finding.severity == "note"
            yield finding
    if safe:
        yield Finding("note", "farming", "", "no loop can be repeated without end for gain")


def _loop(subject: Subject, moves: Sequence[Move]) -> Loop:
    ordered = arrange(moves, subject.words.balances if subject.words else ())
    return Loop(ordered or tuple(moves), ordered is not None)


def _component(
    subject: Subject, prover: Prover, living: Living, moves: Sequence[Move], loops: Sequence[Loop]
) -> Iterator[Finding]:
    refilled = frozenset(name for loop in loops for move in loop.moves for name in move.resets)
    verdicts: dict[object, Verdict] = {}
    for loop in sorted(loops, key=lambda loop: (-loop.paid, len(loop.moves))):
        if not any(move.rule for move in loop.moves):
            continue
        verdict = _judge(subject, prover, living, loop, loops, refilled)
        worst = verdicts.get(loop.signature)
        if worst is None or WORST_FIRST.index(verdict.kind) < WORST_FIRST.index(worst.kind):
            verdicts[loop.signature] = verdict
    for verdict in verdicts.values():
        yield _finding(subject, prover, moves, verdict, refilled)
    bounded = [verdict.loop for verdict in verdicts.values() if verdict.kind == "bounded"]
    if bounded and not subject.open_holes and all(v.kind in ("bounded", "never") for v in verdicts.values()):
        yield from largest_total(subject, moves, loops, refilled)


def _judge(
    subject: Subject, prover: Prover, living: Living, loop: Loop, loops: Sequence[Loop], refilled: frozenset[str]
) -> Verdict:
    gains = every((can_gain(subject, loop), gains_as_it_goes(subject, loop)))
    if prover.can(can_gain(subject, loop)) is False or prover.can(gains) is False:
        return Verdict(loop, "never")
    lasting = every((can_gain(subject, loop), negate(wears_out(subject, loop, refilled))))
    if prover.can(lasting) is False or prover.can(every((lasting, gains))) is False:
        return Verdict(loop, "bounded")
    for moves in _ways_round(subject, loop, loops):
        if any(move.rule and move.rule.hindsight for move in moves):
            continue  # what it re-pays depends on what happened before
        answer = for_ever(prover, moves, living.facts[moves[0].node])
        if answer.possible:
            return Verdict(Loop(moves, True), "for ever", answer)
    return Verdict(loop, "undecided")


def _ways_round(subject: Subject, loop: Loop, loops: Sequence[Loop]) -> Iterator[tuple[Move, ...]]:
    """The loop itself, and the loop with another one that resets its counters, or that joins its nodes."""
    if loop.in_order:
        yield loop.moves
    read = set(counters_of(*(move.condition for move in loop.moves)))
    companions = [
        other
        for other in loops
        if other is not loop
        and set(other.nodes) & set(loop.nodes)
        and (not loop.in_order or any(read & (move.resets | move.counts) for move in other.moves))
    ]
    for other in companions[:MOST_COMPANIONS]:
        together = arrange((*other.moves, *loop.moves), subject.words.balances if subject.words else ())
        if together is not None:
            yield together


# Telling


def _finding(
    subject: Subject, prover: Prover, moves: Sequence[Move], verdict: Verdict, refilled: frozenset[str]
) -> Finding:
    loop = verdict.loop
    place = f"node {loop.nodes[0]}" if len(loop.nodes) == 1 else f"nodes {', '.join(loop.nodes)}"
    named = ", ".join(str(move.letter) for move in loop.moves)
    pays = f"a round pays {form_text(loop.pay)}"
    witness = Witness(steps=tuple(map(_step, loop.moves)))
    if verdict.kind == "for ever":
        assert verdict.example is not None
        found = verdict.example
        witness = Witness(
            counters=found.counters, assignment=assignment_text(found.holes), steps=tuple(map(_step, loop.moves))
        )
        message = f"{named}: can be repeated without end for gain; {pays}"
        return Finding("warning", "farming", place, message, witness)
    if verdict.kind == "undecided":
        return Finding("warning", "farming", place, f"{named}: not decided whether this can be farmed; {pays}", witness)
    if verdict.kind == "bounded":
        message = f"{named}: {pays}, but not without end: {describe_bound(subject, prover, moves, loop, refilled)}"
        return Finding("note", "farming", place, message, witness)
    return Finding("note", "farming", place, f"{named}: cannot be farmed; {pays}, which is never above 0", witness)


def _step(move: Move) -> Step:
    return Step(move.node, tuple(map(str, move.letter.occurrences)), move.label, form_text(dict(move.pay)))
