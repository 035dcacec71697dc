"""Environments with spaces of a test's choosing."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from srm.domains.envs import GymnasiumEnvs

VECTOR = spaces.Box(-5, 5, (3,), np.float32)
IMAGE = spaces.Box(0, 255, (20, 24, 3), np.uint8)
OBSERVATIONS: dict[str, spaces.Space[Any]] = {
    "vector": VECTOR,
    "doubles": spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
    "image": IMAGE,
    "channels first": spaces.Box(0, 255, (4, 40, 40), np.uint8),
    "discrete": spaces.Discrete(5, start=2),
    "multi-discrete": spaces.MultiDiscrete([3, 4]),
    "multi-binary": spaces.MultiBinary(4),
    "dict": spaces.Dict({"position": VECTOR, "inner": spaces.Dict({"room": spaces.Discrete(3), "eye": IMAGE})}),
    "tuple": spaces.Tuple((VECTOR, spaces.MultiBinary(2))),
}
ACTIONS: dict[str, spaces.Space[Any]] = {
    "discrete": spaces.Discrete(3),
    "from one on": spaces.Discrete(3, start=1),
    "multi-discrete": spaces.MultiDiscrete([2, 3]),
    "multi-binary": spaces.MultiBinary(3),
    "box": spaces.Box(np.array([-2, 0], np.float32), np.array([2, 1], np.float32)),
    "matrix": spaces.Box(-1, 1, (2, 2), np.float64),
}


class AnySpaces(gymnasium.Env[Any, Any]):
    """Observes samples of its space for `length` steps. It is paid the sum of an action's numbers, and takes none outside its space."""

    def __init__(self, observations: spaces.Space[Any], actions: spaces.Space[Any], length: int = 6) -> None:
        self.observation_space = deepcopy(observations)  # which draws samples of its own
        self.action_space, self._length = actions, length

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self._step = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self._step += 1
        over = self._step == self._length
        return self.observation_space.sample(), float(np.sum(action)), over, False, {}


def any_envs(
    observations: spaces.Space[Any],
    actions: spaces.Space[Any],
    count: int = 4,
    *,
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    length: int = 6,
) -> GymnasiumEnvs:
    vector = SyncVectorEnv([lambda: AnySpaces(observations, actions, length)] * count, autoreset_mode=mode)
    return GymnasiumEnvs(vector, seed=0, env_id="AnySpaces-v0")


def dict_and_box() -> AnySpaces:
    return AnySpaces(OBSERVATIONS["dict"], ACTIONS["box"])
