"""Pay in units of its own spread: divided by the running spread of its discounted sum, as Stable-Baselines3's VecNormalize does.

    sum_t = pay_t + discount * sum_{t-1}     within an episode of each env

A critic that has to foretell returns of hundreds learns nothing else for a long time. What a run reports is never scaled.
"""

from __future__ import annotations

import numpy as np

from srm.rl.nn.senses import RunningMoments
from srm.trajectory import Rollout

LARGEST = 10.0  # scaled pay of a step, either way


class PayScale(RunningMoments):
    """Follows consecutive rollouts of the same envs."""

    def __init__(self, discount: float) -> None:
        super().__init__(1)
        self._discount = discount
        self._sums: np.ndarray | None = None  # [B] after the last rollout

    def scale(self, rollout: Rollout, pay: np.ndarray) -> np.ndarray:
        """The pay [T, B] of the next rollout, scaled by all that was paid up to its end."""
        sums = np.zeros(rollout.envs) if self._sums is None else self._sums
        over = rollout.terminated | rollout.truncated
        along = np.empty(pay.shape)
        for t, paid in enumerate(pay * rollout.valid):
            along[t] = sums = paid + self._discount * sums
            sums = sums * ~over[t]
        self._sums = sums
        self.add(along[rollout.valid][:, None])
        return np.clip(pay / np.sqrt(float(self.variance) + 1e-8), -LARGEST, LARGEST)
