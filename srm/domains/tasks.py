"""The tasks: where each is played, in what words, with which machines, and who can show how it is done. Data only.

A task is named by its family (`doorkey`) or by one of its environments (`DoorKey-16x16`, or EnvPool's and Gymnasium's
`MiniGrid-DoorKey-16x16-v0`). Your own is a `Task` in an installed module of yours, named `package.module:task`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import SettingError, TaskError, near
from srm.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    import gymnasium

    from srm.domains.base import EventReader
    from srm.domains.envs import Envs
    from srm.trajectory import Trajectory

Stepping = Literal["auto", "gymnasium", "envpool"]  # who is asked to step the envs
Expert = Callable[[Any], list[int] | None]  # the actions that solve a Gymnasium environment; None: nothing does


def _envs(env_id: str, count: int, seed: int, stepping: Stepping = "auto") -> Envs:
    from srm.domains.envs import make_envs

    return make_envs(env_id, count, seed, stepping)


def _environment(env_id: str) -> gymnasium.Env:
    from srm.domains.envs import make_environment

    return make_environment(env_id)


@dataclass(frozen=True)
class Task:
    """One row. The callables import what they need when they are called, so that the table can be read at once."""

    name: str
    meaning: str
    env_id: str
    vocabulary: Vocabulary
    event_reader: Callable[[], EventReader]
    machines: tuple[str, ...]  # files of srm/machine/library, without .srm
    expert: Expert | None  # None: demonstrations come from elsewhere
    frames: int  # to train for, unless told otherwise
    envs: Callable[[str, int, int], Envs] = _envs  # (environment, how many, seed), to train in
    environment: Callable[[str], gymnasium.Env] = _environment  # one, to record and replay in
    success: Callable[[Trajectory], bool] | None = None  # None: the task ended the episode with a return above 0

    def solved(self, trajectory: Trajectory) -> bool:
        """Whether an episode counts as a success."""
        if self.success is not None:
            return self.success(trajectory)
        return trajectory.terminated and trajectory.total_reward > 0

    def make_envs(self, count: int, seed: int) -> Envs:
        return self.envs(self.env_id, count, seed)

    def using(self, stepping: Stepping) -> Task:
        """The same task with its envs stepped by somebody who was asked for."""
        if stepping == "auto":
            return self
        if self.envs is not _envs:
            raise SettingError(
                f"--envs {stepping} would change nothing: {self.name} makes envs of its own; leave --envs out"
            )
        return replace(self, envs=partial(_envs, stepping=stepping))


def _minigrid(target: str | None) -> EventReader:
    from srm.domains.minigrid.events import MiniGrid

    return MiniGrid(target)


def _plan(target: str | None, env: Any) -> list[int] | None:
    from srm.domains.minigrid.expert import plan

    return plan(env, target)


def minigrid_task(target: str | None, **row: Any) -> Task:
    return Task(
        vocabulary=MINIGRID_WORDS, event_reader=partial(_minigrid, target), expert=partial(_plan, target), **row
    )


FAMILIES = {
    task.name: task
    for task in (
        minigrid_task(
            None,
            name="doorkey",
            meaning="take the key, unlock the door, reach the goal",
            env_id="MiniGrid-DoorKey-8x8-v0",
            machines=("doorkey", "doorkey_handset"),
            frames=1_000_000,
        ),
        minigrid_task(
            "ball",
            name="keycorridor",
            meaning="find the key behind closed doors, unlock the door, put the key down, take the ball",
            env_id="MiniGrid-KeyCorridorS3R3-v0",
            machines=(
                "keycorridor",
                "keycorridor_rm",
                "keycorridor_handset",
                "keycorridor_revised",
                "keycorridor_sound",
            ),
            frames=4_000_000,
        ),
        minigrid_task(
            "blue ball",
            name="obstructedmaze",
            meaning="clear the doors of balls, take keys out of boxes, unlock doors, find and take the blue ball",
            env_id="MiniGrid-ObstructedMaze-2Dlhb-v1",
            machines=(
                *(f"obstructedmaze_{number}" for number in (1, 2, 3, 4)),
                *(f"obstructedmaze_{number}_handset" for number in (1, 2, 3, 4)),
            ),
            frames=15_000_000,
        ),
    )
}

# In v0 of the last four a ball can stand where the box with the key was put, and some layouts have no solution.
ENVIRONMENTS = {
    "doorkey": tuple(f"MiniGrid-DoorKey-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    "keycorridor": tuple(f"MiniGrid-KeyCorridor{size}-v0" for size in ("S3R1", "S3R2", "S3R3", "S4R3", "S5R3", "S6R3")),
    "obstructedmaze": (
        *(f"MiniGrid-ObstructedMaze-{size}-v0" for size in ("1Dl", "1Dlh", "1Dlhb", "2Dl", "2Dlh")),
        *(f"MiniGrid-ObstructedMaze-{size}-v1" for size in ("2Dlhb", "1Q", "2Q", "Full")),
        *(f"MiniGrid-ObstructedMaze-{size}-v0" for size in ("2Dlhb", "1Q", "2Q", "Full")),
    ),
}


def short_name(env_id: str) -> str:
    """`DoorKey-8x8` for `MiniGrid-DoorKey-8x8-v0`; the version stays where a newer one is the default."""
    short, _, version = env_id.removeprefix("MiniGrid-").rpartition("-")
    newest = f"MiniGrid-{short}-v1"
    superseded = version == "v0" and any(newest in ids for ids in ENVIRONMENTS.values())
    return f"{short}-{version}" if superseded else short


def find_task(name: str) -> Task:
    """The task that the user names, of the family or of one of its environments. One of the user's own is imported: its code runs."""
    if ":" in name:
        return _own_task(name)
    if name in FAMILIES:
        return FAMILIES[name]
    for family, ids in ENVIRONMENTS.items():
        for env_id in ids:
            if name in (env_id, short_name(env_id)):
                return replace(FAMILIES[family], env_id=env_id)
    known = [*FAMILIES, *(short_name(env_id) for ids in ENVIRONMENTS.values() for env_id in ids)]
    own = "; one of your own is named PACKAGE.MODULE:NAME"
    raise TaskError(f"there is no task {name} (`srm tasks` lists them){near(name, known) or own}")


