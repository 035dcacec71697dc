"""MiniGrid's tasks and their environments. Data only: what a row calls is imported when it is called."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from srm.domains.base import Task, ended_with_reward
from srm.domains.minigrid.vocabulary import MINIGRID_WORDS

if TYPE_CHECKING:
    from srm.domains.base import EventReader

PREFIX = "MiniGrid-"  # of the ids of its environments


def _minigrid(target: str | None) -> EventReader:
    from srm.domains.minigrid.events import MiniGrid

    return MiniGrid(target)


def _plan(target: str | None, env: Any) -> list[int] | None:
    from srm.domains.minigrid.expert import plan

    return plan(env, target)


def minigrid_task(target: str | None, *, machines: tuple[str, ...] = (), frames: int = 1_000_000, **row: Any) -> Task:
    return Task(
        vocabulary=MINIGRID_WORDS,
        event_reader=partial(_minigrid, target),
        expert=partial(_plan, target),
        machines=machines,
        frames=frames,
        **{"success": ended_with_reward, **row},
    )


TASKS = (
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
    # No machine ships for these: `srm propose` writes one from their demonstrations.
    minigrid_task(
        "box",
        name="unlockpickup",
        meaning="take the key, unlock the door, put the key down, take the box",
        env_id="MiniGrid-UnlockPickup-v0",
        frames=1_000_000,
    ),
    minigrid_task(
        "box",
        name="blockedunlockpickup",
        meaning="clear the door of a ball, take the key, unlock the door, put the key down, take the box",
        env_id="MiniGrid-BlockedUnlockPickup-v0",
        frames=3_000_000,
    ),
    minigrid_task(
        None,
        name="lockedroom",
        meaning="find the key in one of six rooms, unlock another, reach the goal in it",
        env_id="MiniGrid-LockedRoom-v0",
        frames=5_000_000,
    ),
)

# In v0 of the last four a ball can stand where the box with the key was put, and some layouts have no solution.
ENVIRONMENTS = {
    "doorkey": tuple(f"MiniGrid-DoorKey-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    "keycorridor": tuple(f"MiniGrid-KeyCorridor{size}-v0" for size in ("S3R1", "S3R2", "S3R3", "S4R3", "S5R3", "S6R3")),
    "obstructedmaze": (
        *(f"MiniGrid-ObstructedMaze-{size}-v0" for size in ("1Dl", "1Dlh", "1Dlhb", "2Dl", "2Dlh")),
        *(f"MiniGrid-ObstructedMaze-{size}-v1" for size in ("2Dlhb", "1Q", "2Q", "Full")),
        *(f"MiniGrid-ObstructedMaze-{size}-v0" for size in ("2Dlhb", "1Q", "2Q", "Full")),
    ),
    "unlockpickup": ("MiniGrid-UnlockPickup-v0",),
    "blockedunlockpickup": ("MiniGrid-BlockedUnlockPickup-v0",),
    "lockedroom": ("MiniGrid-LockedRoom-v0",),
}
