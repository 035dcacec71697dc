"""One environment of MiniGrid with compiled steps: an episode begins in MiniGrid's own environment of a seed and goes on in grid.c.

A step takes 10 microseconds, MiniGrid's 75 and another 80 to look at the whole environment after it. `tests/domains/minigrid/test_compiled.py` plays both
side by side.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from srm.domains.minigrid import grid
from srm.domains.minigrid.envs import GridEnvs, ShowPose
from srm.domains.minigrid.layouts import LayoutSource, read_grid, rules_of
from srm.trajectory import Observations


class CompiledGrid(gymnasium.Env):
    """Observes `image` and `pose`, as `ShowPose` does."""

    def __init__(self, env: gymnasium.Env, rules: grid.Rules) -> None:
        assert env.spec is not None
        self._env, self._rules = env, rules
        self._envs = GridEnvs(env.spec.id, grid.Layout(rules), 1, seed=0, source=LayoutSource(env, rules))
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.observation: Observations = np.zeros((grid.VIEW, grid.VIEW, 3), np.uint8)

    @property
    def cells(self) -> np.ndarray:
        """[W, H, 3] type, colour and state."""
        return self._envs.cells[0].copy()

    @property
    def pose(self) -> tuple[int, int, int]:
        """x, y and direction of the agent."""
        x, y, direction = self._envs.agent[0].tolist()
        return x, y, direction

    @property
    def carried(self) -> tuple[int, int, int]:
        """Type, colour and state; type 0: nothing."""
        kind, colour, state, _ = self._envs.carried[0].tolist()
        return kind, colour, state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seen, info = self._env.reset(seed=seed, options=options)
        self._envs.begin_as([read_grid(self._env.unwrapped, self._rules)])
        self.observation = seen["image"]
        return seen, info

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        step = self._envs.step(np.array([action]))
        self.observation = step.observations[0]
        seen = {"image": self.observation, "pose": step.poses[0]}
        return seen, float(step.task_reward[0]), bool(step.terminated[0]), bool(step.truncated[0]), {}

    def close(self) -> None:
        self._env.close()


def compiled(env: gymnasium.Env) -> gymnasium.Env:
    """The same environment with compiled steps where it keeps MiniGrid's rules; else, or if somebody has wrapped it, itself."""
    rules = rules_of(env) if type(env) is ShowPose and env.spec is not None else None
    return CompiledGrid(env, rules) if isinstance(rules, grid.Rules) else env
