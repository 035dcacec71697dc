"""From an account of demonstrations to a machine that is proved: the richest sketch that `srm check` has nothing to say against.

    account -> structure -> sketch -> text -> machine -> checks
                              ^------- less ------|

Where a loop could be farmed the atom that forbids it is added. Where that is not enough the sketch does without something: first nothing is
paid anew in hindsight, then undoing costs nothing, then no stretch is done again, then only milestones pay, and no loop is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from srm.errors import DemonstrationError, MachineError
from srm.infer.propose.again import Again, find_again
from srm.infer.propose.attributes import Match, find_guards, find_matches
from srm.infer.propose.explanation import explain, unmatched
from srm.infer.propose.reading import Account
from srm.infer.propose.signals import Threshold, find_thresholds, with_thresholds
from srm.infer.propose.sketch import AtomPlan, HolePlan, Options, Sketch, draw_sketch
from srm.infer.propose.structure import Structure, find_structure
from srm.infer.propose.text import Wording, sketch_text
from srm.machine.checks.check import Report, check, forbid_farming
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Proposal:
    """A machine that nobody wrote."""

    machine: Machine  # with its holes open
    text: str  # of the machine, with comments
    explanation: str  # what was considered, and why it was left out
    account: Account  # of the demonstrations and of play, thresholds of signals among the events
    structure: Structure
    report: Report  # of the checks: no errors, no warnings

    @property
    def summary(self) -> str:
        nodes, holes = len(self.machine.nodes), len(self.machine.holes)
        return f"{nodes} nodes, {holes} holes; srm check: no errors, no warnings, {self.report.count('note')} notes"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.machine._repr_html_()


def propose_machine(account: Account, task: str, env_id: str, match: bool = False) -> Proposal:
    """The machine for a task, from what was demonstrated in an environment. `match`: equal attributes are asked for, in hindsight."""
    vocabulary = account.vocabulary
    refuse_nothing(account)
    thresholds, about_signals = find_thresholds(account)
    account = with_thresholds(account, thresholds)
    structure = find_structure(account, [threshold.event for threshold in thresholds])
    refuse_no_milestone(structure, task)
    refuse_no_end(structure, task)
    events = tuple(dict.fromkeys(event for way in structure.ways for event in way.events))
    guards, about_attributes = find_guards(account, events)
    matches = find_matches(account, events)
    wanted = tuple(each for each in matches if each.broken) if match else ()
    again, about_again = _ways_back(structure, account)
    subject = _Subject(
        _named(task),
        vocabulary,
        _wording(account, thresholds, guards),
        _heading(account, structure, task, env_id),
    )
    holes = {threshold.event: threshold.hole for threshold in thresholds}
    tried: list[str] = []
    for options in _ladder(again, wanted):
        sketch = draw_sketch(structure, account.vocabulary, options, holes)
        if options.matches and not any(rule.repays for rule in sketch.rules):
            continue  # nothing of it can be asked for
        try:
            proved = subject.prove(sketch)
        except (
            MachineError
        ) as problem:  # holes and counters get names made of those of events, and an event may have one of these
            what = re.sub(r"^<text>:\d+:\d+: ", "", problem.problems[0].splitlines()[0])
            raise DemonstrationError(
                f"an event of vocabulary {vocabulary.name} is called as the proposal for {task} calls something of its own: {what}"
            ) from None
        if isinstance(proved, str):
            tried.append(f"{options} is not proved: {proved}")
            continue
        about_matches = tuple(unmatched(matches, sketch, wanted))
        ruled = {rule.event for rule in sketch.rules}
        unused = (why for event, why in structure.unused.items() if event not in ruled)
        remarks = (*structure.remarks, *unused, *about_signals, *about_attributes, *about_matches, *about_again)
        explanation = explain(account, structure, sketch, options.again, remarks, (*tried, *proved.added))
        return Proposal(proved.machine, proved.text, explanation, account, structure, proved.report)
    raise DemonstrationError(
        f"no machine for {task} that the demonstrations suggest could be proved ({proved}); read them in a vocabulary of fewer words"
    )


def _named(task: str) -> str:
    """A name that a machine may have."""
    name = re.sub(r"\W", "_", f"{task}_proposed", flags=re.ASCII)
    return f"task_{name}" if name[0].isdigit() else name


def refuse_nothing(account: Account) -> None:
    """Too little to go by gets a sentence."""
    if not account.solved:
        raise DemonstrationError(
            f"none of {len(account.stories)} demonstrations solves the task, so nothing says what it asks for; record some that do"
        )
    if not any(story.occurrences for story in account.solved) and not account.vocabulary.signals:
        raise DemonstrationError(
            f"no event of vocabulary {account.vocabulary.name} happens in the demonstrations; add words for what they do"
        )


def refuse_no_milestone(structure: Structure, task: str) -> None:
    if not any(way.skeleton for way in structure.ways):
        raise DemonstrationError(
            f"the demonstrations of {task} have no event in common that random play does not have as often; record more of them, "
            "or add words for what they do"
        )


def refuse_no_end(structure: Structure, task: str) -> None:
    """Where no event ends the demonstrations the last milestone has to, and that is one of several that all of them reach, in any order."""
    for way in structure.ways if structure.end is None else ():
        if lost := sorted(way.common - set(way.skeleton)):
            raise DemonstrationError(
                f"no event ends the demonstrations of {task}, and {', '.join(sorted({*lost, way.skeleton[-1]}))} come in any order, so nothing "
                "says when the task is done; add a word for its end"
            )


def _heading(account: Account, structure: Structure, task: str, env_id: str) -> list[str]:
    solved, total = len(account.solved), len(account.stories)
    which = "" if solved == total else f", {solved} of which solve it"
    ways = [", ".join(way.skeleton) for way in structure.ways]
    return [
        f"Proposed from {total} demonstration{'s' * (total != 1)} of {task} in {env_id}{which}.",
        *(ways if len(ways) == 1 else [f"Way {n}: {way}" for n, way in enumerate(ways, start=1)]),
    ]


def _wording(account: Account, thresholds: Sequence[Threshold], guards: Mapping[str, str]) -> dict[str, Wording]:
    wording = {
        event.name: Wording(guards.get(event.name, event.name), event.act) for event in account.vocabulary.events
    }
    for threshold in thresholds:
        hole = HolePlan(threshold.hole, threshold.low, threshold.high)
        wording[threshold.event] = Wording(threshold.guard, act=False, threshold=hole)
    return wording


def _ways_back(structure: Structure, account: Account) -> tuple[tuple[Again | None, ...], tuple[str, ...]]:
    answers = [find_again(way, account.vocabulary, account.runs) for way in structure.ways]
    return tuple(again for again, _ in answers), tuple(
        dict.fromkeys(remark for _, remarks in answers for remark in remarks)
    )


def _ladder(again: tuple[Again | None, ...], matches: tuple[Match, ...]) -> Iterator[Options]:
    """What a sketch may use, less and less."""
    nowhere = tuple(None for _ in again)
    for some in dict.fromkeys([matches, *((match,) for match in matches)]):
        if some:
            yield Options(again, matches=some)
    for places in dict.fromkeys((again, nowhere)):
        full = Options(places)
        yield from (full, replace(full, undo=False))
    yield Options(nowhere, undo=False, besides=False)


# Proofs


@dataclass(frozen=True, eq=False)
class _Proved:
    text: str
    machine: Machine
    report: Report
    added: tuple[str, ...]  # sentences about atoms


@dataclass(frozen=True, eq=False)
class _Subject:
    """What all sketches of a proposal have in common."""

    name: str
    vocabulary: Vocabulary
    wording: Mapping[str, Wording]
    heading: Sequence[str]

    def prove(self, sketch: Sketch) -> _Proved | str:
        """The machine with the atoms against farming, or why there is something left to warn of."""
        machine = self._machine(self._text(sketch))
        forbidden = forbid_farming(machine, self.vocabulary, machine.constraint())
        if forbidden.unproved:
            return forbidden.unproved[0]
        atoms = [
            AtomPlan(_label(loop), str(replace(atom, label=None)))
            for atom, loop in zip(forbidden.atoms, forbidden.loops, strict=True)
        ]
        text = self._text(replace(sketch, atoms=(*sketch.atoms, *atoms)))
        machine = self._machine(text)
        report = check(machine, self.vocabulary)
        wrong = [finding for finding in report.findings if finding.severity != "note"]
        if wrong:
            return f"{wrong[0].place}: {wrong[0].message}"
        added = tuple(
            f"{atom.text}: added, since otherwise {loop} could be repeated for gain"
            for atom, loop in zip(atoms, forbidden.loops, strict=True)
        )
        return _Proved(text, machine, report, added)

    def _text(self, sketch: Sketch) -> str:
        return sketch_text(sketch, self.name, self.vocabulary.name, self.wording, self.heading)

    def _machine(self, text: str) -> Machine:
        return parse(text, {self.vocabulary.name: self.vocabulary})


def _label(loop: str) -> str:
    """`node before_goal: pick_up_key, drop_key` as a person would say it."""
    place, _, moves = loop.partition(": ")
    return (
        f"nothing is gained by {moves.replace(', ', ' and ', 1)}"
        if moves.count(",") < 3
        else f"nothing is gained by going round at {place}"
    )
