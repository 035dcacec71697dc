"""The report on farming: every elementary loop of a machine with what was proved of it.

Loops that look the same to a reader (the same events at the same nodes, whichever rules fire) are reported together, by the one
of which the worst is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from srm.machine.affine import add
from srm.machine.checks.core.conditions import Condition, counters_of, every, negate, negated, sign
from srm.machine.checks.core.letters import TooManyLetters
from srm.machine.checks.core.report import Finding, WitnessStep, form_text, place_of
from srm.machine.checks.core.rules import Living, witness_of
from srm.machine.checks.core.solve import Answer, Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.farming.bounds import describe_bound, largest_total, rounds_of
from srm.machine.checks.farming.gain import Loop, Recurring, can_gain, gains_as_it_goes, may_be_repaid, wears_out
from srm.machine.checks.farming.moves import (
    Move,
    TooManyLoops,
    arrange,
    cancelling,
    components,
    elementary_loops,
    find_moves,
    without,
)
from srm.machine.checks.farming.rounds import for_ever
from srm.machine.dense import is_running

MOST_COMPANIONS = 20  # loops tried beside one that cannot be repeated alone
MOST_LISTED = 20  # loops of a group of nodes
WORST_FIRST = ("for ever", "undecided", "bounded", "never")


@dataclass(frozen=True)
class Verdict:
    loop: Loop
    kind: str  # of WORST_FIRST
    example: Answer | None = None


def check_farming(subject: Subject, prover: Prover, living: Living) -> Iterator[Finding]:
    safe = True
    for ground in find_grounds(subject, prover, living):
        findings = [ground] if isinstance(ground, Finding) else list(ground.findings())
        if isinstance(ground, Ground) and ground.runs:
            safe = False
            message = (
                "every step may be paid, by design, so that is no farming; what an episode can earn is asked below"
            )
            findings.append(Finding("note", "farming", place_of(nodes_of(ground.moves)), message))
        safe = safe and all(finding.severity == "note" for finding in findings)
        yield from findings
    if safe:
        yield Finding("note", "farming", "", "no loop can be repeated without end for gain")


def find_grounds(subject: Subject, prover: Prover, living: Living) -> Iterator[Ground | Finding]:
    """Where loops are; a finding in the place of a ground whose loops are too many to be listed."""
    nodes = [node.name for node in subject.machine.nodes if node.name in living.reached and node.rules]
    try:
        moves = find_moves(subject, prover, living, nodes)
    except TooManyLetters as reason:
        yield Finding("warning", "farming", "", f"not decided: {reason}")
        return
    for group in components(moves):
        dropped = cancelling(subject, living, group)
        inside = [without(move, dropped) for move in moves if {move.node, move.target} <= group]
        try:
            yield replace(Ground.of(subject, prover, living, inside), cancelling=dropped)
        except TooManyLoops as reason:
            yield Finding("warning", "farming", place_of(nodes_of(inside)), f"not decided: {reason}")


@dataclass(frozen=True)
class Ground:
    """Nodes that lead to one another, where loops are."""

    subject: Subject
    prover: Prover
    living: Living
    moves: tuple[Move, ...]
    loops: tuple[Loop, ...]
    cancelling: frozenset[str] = (
        frozenset()
    )  # changes of signals that pay no more than a bounded sum, left out of the moves

    @classmethod
    def of(cls, subject: Subject, prover: Prover, living: Living, moves: Sequence[Move]) -> Ground:
        loops = []
        for ray in elementary_loops(moves):
            made = [moves[index] for index, times in ray.items() for _ in range(times)]
            ordered = arrange(made, subject.balances)
            loops.append(Loop(ordered or tuple(made), ordered is not None))
        return cls(subject, prover, living, tuple(moves), tuple(loops))

    @cached_property
    def recurring(self) -> Recurring:
        return Recurring.of(self.loops)

    @cached_property
    def paying_loops(self) -> tuple[Loop, ...]:
        """The loops that are paid for, at once or by hindsight; those with the most paid moves come first."""
        ordered = sorted(self.loops, key=lambda loop: (-loop.paid, len(loop.moves)))
        return tuple(loop for loop in ordered if (loop.paid or self._may_be_repaid(loop)) and not self._runs_on(loop))

    @property
    def runs(self) -> bool:
        """Whether some loop here is what a running reward pays."""
        return any(map(self._runs_on, self.loops))

    def _runs_on(self, loop: Loop) -> bool:
        """A step at which nothing has to happen, of a machine that is never done: its reward is paid at every step, by design."""
        return is_running(self.subject.machine) and bool(loop.paid) and not any(m.letter.events for m in loop.moves)

    def findings(self) -> Iterator[Finding]:
        # Loops that look the same to a reader are judged together
        alike: dict[object, list[Verdict]] = {}
        for loop in self.paying_loops:
            alike.setdefault(loop.signature, []).append(self._judge(loop))
        listed = [verdict for verdicts in alike.values() for verdict in self._worst(verdicts)]
        listed.sort(key=lambda verdict: verdict.kind == "never")  # what needs a reader's eye comes first

        # A finding for each, up to a limit
        yield from map(self._finding, listed[:MOST_LISTED])
        more = len(listed) - MOST_LISTED
        if more > 0:
            rest = {verdict.kind for verdict in listed[MOST_LISTED:]}
            severity = "note" if rest <= {"never", "bounded"} else "warning"
            which = "that cannot be farmed" if rest == {"never"} else "like these"
            yield Finding(severity, "farming", place_of(nodes_of(self.moves)), f"{more} more loops {which}")

        # What they come to together
        kinds = {verdict.kind for verdict in listed}
        if "bounded" in kinds and kinds <= {"bounded", "never"} and not self.subject.open_holes:
            yield from largest_total(self.subject, self.moves, self.loops, self.recurring)

    def _may_be_repaid(self, loop: Loop) -> bool:
        return may_be_repaid(self.subject, loop, self.recurring)

    # Judging

    def harmless(self, loop: Loop) -> str | None:
        """Why the loop is proved not to gain without end: "never" or "bounded"; None if that is not proved."""
        paying = can_gain(self.subject, loop, self.recurring)
        gaining = every((paying, gains_as_it_goes(self.subject, loop, self.recurring)))
        if self._never(paying) or self._never(gaining):
            return "never"
        lasting = negate(wears_out(self.subject, loop, self.recurring))
        return "bounded" if self._never(every((paying, lasting))) or self._never(every((gaining, lasting))) else None

    def _judge(self, loop: Loop) -> Verdict:
        kind = self.harmless(loop)
        if kind is not None:
            paying = can_gain(self.subject, loop, self.recurring)
            return Verdict(loop, kind, self.prover.example(paying) if kind == "bounded" else None)
        for moves in self._ways_round(loop):
            if any(move.rule and move.rule.hindsight for move in moves):
                continue  # what it re-pays depends on what happened before
            answer = for_ever(self.prover, moves, self.living.facts[moves[0].node])
            if answer.possible:
                return Verdict(Loop(moves, True), "for ever", answer)
        return Verdict(loop, "undecided")

    def _never(self, condition: Condition) -> bool:
        return self.prover.can(condition) is False

    def _ways_round(self, loop: Loop) -> Iterator[tuple[Move, ...]]:
        """The loop itself, and the loop with another one that moves its counters, or that joins its nodes."""
        if loop.in_order:
            yield loop.moves
        read = set(counters_of(*(move.condition for move in loop.moves)))
        companions = [
            other
            for other in self.loops
            if other is not loop
            and set(other.nodes) & set(loop.nodes)
            and (not loop.in_order or any(read & (move.resets | move.counts) for move in other.moves))
        ]
        for other in companions[:MOST_COMPANIONS]:
            together = arrange((*other.moves, *loop.moves), self.subject.balances)
            if together is not None:
                yield together

    def _worst(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Of loops that look the same the first of the worst kind; of bounded ones those that may pay most."""
        kind = min((verdict.kind for verdict in verdicts), key=WORST_FIRST.index)
        worst = [verdict for verdict in verdicts if verdict.kind == kind]
        if kind != "bounded":
            return worst[:1]
        if not self.subject.open_holes:
            return [max(worst, key=lambda verdict: rounds_of(self.subject, verdict.loop.moves)[1])]
        kept: list[Verdict] = []
        for verdict in worst:
            if not any(self._pays_no_more(verdict.loop, other.loop) for other in worst if other is not verdict):
                kept.append(verdict)
        return kept or worst[:1]

    def _pays_no_more(self, loop: Loop, other: Loop) -> bool:
        return self._never(sign(add(loop.pay, negated(other.pay)), ">"))

    # Reporting

    def pay_text(self, loop: Loop) -> str:
        beside = f" (besides {', '.join(sorted(self.cancelling))}, whose sum is bounded)" if self.cancelling else ""
        return f"a round pays {form_text(loop.pay)}{' before hindsight' if self._may_be_repaid(loop) else ''}{beside}"

    def _finding(self, verdict: Verdict) -> Finding:
        loop = verdict.loop
        place = place_of(loop.nodes)
        named = moves_text(loop.moves)
        pays = self.pay_text(loop)
        example = verdict.example or Answer(None)
        witness = replace(witness_of(example), steps=tuple(map(_step, loop.moves)))
        if verdict.kind == "for ever":
            return Finding(
                "warning", "farming", place, f"{named}: can be repeated without end for gain; {pays}", witness
            )
        if verdict.kind == "undecided":
            message = f"{named}: not decided whether this can be repeated without end for gain; {pays}"
            return Finding("warning", "farming", place, message, witness)
        if verdict.kind == "bounded":
            bound = describe_bound(self.subject, self.prover, self.moves, loop, self.recurring)
            return Finding("note", "farming", place, f"{named}: {pays}, but not without end: {bound}", witness)
        return Finding("note", "farming", place, f"{named}: cannot be farmed; {pays}, which is never above 0")


def nodes_of(moves: Sequence[Move]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(move.node for move in moves))


def moves_text(moves: Sequence[Move]) -> str:
    return ", ".join(f"{move.letter}{'' if move.rule else ' (idle)'}" for move in moves)


def _step(move: Move) -> WitnessStep:
    return WitnessStep(move.node, tuple(map(str, move.letter.occurrences)), move.label, form_text(dict(move.pay)))
