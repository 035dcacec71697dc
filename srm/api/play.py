"""What is played: demonstrations, environments for a learner of one's own, and what a reward pays for on given play."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from srm.api.named import Named, first_of, task_named
from srm.domains.base import Expert, Task
from srm.errors import TaskError
from srm.machine.model import Machine

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from srm.domains.play import ActOnAll, OpenEnvs
    from srm.evaluate.audit import Audit
    from srm.results import RunResult
    from srm.trajectory import Demonstrations, Rollout


def demonstrations(source: Task | Named, *, count: int | None = None, task: Task | str | None = None) -> Demonstrations:
    """Reads demonstrations: those that ship with a task, those of a file, or a dataset of Minari. `record` makes new ones.

    Args:
        source: A task or its name, for those that ship with it; the path of a file that `srm demo` or the studio wrote; or, which needs
            `task`, a `.json` or `.csv` file of seeds and actions, or a Minari dataset, as `"namespace/name-v0"`.
        count: Only the first so many.
        task: The task that they must show.
    """
    from srm.domains import demonstrations as demos

    known = None if task is None else task_named(task)
    if isinstance(source, Task):
        return first_of(demos.load(demos.shipped(source), source), count)
    path = Path(source)
    if path.suffix in (".json", ".csv"):
        from srm.domains.scripts import import_script

        if known is None:
            raise TaskError(f"{source} holds seeds and actions; name the task they are of: task=...")
        return first_of(import_script(path, known), count)
    if path.exists() or path.suffix == ".npz":
        return first_of(demos.load(path, known), count)
    if re.fullmatch(r".+/.+-v\d+", str(source)):
        from srm.domains.minari import import_minari

        if known is None:
            raise TaskError(f"{source} is a Minari dataset; name the task it shows: task=...")
        return first_of(import_minari(str(source), known), count)
    return demonstrations(task_named(str(source)), count=count)


def record(
    task: Task | str,
    count: int = 10,
    *,
    expert: Expert | None = None,
    seed: int = 0,
    noise: float = 0.0,
) -> Demonstrations:
    """Records demonstrations: whole episodes in which an expert succeeds.

    Args:
        task: Where it shows how it is done.
        count: How many episodes.
        expert: A function `plan(env)`, `act(observation)` or `act(env, observation)`, or a class that is made anew for every episode; the task's own
            unless given.
        seed: Decides the environments.
        noise: Share of the actions that are random, of an expert that acts step by step. Episodes that fail are left out.
    """
    from srm.domains.record import record as record_episodes
    from srm.evaluate.success import solved

    chosen = task_named(task)
    with_expert = chosen if expert is None else replace(chosen, expert=expert)
    return record_episodes(with_expert, count, seed, lambda trajectory: solved(chosen, trajectory), noise=noise)


def envs(task: Task | str | VectorEnv, count: int = 16, *, seed: int = 0) -> OpenEnvs:
    """Environments to play in, side by side, for a learner of your own. `srm.rollout` plays them.

    Args:
        task: A task or its name, for the environments that `srm.learn` plays too; or a vector of Gymnasium.
        count: How many; a vector has its own number.
        seed: Of their episodes.
    """
    from gymnasium.vector import VectorEnv

    from srm.domains.envs import GymnasiumEnvs
    from srm.domains.play import OpenEnvs

    return OpenEnvs(
        GymnasiumEnvs(task, seed) if isinstance(task, VectorEnv) else task_named(task).make_envs(count, seed)
    )


def rollout(envs: OpenEnvs, act: ActOnAll, steps: int = 128) -> Rollout:
    """Plays the next steps of every environment, which continue those of the rollout before.

    Args:
        envs: Of `srm.envs`.
        act: A function from what B environments observe, [B, ...], to an action for each, [B].
        steps: How many of each.
    """
    from srm.domains.play import OpenEnvs

    if not isinstance(envs, OpenEnvs):
        raise TaskError(f"{type(envs).__name__} are no environments of srm.envs; write srm.rollout(srm.envs(...), act)")
    return envs.rollout(act, steps)


def audit(
    subject: Demonstrations | RunResult | Task | Named,
    machine: Machine | Named | None = None,
    *,
    task: Task | str | None = None,
    info: Sequence[str] = (),
    frames: int = 10_240,
    seed: int = 0,
) -> Audit:
    """Counts which term of a reward dominates on given play, what is paid while the task's return stands still, and loops that pay.

    Args:
        subject: An environment or a task (random play), a run or its folder (its policy plays), or demonstrations or their file.
        machine: The reward, a machine with values; that of the run, or the environment's own terms in `info`, unless given.
        task: The task of the run, the demonstrations or the machine, if it is one of your own.
        info: Without a machine: the keys of `info` that are terms.
        frames: Steps of random play, or of the policy.
        seed: Of environments and actions.
    """
    from srm.results import RunResult
    from srm.runs.audit import AuditSettings
    from srm.runs.audit import audit as audit_play

    known = task
    if isinstance(subject, RunResult):
        known, subject = task or subject.task, subject.folder
    named = str(subject) if isinstance(subject, Path) else subject
    reward = str(machine) if isinstance(machine, Path) else machine
    return audit_play(AuditSettings(named, reward, known, tuple(info), frames, seed))
