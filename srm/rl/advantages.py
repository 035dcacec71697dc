"""How much better each step turned out than the critic expected: generalised advantage estimation.

    pay, values, next_values      [T, B]  what the step was paid; the critic before it, and after it on the true next observation
    terminated, truncated, valid  [T, B]  as in `srm.trajectory`

Trajectories need not align with episodes: an episode may begin and end anywhere in the T steps.
"""

from __future__ import annotations

import numpy as np

from srm.trajectory import Mask


def gae(
    pay: np.ndarray,
    values: np.ndarray,
    next_values: np.ndarray,
    terminated: Mask,
    truncated: Mask,
    valid: Mask,
    *,
    discount: float,
    gae_lambda: float,
) -> np.ndarray:
    """Generalised advantage of every step, [T, B]; 0 where the step is not valid.

    delta_t     = pay_t + discount * next_value_t - value_t             (nothing is expected after an end)
    advantage_t = delta_t + discount * gae_lambda * advantage_{t+1}     (within the episode)

    A step that ran out of time is not an end: what could still have come is worth `next_values`.
    """
    delta = pay + discount * next_values * ~terminated - values
    goes_on = valid & ~terminated & ~truncated
    advantage = np.zeros_like(delta[0])
    advantages = np.empty_like(delta)
    for t in reversed(range(len(pay))):
        advantage = delta[t] + discount * gae_lambda * goes_on[t] * advantage
        advantages[t] = advantage
    return advantages * valid


def explained_variance(values: np.ndarray, returns: np.ndarray) -> float:
    """1: the critic says it all; 0: no better than a constant; NaN when there is nothing to explain."""
    spread = float(np.var(returns))
    return float("nan") if spread == 0 else 1 - float(np.var(returns - values)) / spread
