"""All that MiniGrid has to say, in one place. The functions import what they need when they are called."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srm.domains.base import Domain, Task
from srm.domains.controls import Controls
from srm.domains.minigrid.tasks import ENVIRONMENTS, PREFIX, TASKS
from srm.domains.minigrid.vocabulary import ACTIONS, DONE, DROP, FORWARD, LEFT, MINIGRID_WORDS, PICKUP, RIGHT, TOGGLE

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from rich.console import RenderableType

    from srm.domains.cells import Cells
    from srm.domains.envs import Envs
    from srm.domains.scenes import Scene
    from srm.domains.states import Keys, StateKind
    from srm.trajectory import Demonstrations, Mask, Numbers, Observations, Rollout, Trajectory


def _register() -> None:
    import minigrid  # noqa: F401  (its import registers its environments)


def _owns(env: gymnasium.Env) -> bool:
    package = sys.modules.get("minigrid.minigrid_env")
    if package is None:  # 0.3 s to import, and nobody has an environment of a package that is not loaded
        return False
    from srm.domains.minigrid.compiled import CompiledGrid

    return isinstance(env.unwrapped, (package.MiniGridEnv, CompiledGrid))


def _pose(env: Any) -> Numbers:
    from srm.domains.minigrid.envs import pose_of

    return pose_of(env)


def _pool_poses(seen: Any, info: Mapping[str, Any]) -> Numbers:
    from srm.domains.minigrid.envs import pool_poses

    return pool_poses(seen, info)


def _observer() -> type[gymnasium.ObservationWrapper]:
    from srm.domains.minigrid.envs import ShowPose

    return ShowPose


def _compile_envs(env: gymnasium.Env, env_id: str, count: int, seed: int) -> Envs | str:
    from srm.domains.minigrid.envs import compile_envs

    return compile_envs(env, env_id, count, seed)


def _compile_env(env: gymnasium.Env) -> gymnasium.Env:
    from srm.domains.minigrid.compiled import compiled

    return compiled(env)


def _cells() -> Cells:
    from srm.domains.minigrid.encoding import MINIGRID_CELLS

    return MINIGRID_CELLS


def _state_keys(rollout: Rollout, episode_start: Mask, carried: np.ndarray, kind: StateKind) -> Keys | None:
    from srm.domains.minigrid.state_keys import state_keys

    return state_keys(rollout, episode_start, carried, kind)


def _picture(observation: Observations) -> np.ndarray | None:
    from srm.domains.minigrid.pictures import draw_observation

    return draw_observation(observation)


def _map(env: gymnasium.Env) -> RenderableType:
    from srm.domains.minigrid.maps import draw_map

    return draw_map(env)


def _look(env: gymnasium.Env) -> Scene:
    from srm.domains.minigrid.scenes import look

    return look(env)


def _look_through(observation: Observations) -> Scene:
    from srm.domains.minigrid.scenes import look_through

    return look_through(observation)


def _check(index: int, trajectory: Trajectory) -> None:
    from srm.domains.minigrid.episodes import check_ranges

    check_ranges(index, trajectory)


def _reckon_poses(observations: Observations, actions: np.ndarray) -> np.ndarray:
    from srm.domains.minigrid.episodes import reckon_poses

    return reckon_poses(observations, actions)


def _record_with(task: Task, count: int, seed: int, *, habit: str | None, noise: float) -> Demonstrations:
    from srm.domains.minigrid.habits import record_with

    return record_with(task, count, seed, habit=habit, noise=noise)


# As in MiniGrid's own manual control, but for letters where that has keys that browsers use themselves.
CONTROLS = Controls(
    {
        ("ArrowLeft",): LEFT,
        ("ArrowRight",): RIGHT,
        ("ArrowUp",): FORWARD,
        (" ",): TOGGLE,
        ("p",): PICKUP,
        ("d",): DROP,
        ("Enter",): DONE,
    },
    noop=DONE,
)

DOMAIN = Domain(
    title="MiniGrid",
    vocabulary=MINIGRID_WORDS,
    actions=ACTIONS,
    packages=("minigrid",),
    tasks=TASKS,
    environments=ENVIRONMENTS,
    prefix=PREFIX,
    register=_register,
    owns=_owns,
    pose=_pose,
    observer=_observer,
    pool_poses=_pool_poses,
    compile_envs=_compile_envs,
    compile_env=_compile_env,
    cells=_cells,
    state_keys=_state_keys,
    picture=_picture,
    map=_map,
    look=_look,
    look_through=_look_through,
    controls=CONTROLS,
    demonstrations=Path(__file__).parent / "demonstrations",
    check=_check,
    reckon_poses=_reckon_poses,
    record_with=_record_with,
)
