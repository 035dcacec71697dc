"""Two corners of MiniGrid's empty room in order, then the goal: what has been visited is nowhere to be seen.

The machine is patrol.srm; `python -m benchmarks.learners patrol --counterfactual -o curve.csv` trains DQN by it.
"""

from __future__ import annotations

import gymnasium
import minigrid  # registers its environments
import numpy as np
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

import srm

gymnasium.register("Patrol-v0", entry_point="examples.patrol:room")
AGENT = minigrid.core.constants.OBJECT_TO_IDX["agent"]
words = srm.Vocabulary("patrol")


def room() -> gymnasium.Env:
    """The whole room is observed, with the agent in it: cells [5, 5, 3], columns first."""
    return ImgObsWrapper(FullyObsWrapper(gymnasium.make("MiniGrid-Empty-5x5-v0", agent_view_size=3)))


@words.event
def north_east(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """the agent comes to the corner above the goal"""
    return _comes_to(before, after, -2, 1)


@words.event
def south_west(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """the agent comes to the corner to the left of the goal"""
    return _comes_to(before, after, 1, -2)


@words.event
def goal(terminated: np.ndarray) -> np.ndarray:
    """the agent walks onto the goal, which ends the episode"""
    return terminated


words.exclusive(north_east, south_west, goal)
words.once(goal)


def _comes_to(before: np.ndarray, after: np.ndarray, x: int, y: int) -> np.ndarray:
    return (after[..., x, y, 0] == AGENT) & (before[..., x, y, 0] != AGENT)


TASK = words.task("Patrol-v0", meaning="both corners in order, then the goal")
