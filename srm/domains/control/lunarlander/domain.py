"""All that LunarLander has to say, in one place. Box2D, which steps it, is imported only when somebody flies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from srm.domains.base import Domain, Task
from srm.domains.control.lunarlander.tasks import ENVIRONMENTS, TASKS
from srm.domains.control.lunarlander.vocabulary import ACTIONS, LANDER_WORDS, LEFT, MAIN, NOTHING, RIGHT
from srm.domains.controls import Controls

if TYPE_CHECKING:
    import gymnasium

    from srm.trajectory import Demonstrations, Trajectory


def _register() -> None:
    """Gymnasium knows its own environments."""


def _owns(env: gymnasium.Env) -> bool:
    # Nobody has an environment of a module that is not loaded.
    package = sys.modules.get("gymnasium.envs.box2d.lunar_lander")
    return package is not None and isinstance(env.unwrapped, package.LunarLander)


def _check(index: int, trajectory: Trajectory) -> None:
    from srm.domains.control.lunarlander.episodes import check_ranges

    check_ranges(index, trajectory)


def _record_with(task: Task, count: int, seed: int, *, habit: str | None, noise: float) -> Demonstrations:
    from srm.domains.control.lunarlander.habits import record_with

    return record_with(task, count, seed, habit=habit, noise=noise)


# The engine named is the one that fires: the left one pushes to the right. A flight goes on while no key is held.
CONTROLS = Controls({("ArrowUp",): MAIN, ("ArrowLeft",): RIGHT, ("ArrowRight",): LEFT}, noop=NOTHING, turns=False)

DOMAIN = Domain(
    title="LunarLander",
    vocabulary=LANDER_WORDS,
    actions=ACTIONS,
    packages=("box2d",),
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
