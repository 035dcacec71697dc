"""Structure from traces: state merging (AALpy's RPNI and EDSM) beside the milestones of `srm propose`, on the same demonstrations.

    pip install aalpy
    python benchmarks/propose.py [--tasks doorkey keycorridor ...] [--noise 0.33] [--out FOLDER]

State merging gets the ten demonstrations that ship (or as many of a wandering expert) as accepted words, and their beginnings and the episodes of random play as
rejected ones. Its automaton becomes a machine: a node for each state, and each transition pays a hole of its event, positive, with the
end worth most. For each way: nodes, how many of 20 new demonstrations end at an accepting node, how many of 20 by an expert a third of whose
actions are random, what `srm check` warns of, and how many loops no atom forbids. --out keeps the machines, to train on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from aalpy.learning_algs import run_EDSM, run_RPNI  # no dependency of the package

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.minigrid.habits import record_with
from srm.domains.record import record
from srm.domains.tasks import FAMILIES, find_task
from srm.evaluate.reference import Walk, happenings
from srm.infer.posterior.infer import random_play
from srm.infer.propose.propose import Proposal, propose_machine
from srm.infer.propose.reading import Account, read_demonstrations
from srm.machine.checks.check import check, forbid_farming
from srm.machine.holes import Hole
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary
from srm.trajectory import Demonstrations, as_rollout

NEW = 20


def words_of(account: Account) -> list[list[object]]:
    """Labelled words: solved demonstrations, their beginnings, and random episodes."""
    accepted = [story.names for story in account.solved]
    rejected = {word[:n] for word in accepted for n in range(len(word))} - set(accepted)
    rejected |= {story.names for story in account.random.stories} if account.random else set()
    return [[word, True] for word in dict.fromkeys(accepted)] + [
        [word, False] for word in sorted(rejected - set(accepted))
    ]


def machine_of(automaton, end: str, vocabulary: Vocabulary) -> Machine:  # type: ignore[no-untyped-def]
    """A node for each state; an event that a state does not know stays. What is seen yields to what is done."""
    names = {state.state_id: f"q{n}" for n, state in enumerate(automaton.states)}
    events = sorted({event for state in automaton.states for event in state.transitions})
    lines = ["machine merged", f"words {vocabulary.name}", "holes", *(f"    ?{event} in 0 .. 5" for event in events)]
    for state in automaton.states:
        kinds = ["start"] * (state is automaton.initial_state) + ["accept"] * bool(state.is_accepting)
        lines.append(f"{' '.join(kinds or ['node'])} {names[state.state_id]}")
        acts = [event for event in state.transitions if event in vocabulary.acts]
        for event in [*acts, *(event for event in state.transitions if event not in acts)]:
            other = state.transitions[event]
            lines += ["    otherwise"] * (event not in acts and bool(acts))
            target = "" if other is state else f" -> {names[other.state_id]}"
            lines.append(f"    {event} // ?{event}{target}")
    lines += ["constraint", f'    "the end is worth most" every hole <= ?{end}']
    return parse("\n".join(lines))


def reached(machine: Machine, task: Task, recorded: Demonstrations) -> int:
    """How many of the demonstrations end at an accepting node."""
    values = {hole.name: _middle(hole) for hole in machine.holes}
    reader, accepted = task.event_reader(), 0
    for trajectory in recorded.trajectories:
        walk = Walk(machine, reader.vocabulary, values)
        for (happened,) in happenings(reader.read(as_rollout([trajectory])), reader.vocabulary):
            walk.step(happened, {})
        accepted += machine.node(walk.node).accepting
    return accepted


def _middle(hole: Hole) -> float:
    assert hole.space is not None
    return round((hole.space.low + hole.space.high) / 2)


def rows(task: Task, recorded: Demonstrations, out: Path | None) -> Iterator[Sequence[object]]:
    play = random_play(task, recorded.as_rollout(), 0).rollout
    account = read_demonstrations(recorded, task.event_reader(), task.solved, play)
    proposal: Proposal = propose_machine(account, task.name, recorded.env_id)
    data, vocabulary = words_of(account), account.vocabulary
    machines = {"milestones": proposal.machine}
    for name, learn in (("RPNI", run_RPNI), ("EDSM", run_EDSM)):
        automaton = learn(data, automaton_type="dfa", print_info=False)
        machines[name] = machine_of(automaton, proposal.structure.end or "", vocabulary)
    clean, wandering = record(task, NEW, 1), record_with(task, NEW, 1, habit=None, noise=0.33)
    for name, machine in machines.items():
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{task.name}_{name}.srm").write_text(str(machine))
        report = check(machine, vocabulary)
        open_loops = len(forbid_farming(machine, vocabulary, machine.constraint()).unproved)
        yield (
            task.name,
            name,
            len(machine.nodes),
            f"{reached(machine, task, clean)} of {NEW}",
            f"{reached(machine, task, wandering)} of {NEW}",
            report.count("error") + report.count("warning"),
            open_loops,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(FAMILIES))
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    print(
        "| task | structure | nodes | new demonstrations accepted | wandering ones | warnings | loops no atom forbids |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for name in given.tasks:
        task = find_task(name)
        recorded = (
            record_with(task, 10, 0, habit=None, noise=given.noise) if given.noise else demos.load(demos.shipped(task))
        )
        for row in rows(task, recorded, given.out):
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
