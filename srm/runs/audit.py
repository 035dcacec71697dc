"""Whose play is audited, and by which reward: an environment with random play, a run with its policy, or demonstrations.

The reward is a machine's, by hole: the one that is named, or that of the run. Without a machine it is the numbers of `info` that the environment's own
reward is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from srm.domains.base import Task
from srm.domains.demonstrations import find_file, load
from srm.domains.info import is_machine_file, task_of
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, short_name
from srm.domains.terms import FRAMES, bare_task, info_terms, proposed_keys, random_rollout, summarise_terms
from srm.errors import DemonstrationError, TaskError
from srm.evaluate.audit import Audit, audit_terms, machine_terms
from srm.machine.checks.check import check
from srm.machine.dense import dense_rules
from srm.machine.language.parse import find_machine
from srm.machine.language.parse import load as load_machine
from srm.machine.model import Machine
from srm.runs.folder import LEARNT, MACHINE
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Demonstrations, Rollout

ENVS = 16


@dataclass(frozen=True)
class AuditSettings:
    """Whose play, by which reward."""

    subject: Demonstrations | Task | str
    machine: Machine | str | None = None  # None: that of the run, or no machine
    task: Task | str | None = None  # of the run, the demonstrations or the machine, if it is one of the user's own
    info: tuple[str, ...] = ()  # without a machine: the terms
    frames: int = FRAMES
    seed: int = 0

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "frames")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")


@dataclass(frozen=True, eq=False)
class AuditedPlay:
    task: Task  # with the words of the machine, if there is one
    rollout: Rollout
    player: str
    machine: Machine | None = None  # that of the run


def audit(settings: AuditSettings) -> Audit:
    given = _given_machine(settings.machine)
    played = _play(settings, given)
    machine = given or played.machine
    if machine is None:
        return _audit_info(settings, played)
    task = task_of(machine) if machine.info is not None else played.task
    event_reader = task.event_reader()
    terms, events = machine_terms(machine, event_reader, played.rollout)
    names = [event.name for event in task.vocabulary.events]
    warned = check(machine, task.vocabulary).of("farming", "warning") if not any(dense_rules(machine)) else ()
    warnings = [f"{finding.place}: {finding.message}" for finding in warned]
    label = f"machine {machine.name}"
    return audit_terms(played.rollout, terms, task.env_id, played.player, label, events, names, warnings)


def _audit_info(settings: AuditSettings, played: AuditedPlay) -> Audit:
    env_id = played.task.env_id
    known = info_terms(env_id, played.rollout, settings.info)
    chosen = {key: known[key] for key in (settings.info or proposed_keys(tuple(known)))}
    measured = summarise_terms(env_id, played.rollout, chosen)
    weights = {term.name: term.weight if term.weight is not None else 1.0 for term in measured.terms}
    pays = {key: weights[key] * np.nan_to_num(numbers) for key, numbers in chosen.items()}
    label = "the reward" if measured.is_sum else "the sum of these terms, which is not the reward,"
    return audit_terms(played.rollout, pays, env_id, played.player, label)


def _given_machine(given: Machine | str | None) -> Machine | None:
    return find_machine(given) if isinstance(given, str) else given


# Who plays


def _play(settings: AuditSettings, machine: Machine | None) -> AuditedPlay:
    if isinstance(settings.subject, Demonstrations):
        return _of_demonstrations(settings.subject, "the demonstrations", settings, machine)
    if isinstance(settings.subject, Task):
        return _at_random(settings.subject, settings)
    path = Path(settings.subject)
    if path.is_dir():
        return _of_run(path, settings)
    if path.suffix == ".npz" or (settings.subject in FAMILIES and settings.task is None):
        return _of_demonstrations(load(find_file(path)), str(path), settings, machine)
    return _at_random(_task_of_env(settings.subject, settings.task, machine), settings)


def _at_random(task: Task, settings: AuditSettings) -> AuditedPlay:
    return AuditedPlay(task, random_rollout(task, settings.seed, settings.frames), "random play")


def _of_demonstrations(
    demos: Demonstrations, where: str, settings: AuditSettings, machine: Machine | None
) -> AuditedPlay:
    if settings.task is not None:
        task = _named(settings.task)
    elif demos.task in FAMILIES:
        task = FAMILIES[demos.task]
    elif machine is None or machine.info is not None:
        task = bare_task(demos.env_id)
    else:
        raise DemonstrationError(
            f"{where}: shows the task {demos.task}, which does not ship; name it: --task PACKAGE.MODULE:NAME"
        )
    return AuditedPlay(task, demos.as_rollout(), f"{len(demos)} demonstrations")


def _of_run(folder: Path, settings: AuditSettings) -> AuditedPlay:
    from srm.rl.rollout import Player  # torch, which nothing else here needs
    from srm.rl.threads import one_thread
    from srm.runs.policy import read_policy

    trained = read_policy(folder, settings.task)
    task = trained.environment(None)
    envs = task.make_envs(ENVS, settings.seed)
    try:
        net = trained.net(envs)
        with one_thread():
            rollout = Player(envs, net, max(1, settings.frames // envs.count), settings.seed).collect().rollout
    finally:
        envs.close()
    kept = next((folder / name for name in (LEARNT, MACHINE) if (folder / name).exists()), None)
    return AuditedPlay(task, rollout, f"the policy of {folder}", None if kept is None else load_machine(kept))


def _task_of_env(name: str, given: Task | str | None, machine: Machine | None) -> Task:
    if given is not None:
        return _named(given)
    known = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
    if ":" in name or is_machine_file(name) or name in known or name in map(short_name, known):
        return find_task(name)
    if machine is not None and machine.info is None:
        raise TaskError(f"machine {machine.name} has words that {name} alone does not give; name its task with --task")
    return bare_task(name)


def _named(task: Task | str) -> Task:
    return task if isinstance(task, Task) else find_task(task)
