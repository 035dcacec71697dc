"""Whether pay at every step can outweigh a milestone within an episode of N steps, and the atoms under which it cannot.

A *milestone* is a rule that leads on to where its node is not reached again, so that it pays once. Whoever stays at a node is paid by its
dense rules up to N times; if that can come to more than a milestone pays which is still ahead, staying can be the better choice. Both are
sums of holes at the corners of the signals' ranges, so the question is linear and its answer exact. The guard of a dense rule is taken to
hold at every step, so "cannot" is a proof, and "can" an example where the guard allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from srm.machine.affine import Form, add, scale
from srm.machine.checks.core.conditions import Condition, every, negated, sign, some
from srm.machine.checks.core.constraint import find_contradiction
from srm.machine.checks.core.facts import reachable
from srm.machine.checks.core.report import Finding, form_text, fraction_text, place_of
from srm.machine.checks.core.rules import Living, find_living, rule_text, witness_of
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.episode.bounds import StepBounds
from srm.machine.checks.episode.totals import largest_and_least
from srm.machine.checks.farming.moves import cancelling
from srm.machine.checks.farming.unfarmable import atoms_for, with_atoms
from srm.machine.dense import dense_rules
from srm.machine.holes import Atom
from srm.machine.language.print import columns
from srm.machine.model import Node, Rule

NO_HORIZON = "how long an episode may last is not known, so what it can earn was not asked; give --horizon N"


@dataclass(frozen=True)
class Rivals:
    """A rule that pays at every step, and a milestone that is still ahead of it."""

    node: Node
    dense: Rule
    milestone: Rule


@dataclass(frozen=True)
class Outweighing:
    """What the two can be paid: forms at the corners that matter, or the signals whose range is open."""

    rivals: Rivals
    gains: list[Form] | tuple[str, ...]  # what a step of the dense rule pays at most
    losses: list[Form] | tuple[str, ...]  # and at least
    milestone: list[Form] | tuple[str, ...]  # what the milestone pays at least


def check_episode(subject: Subject, prover: Prover, living: Living, steps: int | None) -> Iterator[Finding]:
    dense = list(dense_rules(subject.machine))
    if not dense:
        return
    if steps is None:
        yield Finding("note", "episode", "", NO_HORIZON)
        return
    for node, rule in dense:
        yield _earned(subject, living, node, rule, steps)
    for pair in _compared(subject, prover, living, steps):
        yield from _findings(subject, prover, pair, steps)
    yield from largest_and_least(subject, living, steps)


def _earned(subject: Subject, living: Living, node: Node, rule: Rule, steps: int) -> Finding:
    """By reading, what the rule can come to."""
    bounds = StepBounds.of(subject, rule, steps, cancelling(subject, living, {node.name}))
    texts = []
    for reading, part in bounds.parts.items():
        low, high = (None if end is None else fraction_text(steps * end) for end in bounds.ranges[reading])
        name = form_text(part) if len(part) == 1 else f"({form_text(part)})"
        if low == high and low is not None:
            texts.append(f"{low} * {name}")
        else:
            texts.append(f"{low or 'any number'} to {high or 'any number'} times {name}")
    what = "; ".join(texts)
    return Finding("note", "episode", place_of([node.name]), f"over {steps:,} steps {rule_text(rule)} pays {what}")


# Milestones


def _rivals(subject: Subject, living: Living) -> Iterator[Rivals]:
    for node, rule in dense_rules(subject.machine):
        ahead = reachable(subject, {node.name}, living.dead)
        for where, milestone, label in subject.machine.rules:
            once = milestone.target is not None and where.name not in reachable(
                subject, {milestone.target}, living.dead
            )
            if where.name in ahead and once and label not in living.dead and subject.form(milestone.pay):
                yield Rivals(node, rule, milestone)


def _compared(subject: Subject, prover: Prover, living: Living, steps: int) -> Iterator[Outweighing]:
    for rivals in _rivals(subject, living):
        lost = not subject.machine.node(rivals.milestone.target or rivals.node.name).accepting
        if lost and prover.can(sign(subject.form(rivals.milestone.pay), ">")) is False:
            continue  # a penalty, such as that of a crash: staying out of it is what is wanted
        sums = cancelling(subject, living, {rivals.node.name})
        dense = StepBounds.of(subject, rivals.dense, steps, sums)
        milestone = StepBounds.of(subject, rivals.milestone, steps)
        yield Outweighing(
            rivals,
            dense.extremes(prover, largest=True),
            dense.extremes(prover, largest=False),
            milestone.extremes(prover, largest=False),
        )


def _differences(gains: Sequence[Form], milestones: Sequence[Form], steps: int) -> list[Form]:
    """What a milestone pays more than N steps, for each pair of corners."""
    return [add(least, negated(scale(gain, Fraction(steps)))) for gain in gains for least in milestones]


def not_outweighed(pair: Outweighing, steps: int) -> Condition:
    """That N steps of the dense rule never pay more than the milestone; the ranges must be known."""
    assert isinstance(pair.gains, list)
    assert isinstance(pair.milestone, list)
    return every(sign(form, ">=") for form in _differences(pair.gains, pair.milestone, steps))


def _findings(subject: Subject, prover: Prover, pair: Outweighing, steps: int) -> Iterator[Finding]:
    place = place_of([pair.rivals.node.name])
    dense, milestone = rule_text(pair.rivals.dense), rule_text(pair.rivals.milestone)
    for forms in (pair.gains, pair.milestone):
        if isinstance(forms, tuple):
            ranges = (
                f"declare how far {', '.join(forms)} can go" if forms != ("too many signals",) else "too many signals"
            )
            yield Finding("note", "episode", place, f"not decided whether {dense} can outweigh {milestone}: {ranges}")
            return
    assert isinstance(pair.gains, list)
    assert isinstance(pair.milestone, list)
    example = prover.example(some(sign(negated(f), ">") for f in _differences(pair.gains, pair.milestone, steps)))
    if example.possible is None:
        yield Finding("warning", "episode", place, f"not decided whether {dense} can outweigh {milestone}")
    elif example.possible:
        atoms = atoms_for(subject, prover, not_outweighed(pair, steps), _label(pair.rivals, steps))
        remedy = tuple(f"forbidden by: {_plain(atom)}" for atom in atoms) if isinstance(atoms, tuple) else ()
        most = " or ".join(form_text(scale(gain, Fraction(steps))) for gain in pair.gains)
        message = (
            f"over {steps:,} steps {dense} can pay {most}, more than {milestone}: staying can be the better choice"
        )
        yield Finding("warning", "episode", place, message, replace(witness_of(example), signals={}, atoms=remedy))
    else:
        yield Finding("note", "episode", place, f"over {steps:,} steps {dense} never pays more than {milestone}")
    yield from _cost(prover, pair, steps, place)


def _cost(prover: Prover, pair: Outweighing, steps: int, place: str) -> Iterator[Finding]:
    """The other way round: what dense pay takes can be more than the milestone gives."""
    assert isinstance(pair.milestone, list)
    if isinstance(pair.losses, tuple):
        return
    forms = [add(least, scale(loss, Fraction(steps))) for loss in pair.losses for least in pair.milestone]
    if prover.can(some(sign(negated(form), ">") for form in forms)):
        dense, milestone = rule_text(pair.rivals.dense), rule_text(pair.rivals.milestone)
        message = f"over {steps:,} steps {dense} can cost more than {milestone} pays"
        yield Finding(
            "note", "episode", place, f"{message}: where an episode can end otherwise, ending it may be better"
        )


# Atoms


@dataclass(frozen=True)
class Outweighed:
    """Atoms to add to a constraint, and a sentence for each pair that no atom settles."""

    atoms: tuple[Atom, ...] = ()
    unproved: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Lines of a constraint; what is unproved as comments."""
        rows = [(f'"{atom.label}"', _plain(atom)) for atom in self.atoms]
        lines = [*(columns(rows) if rows else ()), *(f"# unproved: {sentence}" for sentence in self.unproved)]
        return "\n".join(f"    {line}" for line in lines or ["# no milestone can be outweighed: nothing to add"])


