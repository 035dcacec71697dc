"""Episodes of MiniGrid from elsewhere: which numbers they can hold, and where the agent was if they do not say."""

from __future__ import annotations

import numpy as np

from srm.domains.minigrid.vocabulary import (
    DIRECTIONS,
    DOOR,
    EMPTY,
    FLOOR,
    FORWARD,
    GOAL,
    LAVA,
    LEFT,
    LIMITS,
    OPEN,
    RIGHT,
)
from srm.trajectory import Observations, Trajectory

_START = 1000  # where a reckoned way begins: far from 0, so that no cell on it is negative


def check_ranges(index: int, trajectory: Trajectory) -> None:
    """ValueError for numbers that MiniGrid cannot show."""
    observations, poses = trajectory.observations, trajectory.poses
    if observations.shape[1:] != (7, 7, 3) or observations.dtype != np.uint8 or poses.shape[1] != 3:
        raise ValueError(
            f"episode {index}: observations {observations.dtype} {list(observations.shape[1:])} and poses {list(poses.shape[1:])}, "
            "expected uint8 [7, 7, 3] and [3]"
        )
    if trajectory.actions.ndim != 1:
        raise ValueError(f"episode {index}: actions {list(trajectory.actions.shape)}, expected one number each")
    columns = {
        "action": trajectory.actions,
        "type": observations[..., 0],
        "colour": observations[..., 1],
        "state": observations[..., 2],
        "direction": poses[:, 2],
    }
    for name, numbers in columns.items():
        if not 0 <= numbers.min() <= numbers.max() < LIMITS[name]:
            raise ValueError(f"episode {index}: {name} {numbers.max()}, expected 0 to {LIMITS[name] - 1}")


def reckon_poses(observations: Observations, actions: np.ndarray) -> np.ndarray:
    """Where the agent is at each of T + 1 moments, [T+1, 3], had it begun at (1000, 1000) looking along x.

    That is enough, since machines only compare places."""
    pose, poses = [_START, _START, 0], []
    for observation, action in zip(observations, [*actions, None], strict=True):
        poses.append(list(pose))
        if action in (LEFT, RIGHT):
            pose[2] = (pose[2] + (1 if action == RIGHT else -1)) % 4
        elif action == FORWARD and _free(observation[3, 5]):
            dx, dy = DIRECTIONS[pose[2]]
            pose[0], pose[1] = pose[0] + dx, pose[1] + dy
    return np.array(poses, np.int16)


def _free(cell: np.ndarray) -> bool:
    return cell[0] in (EMPTY, FLOOR, GOAL, LAVA) or (cell[0] == DOOR and cell[2] == OPEN)
