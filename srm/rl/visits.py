"""How often a state has been visited in its episode: what AGAC's and RIDE's bonuses divide by.

    visits [T, B]   of the state after each step, this visit included; the episode's first state was visited once

Counts run on from one rollout into the next, and begin anew with each episode. Which states are the same is the domain's to say
(`srm.domains.states`).
"""

from __future__ import annotations

import numpy as np

from srm.domains.states import StateKind, state_keys
from srm.rl.nn.frames import episode_starts
from srm.trajectory import Mask, Rollout


class Visits:
    """Counts along consecutive rollouts of the same envs."""

    def __init__(self, kind: StateKind) -> None:
        self._kind = kind
        self._episode_start: Mask | None = None  # [B] of the next rollout's first observation
        self._changes: np.ndarray | None = None  # [B] what the keys carry over to it
        self._counts: list[dict[int, int]] = []

    def count(self, rollout: Rollout) -> np.ndarray:
        """[T, B] float32; 1 where a step is not valid."""
        num_steps, num_envs = rollout.valid.shape
        if self._episode_start is None or self._changes is None:
            self._episode_start, self._changes = np.ones(num_envs, np.bool_), np.zeros(num_envs, np.uint64)
            self._counts = [{} for _ in range(num_envs)]
        episode_start = episode_starts(rollout, self._episode_start)
        before, after, self._changes = state_keys(rollout, episode_start, self._changes, self._kind)
        self._episode_start = episode_start[-1]
        visits = np.ones((num_steps, num_envs), np.float32)
        for b, counts in enumerate(self._counts):
            for t in range(num_steps):
                if episode_start[t, b]:
                    counts.clear()
                    counts[int(before[t, b])] = 1
                if rollout.valid[t, b]:
                    key = int(after[t, b])
                    counts[key] = visits[t, b] = counts.get(key, 0) + 1
        return visits
