"""What can be proved about a machine before anything is trained, for every assignment its constraint allows.

    check(machine)           a Report on its constraint, rules, nodes, holes and loops
    compare(machine, other)  a Report on whether two machines pay the same
    refuse_unfit(machine)    an error if nothing can be run on it
    forbid_farming(machine, vocabulary, constraint)   atoms under which no loop can be repeated without end for gain
    forbid_outweighing(subject, horizon)   atoms under which pay at every step outweighs no milestone

Each finding has a witness in the words of the file. `docs/checks.md` says what each question does and does not prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srm.errors import MachineError
from srm.machine.checks.compare.against import MOST_STEPS, SECONDS, check_against
from srm.machine.checks.core.constraint import MOST_ROWS, check_constraint, find_contradiction
from srm.machine.checks.core.facts import counter_facts
from srm.machine.checks.core.implied import check_implied
from srm.machine.checks.core.report import Finding, Report, summed_up
from srm.machine.checks.core.rules import check_determinism, check_holes, find_living
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.episode.outweigh import Outweighed, check_episode, forbid_outweighing
from srm.machine.checks.farming.loops import check_farming
from srm.machine.checks.farming.unfarmable import Forbidden, forbid_farming, with_atoms
from srm.machine.fit import require_words
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary

__all__ = [
    "Finding",
    "Forbidden",
    "Outweighed",
    "Report",
    "check",
    "compare",
    "forbid_farming",
    "forbid_outweighing",
    "refuse_unfit",
    "with_atoms",
]


MOST_RULES = 100  # that are all looked at; the largest of the shipped machines has 12


def subject_of(machine: Machine, vocabulary: Vocabulary | None, constraint: str | None) -> Subject:
    """The machine under the constraint of that name: None is its first, "none" asks without any."""
    if vocabulary is not None:
        require_words(machine, vocabulary)
    chosen = None if constraint == "none" else machine.constraint(constraint)
    return Subject(machine, vocabulary, chosen)


def check(
    machine: Machine,
    vocabulary: Vocabulary | None = None,
    constraint: str | None = None,
    horizon: int | None = None,
) -> Report:
    """`horizon`: how many steps an episode may last, for the question what it can earn."""
    subject = subject_of(machine, vocabulary, constraint)
    name = subject.constraint.name if subject.constraint else None
    contradiction = find_contradiction(subject)
    if contradiction:
        # nothing is allowed, so everything would be true of what is allowed: ask the rest without the constraint
        subject = replace(subject, constraint=None)
    prover = Prover(subject)
    findings = [contradiction] if contradiction else list(check_constraint(subject, prover))
    if len(machine.rules) > MOST_RULES or len(subject.rows) + len(machine.holes) > MOST_ROWS:
        findings += _check_large(subject, prover)
        return Report(machine.name, name, vocabulary.name if vocabulary else None, tuple(summed_up(findings)))
    living, about_rules = find_living(subject, prover)
    findings += check_determinism(subject, prover, living.facts)
    findings += about_rules
    findings += check_holes(subject, living)
    findings += check_implied(subject, prover)
    findings += check_farming(subject, prover, living)
    findings += check_episode(subject, prover, living, horizon)
    return Report(machine.name, name, vocabulary.name if vocabulary else None, tuple(summed_up(findings)))


def _check_large(subject: Subject, prover: Prover) -> Iterator[Finding]:
    """Only pairs of rules. A rule below `otherwise` fires where none above does: what is asked grows with the square of their number."""
    if all(rule.tier == 0 for _, rule, _ in subject.machine.rules):
        yield from check_determinism(subject, prover, {node.name: () for node in subject.machine.nodes})
    of = f"{MOST_RULES} rules" if len(subject.machine.rules) > MOST_RULES else f"{MOST_ROWS} holes, atoms and spaces"
    message = f"not decided: a machine of more than {of} is not looked at any further"
    yield Finding("warning", "rules", "", message)


def refuse_unfit(machine: Machine, vocabulary: Vocabulary, constraint: str | None = None) -> None:
    """Refuses a constraint that allows nothing, and rules that can hold at one step: a run would end where they first do."""
    subject = subject_of(machine, vocabulary, constraint)
    contradiction = find_contradiction(subject)
    if contradiction:
        assert contradiction.witness is not None
        atoms = ", ".join(contradiction.witness.atoms)
        raise MachineError(
            f"machine {machine.name}, {contradiction.place}: cannot be met, since {atoms} contradict each other: "
            "change one of them"
        )
    prover = Prover(subject)
    findings = check_determinism(subject, prover, counter_facts(subject, prover))
    clashes = [
        f"machine {machine.name}, {clash.place}: {clash.message}" for clash in findings if clash.severity == "error"
    ]
    if clashes:
        raise MachineError(*clashes)


def compare(
    machine: Machine,
    other: Machine,
    vocabulary: Vocabulary | None = None,
    constraint: str | None = None,
    *,
    most_steps: int = MOST_STEPS,
    seconds: float = SECONDS,
) -> Report:
    """Whether both machines pay the same on every trace, for every assignment that the first one's constraint allows."""
    subject = subject_of(machine, vocabulary, constraint)
    if vocabulary is not None:
        require_words(other, vocabulary)
    contradiction = find_contradiction(subject)
    findings = [contradiction] if contradiction else list(check_against(subject, other, most_steps, seconds))
    name = subject.constraint.name if subject.constraint else None
    return Report(machine.name, name, vocabulary.name if vocabulary else None, tuple(findings), other.name)
