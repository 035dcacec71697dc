"""The three objectives of Algorithm 1, as functions to be minimised, and the estimators of a gradient over assignments.

    K assignments   H holes   n steps of a batch

Signs: the paper maximises J_adv and minimises J_soft and J_con; here each is a loss. `f` is the reward net's log-likelihood of the
action that was taken, never positive; `pay` is what the machine pays; `idle` is the constant c that lines the two up.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus


def logit_expert_high(f: Tensor, noise: Tensor, log_prob: Tensor, floor: float | None = None) -> Tensor:
    """The logit of D_eps = exp(f + eps) / (exp(f + eps) + pi_A(a|s)): above 0 it looks like a demonstration.

    `floor` bounds log pi_A from below. Where the policy has given an action up, D would otherwise be sure of every demonstration
    of it without any help of f, and f would stop learning there.
    """
    return f + noise - (log_prob if floor is None else log_prob.clamp(min=floor))


def loss_adv(demonstrated: Tensor, played: Tensor) -> Tensor:
    """-J_adv: cross-entropy of D with demonstrations as 1 and the policy's steps as 0; each side is a mean over its logits."""
    as_expert = binary_cross_entropy_with_logits(demonstrated, torch.ones_like(demonstrated))
    return as_expert + binary_cross_entropy_with_logits(played, torch.zeros_like(played))


def loss_soft(pay: Tensor, idle: Tensor | float, f: Tensor) -> Tensor:
    """J_soft on some steps: the mean of (pay - c - f)^2 / 2, the divergence of two unit Gaussians around pay and f."""
    return 0.5 * (pay - idle - f).square().mean()


def loss_con(mean: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """J_con as printed: how far the mean [H] breaks `a @ h <= b`, by cross-entropy of sigmoid(relu(excess)) against 0.

    A kept atom costs log 2, not 0: harmless to the gradient, confusing in a plot.
    """
    return softplus(torch.relu(a @ mean - b)).sum()


def entropy(log_variance: Tensor) -> Tensor:
    """Of the diagonal Gaussian with these log-variances [H], up to a constant."""
    return 0.5 * log_variance.sum()


def log_density(drawn: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """log q of each assignment [K, H] -> [K], up to a constant."""
    return -0.5 * ((drawn - mean).square() * (-log_variance).exp() + log_variance).sum(dim=1)


def score_estimate(log_q: Tensor, cost: Tensor, *, baseline: bool = True) -> Tensor:
    """A scalar whose gradient is the score-function estimate of d E[cost] / d q, from K draws with `cost` [K] held fixed.

    The baseline of a draw is the mean cost of the others, which leaves the estimate unbiased and takes most of its noise away.
    """
    cost = cost.detach()
    if baseline and len(cost) > 1:
        cost = (cost - cost.mean()) * len(cost) / (len(cost) - 1)
    return (log_q * cost).mean()
