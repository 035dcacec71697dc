"""Propose a machine: demonstrations that the flags name, random play beside them, the play of policies, and the proposal.

`proposed` in place of a machine's name asks for the same with the defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.registry import MODULES, domain_named, domain_of_id
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError, SettingError, TaskError, near
from srm.infer.posterior.infer import RANDOM_FRAMES, random_play
from srm.infer.propose.propose import Proposal, propose_machine
from srm.infer.propose.reading import read_demonstrations
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine
from srm.machine.vocabulary import INFO
from srm.runs.folder import policy_file
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Demonstrations

PROPOSED = "proposed"


@dataclass(frozen=True)
class Proposing:
    """What a machine is proposed for, and from what."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = ""
    """a task or one of its environments, as `srm tasks` lists them, or your own as PACKAGE.MODULE:NAME"""
    words: str | None = None
    """in place of a task: the vocabulary to read the demonstrations of --demos in; minigrid, or PACKAGE.MODULE:NAME"""
    demos: Path | None = None
    """file of demonstrations; those that ship with the package unless given"""
    count: Annotated[int | None, tyro.conf.arg(aliases=["-n"])] = None
    """use only the first so many demonstrations"""
    play: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")] = ()
    """let the policy of this run play: where it stands after a milestone and never gets to the next, there is a way back; may be repeated"""
    match: bool = False
    """where what is done must match what it leads to (the key has the door's colour), pay it anew in hindsight, and nothing else of its kind"""
    frames: int = RANDOM_FRAMES
    """steps of random play, and of each --play"""
    seed: int = 0
    """of environments and actions"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "frames")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")


@dataclass(frozen=True, eq=False)
class ProposalInputs:
    """What the flags name, read."""

    task: Task
    demonstrations: Demonstrations


def read_inputs(settings: Proposing) -> ProposalInputs:
    if settings.task and settings.words is not None:
        raise SettingError(
            f"{settings.task} has words of its own; name the task, or --words {settings.words}, not both"
        )
    if not settings.task and settings.words is None:
        raise SettingError(
            "name the task to propose a machine for (`srm tasks` lists them), or --words W and --demos FILE"
        )
    for folder in settings.play:
        policy_file(folder)  # refused if there is none
    task = find_task(settings.task) if settings.task else _task_in_words(settings.words or "", settings.demos)
    return ProposalInputs(task, demos.choose(task, settings.demos, settings.count))


def _task_in_words(words: str, path: Path | None) -> Task:
    """The task of a file in the words of a vocabulary: one that ships, or any environment that the vocabulary can be read in."""
    if ":" in words:
        return find_task(words)
    domain = domain_named(words)
    if domain is None:
        raise TaskError(
            f"there is no vocabulary {words}{near(words, MODULES)}; one of your own is named PACKAGE.MODULE:NAME"
        )
    if path is None:
        raise SettingError(f"--words {words}: name the demonstrations to read in these words (--demos FILE)")
    shows = demos.load(demos.find_file(path))
    if shows.vocabulary != domain.vocabulary.name and domain_of_id(shows.env_id) is not domain:
        raise DemonstrationError(
            f"{path} was recorded in {shows.env_id}, which has none of the words of {words}; name its own words or its task"
        )
    known = next((task for task in domain.tasks if task.name == shows.task), None)
    return known or replace(domain.tasks[0], name=shows.task, env_id=shows.env_id, machines=())


def propose_for(
    task: Task,
    demonstrations: Demonstrations,
    play: Sequence[Path] = (),
    seed: int = 0,
    frames: int = RANDOM_FRAMES,
    match: bool = False,
) -> Proposal:
    if task.vocabulary.name == INFO:
        raise DemonstrationError(
            f"{task.name} has words of `info` alone, which say what a step earns and not what a task consists of; write words for it (docs/own_task.md)"
        )
    demonstrated = demonstrations.as_rollout()
    random = random_play(task, demonstrated, seed, frames)
    runs = []
    if play:
        from srm.runs.policy_play import policy_play  # torch, which nothing else here needs

        runs = [policy_play(folder, task, demonstrations, demonstrated, seed, frames).rollout for folder in play]
    reading = read_demonstrations(demonstrations, task.event_reader(), task.solved, random.rollout, runs)
    return propose_machine(reading, task.name, demonstrations.env_id, match)


def machine_named(name: str | None, task: Task, demonstrations: Demonstrations, seed: int) -> Machine:
    """A file, a machine of the library, `proposed`, or (None) the first of the task."""
    if name == PROPOSED:
        return propose_for(task, demonstrations, seed=seed).machine
    return find_machine(name or task.first_machine, {task.vocabulary.name: task.vocabulary})
