"""A task of one's own: a dark corridor with a switch at one end and a door at the other.

    srm learn examples.corridor:TASK --machine examples/corridor.srm --demos corridor.npz --net mlp --frames 200000

docs/own_task.md walks through this file.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from srm.domains.base import Task
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary
from srm.trajectory import Events, Rollout

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


# The words: two events and a signal, read for a whole rollout at once


WORDS = Vocabulary(
    "corridor",
    events=(
        Event("light_lamp", "the switch is pressed and the lamp goes on"),
        Event("reach_door", "the open door is reached"),
    ),
    signals=(Signal("distance", "how far the door is, 0 to 1"),),
    balances=(Balance(("light_lamp",), most=1), Balance(("reach_door",), most=1)),
)


class CorridorWords:
    """What happened, from the observations before and after each step."""

    vocabulary = WORDS

    def read(self, rollout: Rollout) -> Events:
        before, after = rollout.observations[:-1], rollout.after()  # [T, B, 2]
        lit = (before[..., 1] == 0) & (after[..., 1] == 1) & rollout.valid
        door = (after[..., 0] == 1) & (after[..., 1] == 1) & rollout.valid
        env, step, event = np.nonzero(np.stack([lit.T, door.T], axis=-1))  # sorted by env, step, event
        return Events(
            rollout.steps,
            rollout.envs,
            step.astype(np.int32),
            env.astype(np.int32),
            event.astype(np.int16),
            np.zeros((len(step), 0), np.int32),
            (1 - after[..., :1]).astype(np.float64),
        )


# The expert: whoever can say which actions solve an environment that was just reset


def expert(env: Any) -> list[int]:
    return [LEFT] * env.unwrapped.cell + [PRESS] + [RIGHT] * (LENGTH - 1)


TASK = Task(
    name="corridor",
    meaning="light the lamp, then leave by the door",
    env_id="Corridor-v0",
    vocabulary=WORDS,
    event_reader=CorridorWords,
    machines=(),
    expert=expert,
    frames=200_000,
)
