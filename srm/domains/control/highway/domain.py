"""All that driving has to say, in one place. highway-env, which steps it, is imported only when somebody drives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from srm.domains.base import Domain, Task
from srm.domains.control.highway.tasks import ENVIRONMENTS, TASKS
from srm.domains.control.highway.vocabulary import (
    ACTIONS,
    FASTER,
    HIGHWAY_WORDS,
    IDLE,
    LANE_LEFT,
    LANE_RIGHT,
    SLOWER,
)
from srm.domains.controls import Controls
from srm.extras import require

if TYPE_CHECKING:
    import gymnasium

    from srm.trajectory import Demonstrations, Trajectory


def _register() -> None:
    require("driving", "driving")  # its import registers its environments


def _owns(env: gymnasium.Env) -> bool:
    # Nobody has an environment of a module that is not loaded.
    packages = (sys.modules.get(f"highway_env.envs.{name}") for name in ("highway_env", "merge_env"))
    kinds = tuple(
        kind
        for package in packages
        for name in ("HighwayEnvFast", "MergeEnv")
        if (kind := getattr(package, name, None))
    )
    return isinstance(env.unwrapped, kinds)


def _check(index: int, trajectory: Trajectory) -> None:
    from srm.domains.control.highway.episodes import check_ranges

    check_ranges(index, trajectory)


def _record_with(task: Task, count: int, seed: int, *, habit: str | None, noise: float) -> Demonstrations:
    from srm.domains.control.highway.habits import record_with

    return record_with(task, count, seed, habit=habit, noise=noise)


# As the picture shows it: the road leads to the right, and the left lane is above. A step is a second, so the road waits for a key.
CONTROLS = Controls(
    {
        ("ArrowUp",): LANE_LEFT,
        ("ArrowDown",): LANE_RIGHT,
        ("ArrowRight",): FASTER,
        ("ArrowLeft",): SLOWER,
        (" ",): IDLE,
    },
    noop=IDLE,
)

DOMAIN = Domain(
    title="highway-env",
    vocabulary=HIGHWAY_WORDS,
    actions=ACTIONS,
    packages=("highway-env",),
    tasks=TASKS,
    environments=ENVIRONMENTS,
    prefix="",
    register=_register,
    owns=_owns,
    controls=CONTROLS,
    demonstrations=Path(__file__).parent / "demonstrations",
    check=_check,
    record_with=_record_with,
)