def forbid_outweighing(subject: Subject, steps: int) -> Outweighed:
    """The atoms that, added to the constraint, let no dense rule pay more in N steps than a milestone that is still ahead."""
    if find_contradiction(subject) is not None:
        return Outweighed(unproved=("the constraint cannot be met, so nothing was asked",))
    atoms: list[Atom] = []
    unproved: list[str] = []
    living, _ = find_living(subject, Prover(subject))
    for pair in _compared(subject, Prover(subject), living, steps):
        kept = replace(subject, constraint=with_atoms(subject.constraint, atoms)) if atoms else subject
        about = f"{rule_text(pair.rivals.dense)} against {rule_text(pair.rivals.milestone)}"
        if isinstance(pair.gains, tuple) or isinstance(pair.milestone, tuple):
            missing = [name for forms in (pair.gains, pair.milestone) if isinstance(forms, tuple) for name in forms]
            unproved.append(f"{about}: no range is known of {', '.join(dict.fromkeys(missing))}")
            continue
        answer = atoms_for(kept, Prover(kept), not_outweighed(pair, steps), _label(pair.rivals, steps))
        if isinstance(answer, str):
            unproved.append(f"{about}: {answer}")
        else:
            atoms += answer
    return Outweighed(tuple(atoms), tuple(unproved))


def _label(rivals: Rivals, steps: int) -> str:
    name = rivals.milestone.name or str(rivals.milestone.guard)
    return f"{steps} steps at {rivals.node.name} pay no more than {name}"[:100]


def _plain(atom: Atom) -> str:
    return str(replace(atom, label=None))
