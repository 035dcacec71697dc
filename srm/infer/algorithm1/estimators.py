"""Gradients of E_q[J_soft]: how the expected cost of an assignment changes with the mean and the log-variance of q.

    z = mean + deviation * noise,   h = P(z) is what the machine is shown,   K draws   H holes

Once its guards are decided a machine pays an affine amount in the holes, so J_soft is a quadratic of h. Where a guard reads a hole
there are several such quadratics, and h itself decides which one counts.

* `pathwise` differentiates the quadratic that counts. It has little noise, and it does not see that h may move across a guard: it is
  biased for every coordinate of z that a guard depends on.
* `score` weighs the gradient of log q by the cost. It is unbiased whatever the cost is, and noisy.
* `mixed` is unbiased and has the noise of `pathwise` where guards agree. For each draw the guards of the *other* draws give a surrogate:
  the mean of their quadratics, a smooth function that this draw has no part in. Its gradient is taken pathwise; the score function
  sees only by how much the cost differs from it, which is nothing where all draws decide the guards alike:

      d E[cost] = d E[surrogate]  +  d E[cost - surrogate]
                  pathwise           score function, with a baseline
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from srm.infer.algorithm1.objectives import log_density, score_estimate
from srm.infer.project import Floats
from srm.trajectory import Mask

FEWEST_MIXED = 3  # draws: one to be judged, one to judge it by, one for the baseline


@dataclass(frozen=True, eq=False)
class Cost:
    """J_soft under K assignments: K quadratics h @ square @ h / 2 + linear @ h + constant, each with the guards of its assignment."""

    square: Floats  # [K, H, H]
    linear: Floats  # [K, H]
    constant: Floats  # [K]
    by_idle: float  # d of the mean over K / d c

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.square + other.square,
            self.linear + other.linear,
            self.constant + other.constant,
            self.by_idle + other.by_idle,
        )

    def values(self, h: Floats) -> Floats:
        """[K, K]: in row j the cost of each assignment of h [K, H] if the guards were decided as by the j-th."""
        values: Floats = ((self.gradients(h) + self.linear[:, None]) * h).sum(axis=2) / 2 + self.constant[:, None]
        return values

    def gradients(self, h: Floats) -> Floats:
        """[K, K, H]: of those costs, by the holes."""
        gradients: Floats = h @ self.square + self.linear[:, None]
        return gradients


@dataclass(frozen=True, eq=False)
class GaussianDraws:
    """K draws of q."""

    z: Floats  # [K, H]
    noise: Floats  # [K, H]
    h: Floats  # [K, H] what the machine is shown
    jacobian: Floats  # [K, H, H] d h / d z


def pathwise(cost: Cost, draws: GaussianDraws, mean: Tensor, log_variance: Tensor) -> Tensor:
    """A scalar whose gradient is the estimate, as those of all estimators here."""
    every = np.arange(len(draws.h))
    return _along(cost.gradients(draws.h)[every, every], draws, mean, log_variance)


def score(cost: Cost, draws: GaussianDraws, mean: Tensor, log_variance: Tensor, *, baseline: bool) -> Tensor:
    log_q = log_density(torch.from_numpy(draws.z).float(), mean, log_variance)
    return score_estimate(log_q, torch.from_numpy(np.diagonal(cost.values(draws.h)).copy()).float(), baseline=baseline)


def mixed(cost: Cost, draws: GaussianDraws, mean: Tensor, log_variance: Tensor, deciding: Mask) -> Tensor:
    """`deciding` [H] are the coordinates of z that some guard depends on; for the others `pathwise` is unbiased already."""
    if not deciding.any():
        return pathwise(cost, draws, mean, log_variance)
    count, every = len(draws.h), np.arange(len(draws.h))
    crossed = cost.gradients(draws.h)  # [j, k, H]
    own = crossed[every, every]
    by_others = (crossed.sum(axis=0) - own) / (count - 1)
    smooth = _along(own, draws, mean, log_variance, ~deciding) + _along(by_others, draws, mean, log_variance, deciding)
    some = torch.from_numpy(deciding)
    log_q = log_density(torch.from_numpy(draws.z).float()[:, some], mean[some], log_variance[some])
    weight = torch.from_numpy(guard_effect(cost.values(draws.h))).float()
    return smooth + score_estimate(log_q, weight, baseline=False)


def guard_effect(crossed: Floats) -> Floats:
    """By how much each draw's cost differs from its surrogate, less a baseline, [K].

    `crossed` [j, k] is the cost of draw k with the guards of draw j. Draw k has no part in its own surrogate and baseline: the latter
    is the mean of what the other draws differ by, with surrogates made without k.
    """
    count, own = len(crossed), np.diagonal(crossed)
    others = crossed.sum(axis=0) - own  # [k] over j != k
    effect = own - others / (count - 1)
    without = own - (others - crossed) / (count - 2)  # [k, l] effect of l by all guards but those of k and l
    baseline = (without.sum(axis=1) - np.diagonal(without)) / (count - 1)
    weight: Floats = effect - baseline
    return weight


def _along(
    by_h: Floats, draws: GaussianDraws, mean: Tensor, log_variance: Tensor, coordinates: Mask | None = None
) -> Tensor:
    """A scalar with the gradient by_h [K, H] carried back through the projection to these coordinates of z, and from there to q."""
    by_z = np.einsum("kij,ki->kj", draws.jacobian, by_h)
    if coordinates is not None:
        by_z = by_z * coordinates
    moved = mean + (0.5 * log_variance).exp() * torch.from_numpy(draws.noise).float()
    return (torch.from_numpy(by_z).float() * moved).sum(dim=1).mean()
