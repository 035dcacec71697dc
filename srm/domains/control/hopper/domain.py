"""All that Hopper has to say, in one place. MuJoCo, which steps it, is imported only when somebody hops."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from srm.domains.base import Domain, Task
from srm.domains.control.hopper.tasks import ENVIRONMENTS, TASKS
from srm.domains.control.hopper.vocabulary import HOPPER_WORDS, JOINTS, OBSERVED

if TYPE_CHECKING:
    import gymnasium

    from srm.trajectory import Demonstrations, Trajectory


def _register() -> None:
    """Gymnasium knows its own environments."""


def _owns(env: gymnasium.Env) -> bool:
    # Nobody has an environment of a module that is not loaded.
    package = sys.modules.get("gymnasium.envs.mujoco.hopper_v5")
    return package is not None and isinstance(env.unwrapped, package.HopperEnv)


def _check(index: int, trajectory: Trajectory) -> None:
    import numpy as np

    from srm.domains.control.torques import check_torques

    check_torques(index, trajectory, OBSERVED, JOINTS, np.float64)


def _record_with(task: Task, count: int, seed: int, *, habit: str | None, noise: float) -> Demonstrations:
    from srm.domains.control.hopper.expert import STYLES
    from srm.domains.control.styles import record_in_style

    return record_in_style(task, STYLES, count, seed, habit=habit, noise=noise)


DOMAIN = Domain(
    title="Hopper",
    vocabulary=HOPPER_WORDS,
    actions=(),
    packages=("mujoco",),
    tasks=TASKS,
    environments=ENVIRONMENTS,
    prefix="",
    register=_register,
    owns=_owns,
    demonstrations=Path(__file__).parent / "demonstrations",
    check=_check,
    record_with=_record_with,
)