def task_in_file(name: str, where: Path, named: Task | str | None = None) -> Task:
    """The task that a file asks for. Whoever wrote the file chose the name, so code of one's own is imported only if the user named
    the same one in this very call; what ships needs no naming."""
    if isinstance(named, Task):
        return named
    if ":" in name and named != name:
        raise TaskError(
            f"{where} asks for the task {name}, whose code would run; if you trust that code, name it: --task {name} "
            f"(in Python task={name!r})"
        )
    task = find_task(named or name)
    if named not in (None, name) and task.name != name:
        raise TaskError(f"{where} is of the task {name}, not of {named}; leave --task out")
    return task


def loaded_task(name: str) -> Task | None:
    """A task of one's own whose module this process has imported already, so that finding it runs no code."""
    module, _, attribute = name.partition(":")
    task = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    return task if isinstance(task, Task) else None


def _own_task(name: str) -> Task:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())  # the user's own code, named by the user, found where the user stands
    try:
        task = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise TaskError(f"task {name}: {error}; it is PACKAGE.MODULE:NAME of a Task that can be imported") from error
    except Exception as error:  # whatever the user's module does when it is imported
        raise TaskError(f"task {name}: importing {module} raises {type(error).__name__}: {error}; mend it") from error
    if not isinstance(task, Task):
        raise TaskError(f"task {name}: is a {type(task).__name__}, expected a srm.domains.tasks.Task")
    if getattr(task.event_reader(), "vocabulary", None) != task.vocabulary:
        raise TaskError(f"task {name}: its event reader has not the task's `vocabulary`; give both the same Vocabulary")
    return task
