"""A task of one's own: a dark corridor with a switch at one end and a door at the other.

    srm learn examples.corridor:TASK --machine examples/corridor.srm --demos corridor.npz --frames 200000

docs/own_task.md walks through this file.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import srm

LENGTH, LIMIT = 6, 40
LEFT, RIGHT, PRESS = range(3)


# The environment: any Gymnasium environment will do


class Corridor(gymnasium.Env):
    """Press the switch at cell 0, then walk to the last cell; without light the door stays shut."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)  # where I am, whether the lamp is lit
    action_space = gymnasium.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.lit, self.steps = int(self.np_random.integers(1, LENGTH - 1)), False, 0
        return self._view(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if action == PRESS:
            self.lit = self.lit or self.cell == 0
        else:
            self.cell = min(max(self.cell + (1 if action == RIGHT else -1), 0), LENGTH - 1)
        solved = self.lit and self.cell == LENGTH - 1
        reward = 1 - 0.9 * self.steps / LIMIT if solved else 0.0
        return self._view(), reward, solved, self.steps >= LIMIT and not solved, {}

    def _view(self) -> np.ndarray:
        return np.array([self.cell / (LENGTH - 1), float(self.lit)], np.float32)


gymnasium.register("Corridor-v0", entry_point=Corridor)


# The words: two events and a signal, each a function over arrays: before and after are observations [T, B, 2]


words = srm.Vocabulary("corridor")


@words.event
def light_lamp(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """the switch is pressed and the lamp goes on"""
    return (before[..., 1] == 0) & (after[..., 1] == 1)


@words.event
def reach_door(after: np.ndarray) -> np.ndarray:
    """the open door is reached"""
    return (after[..., 0] == 1) & (after[..., 1] == 1)


@words.signal(low=0, high=1)
def distance(after: np.ndarray) -> np.ndarray:
    """how far the door is"""
    return 1 - after[..., 0]


words.once(light_lamp)
words.once(reach_door)


# The expert: what to do, given an observation


def walk(observation: np.ndarray) -> int:
    where, lit = observation
    return RIGHT if lit else LEFT if where > 0 else PRESS


TASK = words.task("Corridor-v0", meaning="light the lamp, then leave by the door", expert=walk, frames=200_000)
