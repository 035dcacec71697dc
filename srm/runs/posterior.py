"""Infer the holes of a machine from demonstrations and play, and keep what came of it in a folder.

    config.json            what was asked for, and the versions that did it
    machine.srm            the machine with its holes open
    demonstrations.npz     those it was inferred from
    learnt.srm             the machine with values and spreads, held to its constraint and the atoms against farming
    posterior.json         what is known of each hole, and why
    draws.safetensors      draws of the posterior and of the prior
    report.html            all of it to look at

Nothing is trained. The folder appears whole, when everything is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.info import task_of
from srm.domains.preferences import Preferences, play_again, read_preferences
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, OWN, find_task, short_name
from srm.errors import MachineError, SettingError, TaskError, near
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.infer import RANDOM_FRAMES, Posterior, first_plays, infer
from srm.infer.posterior.sample import PosteriorConfig
from srm.infer.posterior.store import draws_bytes, to_json
from srm.installed import additions
from srm.machine.checks.check import refuse_unfit
from srm.machine.holes import Constraint
from srm.machine.language.parse import find_machine, library
from srm.machine.model import Machine, held_to
from srm.runs.config import to_plain
from srm.runs.folder import (
    CONFIG,
    DEMONSTRATIONS,
    DRAWS,
    LEARNT,
    MACHINE,
    POSTERIOR,
    config_json,
    create_folder,
    policy_file,
    refuse_taken,
)
from srm.runs.origin import origin, stepped_by
from srm.runs.proposal import machine_named
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Demonstrations, Rollout

KIND = "infer"
NO_CONSTRAINT = "none"


@dataclass(frozen=True)
class Inference:
    """What is inferred, and from what."""

    subject: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MACHINE|TASK")] = ""
    """a machine (a file, or a name of the library), or a task, whose first machine is taken"""
    machine: str | None = None
    """beside a task: the machine whose holes are inferred, whatever values it has for them; `proposed`: one that is read from the
    demonstrations (`srm propose`)"""
    task: str | None = None
    """beside a machine: the task it is for; unless given that of --demos, or the one that ships with the machine"""
    constraint: str | None = None
    """which of the machine's constraints must hold, or none; its first unless given"""
    demos: Path | None = None
    """file of demonstrations; those that ship with the package unless given"""
    count: Annotated[int | None, tyro.conf.arg(aliases=["-n"])] = None
    """use only the first so many demonstrations"""
    play: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], tyro.conf.arg(metavar="RUN|DEMOS")] = ()
    """let the policy of this run play too, beside random play, or somebody whose demonstrations these are: what they do and demonstrators do not is evidence; may be repeated"""
    preferences: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """answers about pairs of episodes, as the studio writes them: evidence too"""
    frames: int = RANDOM_FRAMES
    """steps of random play, and of each --play; where nearly every step may pay, fewer of them are read"""
    seed: int = 0
    """of environments, actions and draws"""
    allow_farming: bool = False
    """leave out the atoms that forbid loops which could be repeated without end for gain"""
    posterior: PosteriorConfig = field(default_factory=PosteriorConfig)

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "frames")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the flags name, read."""

    task: Task
    machine: Machine  # with its holes open
    constraint: Constraint | None
    demonstrations: Demonstrations
    preferences: Preferences | None = None
    rivals: Mapping[Path, Demonstrations] = field(default_factory=dict)  # of --play, but for runs


def read_inputs(settings: Inference) -> Inputs:
    """Refuses what cannot be inferred."""
    task, machine = _task_and_machine(settings)
    machine = machine.opened()
    if not machine.holes:
        raise MachineError(f"machine {machine.name} has no holes to infer; train on it with `srm train --reward`")
    refuse_unfit(machine, task.vocabulary, settings.constraint)
    constraint = None if settings.constraint == NO_CONSTRAINT else machine.constraint(settings.constraint)
    answers = None if settings.preferences is None else read_preferences(settings.preferences, task)
    return Inputs(
        task,
        machine,
        constraint,
        demos.choose(task, settings.demos, settings.count),
        answers,
        read_rivals(settings.play, task),
    )


def read_rivals(named: Sequence[Path], task: Task) -> dict[Path, Demonstrations]:
    """Those of --play that are demonstrations; a run without a policy is refused."""
    for folder in named:
        if folder.is_dir():
            policy_file(folder)
    return {rival: demos.choose(task, rival, None) for rival in named if not rival.is_dir()}


def _task_and_machine(settings: Inference) -> tuple[Task, Machine]:
    name = settings.subject
    if _is_task(name):
        if settings.task is not None:
            raise SettingError(
                f"{name} is a task, so --task would change nothing; leave it out, or name a machine first"
            )
        task = find_task(name)
        demonstrations = demos.choose(task, settings.demos, settings.count)
        return task, machine_named(settings.machine, task, demonstrations, settings.seed)
    _refuse_unknown(name)
    if settings.machine is not None:
        raise SettingError(
            f"{name} is a machine, so --machine would change nothing; leave it out, or name a task first"
        )
    task = _task_of(settings)
    return task, find_machine(name, {task.vocabulary.name: task.vocabulary})


def _task_names() -> list[str]:
    ids = [env_id for family in ENVIRONMENTS.values() for env_id in family]
    return [*FAMILIES, *ids, *map(short_name, ids), *additions()]


def _is_task(name: str) -> bool:
    return (":" in name and not Path(name).exists()) or name in _task_names()


def _refuse_unknown(name: str) -> None:
    if not name:
        raise SettingError("name a machine or a task (`srm tasks` lists tasks and their machines)")
    if not (Path(name).exists() or name.endswith(".srm") or name in library()):
        known = [*_task_names(), *library()]
        raise TaskError(
            f"{name}: neither a task (`srm tasks` lists them), nor a machine of the library, nor a file{near(name, known) or f'; {OWN}'}"
        )


def _task_of(settings: Inference) -> Task:
    """The task of a machine."""
    if settings.task is not None:
        return find_task(settings.task)
    machine = find_machine(settings.subject)
    if machine.info is not None:
        return task_of(machine, settings.subject)
    if settings.demos is not None:
        demonstrations, family = demos.load_with_task(settings.demos, None)
        return find_task(demonstrations.env_id) if demonstrations.env_id in ENVIRONMENTS[family.name] else family
    for task in FAMILIES.values():
        if machine.name in task.machines:
            return task
    if machine.words in additions():
        return find_task(machine.words or "")
    raise TaskError(
        f"machine {machine.name} is of no task that ships; name its task with --task TASK, or demonstrations with --demos FILE"
    )


def infer_holes(settings: Inference, inputs: Inputs) -> Posterior:
    demonstrated, answers = inputs.demonstrations.as_rollout(), inputs.preferences
    first = first_plays(inputs.machine, settings.posterior, inputs.task, demonstrated, settings.seed, settings.frames)
    # How likely somebody's actions were is not known; as likely as any others is what is assumed.
    uniform = float(first[0].log_prob[0, 0])
    rivals = [
        Play(rollout, np.full(rollout.valid.shape, uniform), np.full(demonstrated.valid.shape, uniform))
        for rollout in (rival.as_rollout() for rival in inputs.rivals.values())
    ]
    plays = [*first, *rivals, *_policy_plays(settings, inputs, demonstrated)]
    return infer(
        inputs.machine,
        inputs.constraint,
        inputs.task.event_reader(),
        demonstrated,
        plays,
        settings.posterior,
        seed=settings.seed,
        allow_farming=settings.allow_farming,
        compared=None if answers is None else (answers, play_again(answers, inputs.task)),
    )


def _policy_plays(settings: Inference, inputs: Inputs, demonstrated: Rollout) -> list[Play]:
    runs = [rival for rival in settings.play if rival not in inputs.rivals]
    if not runs:
        return []
    from srm.runs.policy_play import policy_play  # torch, which nothing else here needs

    demonstrations = inputs.demonstrations
    return [
        policy_play(folder, inputs.task, demonstrations, demonstrated, settings.seed, settings.frames)
        for folder in runs
    ]


def write_inference(folder: Path, settings: Inference, inputs: Inputs, posterior: Posterior) -> None:
    """Everything but the page."""
    refuse_taken(folder, resumable=False)
    demonstrations = inputs.demonstrations
    summary = to_json(posterior, inputs.task.event_reader(), demonstrations.trajectories)
    texts = {
        CONFIG: config_json(
            {"kind": KIND, "inference": to_plain(settings), **origin(inputs.task.env_id, stepped_by(inputs.task))}
        ),
        MACHINE: str(inputs.machine),
        LEARNT: str(held_to(posterior.concrete, posterior.constraint)),
        POSTERIOR: json.dumps(summary) + "\n",
    }

    def fill(part: Path) -> None:
        part.joinpath(DRAWS).write_bytes(draws_bytes(posterior))
        demos.save(demonstrations, part / DEMONSTRATIONS)

    create_folder(folder, texts, fill)


def free_folder(settings: Inference, inputs: Inputs) -> Path:
    """runs/TASK-MACHINE-infer-seedN, with a number if that is taken."""
    task = inputs.task
    is_default = task.name not in FAMILIES or task.env_id == FAMILIES[task.name].env_id
    name = task.name if is_default else short_name(task.env_id)
    folder = Path("runs") / f"{name}-{inputs.machine.name}-infer-seed{settings.seed}"
    others = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())
