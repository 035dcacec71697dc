"""From a account to a machine that is proved: the richest sketch that `srm check` has nothing to say against.

    account -> structure -> sketch -> text -> machine -> checks
                              ^------- less ------|

Where a loop could be farmed the atom that forbids it is added. Where that is not enough the sketch does without something: first
undoing leads nowhere, then it costs nothing, then no stretch is done again. What is left has no loop that pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from srm.errors import DemonstrationError
from srm.infer.propose.reading import Account
from srm.infer.propose.sketch import AtomPlan, Options, Sketch, draw_sketch
from srm.infer.propose.stages import find_again
from srm.infer.propose.structure import Structure, find_structure, of_all
from srm.infer.propose.text import Wording, sketch_text
from srm.machine.checks.check import Report, check, forbid_farming
from srm.machine.language.parse import parse
from srm.machine.model import Machine


@dataclass(frozen=True, eq=False)
class Proposal:
    """A machine that nobody wrote."""

    machine: Machine  # with its holes open
    text: str  # of the machine, with comments
    explanation: str  # what was considered, and why it was left out
    account: Account
    structure: Structure
    report: Report  # of the checks: no errors, no warnings

    @property
    def summary(self) -> str:
        nodes, holes = len(self.machine.nodes), len(self.machine.holes)
        return f"{nodes} nodes, {holes} holes; srm check: no errors, no warnings, {self.report.count('note')} notes"

    def __str__(self) -> str:
        return self.text


def propose_machine(account: Account, task: str, env_id: str) -> Proposal:
    """The machine for a task, from what was demonstrated in an environment."""
    refuse_nothing(account)
    structure = find_structure(account)
    wording = {event.name: Wording(event.name, event.act) for event in account.vocabulary.events}
    if not structure.ways[0].skeleton:
        raise DemonstrationError(
            f"the {of_all(len(account.solved), len(account.solved))} of {task} that solve it have no event in common that would be a "
            "milestone; record more of them, or give the vocabulary words for what they do"
        )
    heading = _heading(account, structure, task, env_id)
    remarks = [*structure.remarks]
    for options in _ladder(structure, account):
        sketch = draw_sketch(structure, account.vocabulary, options)
        proved = _prove(sketch, f"{task}_proposed", wording, heading, account)
        if proved is not None:
            text, machine, report = proved
            return Proposal(machine, text, "\n".join(remarks) + "\n", account, structure, report)
        remarks.append(f"{options}: could not be proved, so the machine does with less")
    raise AssertionError("a machine without loops was not proved")


def refuse_nothing(account: Account) -> None:
    """Too little to go by gets a sentence."""
    total = len(account.stories)
    if not account.solved:
        raise DemonstrationError(
            f"none of {total} demonstrations solves the task, so nothing says what it is about; record some that do"
        )
    if not any(story.occurrences for story in account.solved) and not account.vocabulary.signals:
        raise DemonstrationError(
            f"no event of the vocabulary {account.vocabulary.name} happens in the demonstrations; use the task's own vocabulary, "
            "or add words for what they do"
        )


def _heading(account: Account, structure: Structure, task: str, env_id: str) -> list[str]:
    solved, total = len(account.solved), len(account.stories)
    which = "" if solved == total else f", {solved} of which solve it"
    ways = [", ".join(way.skeleton) for way in structure.ways]
    return [
        f"Proposed from {total} demonstration{'s' * (total != 1)} of {task} in {env_id}{which}.",
        *(ways if len(ways) == 1 else [f"Way {n}: {way}" for n, way in enumerate(ways, start=1)]),
    ]


def _ladder(structure: Structure, account: Account) -> Iterator[Options]:
    """What a sketch may use, less and less."""
    again = tuple(find_again(way, account.vocabulary) for way in structure.ways)
    never = tuple(None for _ in structure.ways)
    for places in dict.fromkeys((again, never)):
        full = Options(places)
        yield from (full, replace(full, back=False), replace(full, undo=False))


def _prove(
    sketch: Sketch, name: str, wording: Mapping[str, Wording], heading: list[str], account: Account
) -> tuple[str, Machine, Report] | None:
    """The text with the atoms against farming, if nothing is left to warn of."""
    vocabulary = account.vocabulary
    known = {vocabulary.name: vocabulary}
    machine = parse(sketch_text(sketch, name, vocabulary.name, wording, heading), known)
    forbidden = forbid_farming(machine, vocabulary, machine.constraint())
    if forbidden.unproved:
        return None
    atoms = (AtomPlan(atom.label or "no gain", str(replace(atom, label=None))) for atom in forbidden.atoms)
    text = sketch_text(replace(sketch, atoms=(*sketch.atoms, *atoms)), name, vocabulary.name, wording, heading)
    machine = parse(text, known)
    report = check(machine, vocabulary)
    return None if report.count("error") or report.count("warning") else (text, machine, report)
