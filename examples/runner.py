"""A reward that is a sum of terms: a runner who is paid for speed and for staying on its feet, and charged for effort.

    srm terms examples.runner:TASK -o runner.srm
    srm demo examples.runner:TASK -n 10 -o runner.npz
    srm infer runner.srm --task examples.runner:TASK --demos runner.npz

docs/terms.md walks through it. The terms are in `info`, as MuJoCo's are.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import srm

FASTEST, LIMIT = 4, 60
BRAKE, COAST, PUSH = range(3)
EFFORT = (-0.5, 0.0, -1.0)
WEIGHTS = {"forward": 1.0, "effort": 0.5, "alive": 0.5}


class Runner(gymnasium.Env):
    """Speeds 0 to 4. A step may lose speed by itself, and the faster it is the likelier the runner falls."""

    observation_space = gymnasium.spaces.Box(0.0, float(FASTEST), (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.speed = 0
        return np.array([self.speed], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        slip = self.np_random.random() < 0.3
        self.speed = min(max(self.speed + int(action) - 1 - slip, 0), FASTEST)
        fallen = bool(self.np_random.random() < 0.002 * self.speed**2)
        terms = {"forward": float(self.speed), "effort": EFFORT[action], "alive": 1.0}
        reward = sum(WEIGHTS[name] * term for name, term in terms.items())
        return np.array([self.speed], np.float32), reward, fallen, False, {f"reward_{k}": v for k, v in terms.items()}


gymnasium.register("Runner-v0", entry_point=Runner, max_episode_steps=LIMIT)


words = srm.Vocabulary("runner")
words.from_info("reward_forward", name="forward", low=0, high=FASTEST)
words.from_info("reward_effort", name="effort", low=-1, high=0)
words.from_info("reward_alive", name="alive", low=0, high=1)


class Steady:
    """Runs at speed 3, and at 4 in the second half, when there is less to lose: that earns 0.997 of what the best policy does."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, observation: np.ndarray) -> int:
        self.steps += 1
        return PUSH if observation[0] < (3 if self.steps <= LIMIT // 2 else 4) else COAST


TASK = words.task("Runner-v0", expert=Steady, meaning="run, and stay on your feet", success=lambda episode: True)
