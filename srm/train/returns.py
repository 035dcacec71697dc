"""How much better each step turned out than the critic expected.

    pay, value, value_after  [T, B]   what the step was paid; the critic before it, and after it on the true next view
    ended, cut, real         [T, B]   as in `srm.trajectory`

Trajectories need not align with episodes: an episode may begin and end anywhere in the T steps.
"""

from __future__ import annotations

import numpy as np

from srm.trajectory import Mask


def advantages(
    pay: np.ndarray,
    value: np.ndarray,
    value_after: np.ndarray,
    ended: Mask,
    cut: Mask,
    real: Mask,
    *,
    discount: float,
    mix: float,
) -> np.ndarray:
    """Generalised advantage of every step, [T, B]; 0 where the step is not real.

    surprise_t  = pay_t + discount * value_after_t - value_t       (nothing is expected after an end)
    advantage_t = surprise_t + discount * mix * advantage_{t+1}    (within the episode)

    A step that ran out of time is not an end: what could still have come is worth `value_after`.
    """
    surprise = pay + discount * value_after * ~ended - value
    goes_on = real & ~ended & ~cut
    ahead = np.zeros_like(surprise[0])
    out = np.empty_like(surprise)
    for t in reversed(range(len(pay))):
        ahead = surprise[t] + discount * mix * goes_on[t] * ahead
        out[t] = ahead
    return out * real


def explained_variance(value: np.ndarray, target: np.ndarray) -> float:
    """1: the critic says it all; 0: no better than a constant; NaN when there is nothing to explain."""
    spread = float(np.var(target))
    return float("nan") if spread == 0 else 1 - float(np.var(target - value)) / spread
