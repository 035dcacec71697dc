"""q: a diagonal Gaussian over assignments, and the idle constant c.

    ones(20) -> 64 tanh -> 64 tanh -> mean [H], log-variance [H], c

The machine is shown the nearest assignment that the constraint allows, both for the mode and for each draw, so the constraint
holds at every round by construction; the projection is part of what `srm.infer.algorithm1.estimators` take the gradient of. A small
penalty keeps the raw mean near what is allowed. (Penalising alone, with the printed weight of 1e8, fills Adam's second moment with
1e16 at the first broken atom, and the mean hardly moves again.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.errors import SettingError
from srm.infer.algorithm1.estimators import FEWEST_MIXED, Cost, GaussianDraws, mixed, pathwise, score
from srm.infer.algorithm1.objectives import entropy, loss_con
from srm.infer.project import Floats, Polytope
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, SHARE_ABOVE_ZERO, ZERO_OR_MORE
from srm.trajectory import Mask

ONES = 20  # numbers of the constant input
WIDEST = 0.0  # log-variance: a spread of at most 1, since entropy widens a hole that no data reaches
NARROWEST = -10.0  # and of at least 0.7 %


@dataclass(frozen=True)
class SamplerConfig:
    """How the holes are sampled and learnt."""

    samples: int = 16
    """K, assignments drawn for each gradient step"""
    steps: int = 8
    """gradient steps of a round, of which line 8 prints one; each costs little, since pay is affine in the holes"""
    learning_rate: float = 1e-3
    """beta (the paper prints 3e-4)"""
    entropy_weight: float = 1e-2
    """of q's entropy, which keeps the spread from vanishing"""
    estimator: Literal["mixed", "pathwise", "score", "score_plain"] = "mixed"
    """gradient of J_soft. mixed: through the pay, and by the score function for what guards change; pathwise: through the pay alone, which never
    learns a hole that only guards read; score: by the score function with a leave-one-out baseline; score_plain: without one, as printed"""
    constrain: Literal["project", "penalise"] = "project"
    """keep the constraint exactly by projection, or by a penalty alone as printed"""
    penalty: float = 1.0
    """eta, weight of J_con (the paper prints 1e8)"""
    start_at_zero: bool = True
    """begin with a mean of exactly 0; a policy is quick to avoid whatever starts a hair below it"""
    spread: float = 0.4
    """standard deviation of each hole in the beginning (the paper prints none; 1 leaves the network's first output as it is)"""
    bounded: bool = True
    """keep every standard deviation between 0.007 and 1; the paper prints no bounds"""

    def __post_init__(self) -> None:
        prefix = "--sampler."
        ONE_OR_MORE.refuse_outside(self, prefix, "samples", "steps")
        ABOVE_ZERO.refuse_outside(self, prefix, "learning_rate")
        ZERO_OR_MORE.refuse_outside(self, prefix, "entropy_weight", "penalty")
        SHARE_ABOVE_ZERO.refuse_outside(self, prefix, "spread")
        if self.estimator == "mixed" and self.samples < FEWEST_MIXED:
            raise SettingError(
                f"{prefix}samples {self.samples}: {prefix}estimator mixed needs {FEWEST_MIXED} or more; give more, or another estimator"
            )


class _Bounded(torch.autograd.Function):
    """A clamp with a way back: beyond a bound the gradient still passes if it leads inside.

    A plain clamp has no slope there, and a hole that entropy had driven to its widest once stayed there for good.
    """

    @staticmethod
    def forward(context: Any, log_variance: Tensor) -> Tensor:
        context.save_for_backward(log_variance)
        return log_variance.clamp(NARROWEST, WIDEST)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (log_variance,) = context.saved_tensors
        outwards = (log_variance > WIDEST) & (gradient < 0) | (log_variance < NARROWEST) & (gradient > 0)
        return gradient.masked_fill(outwards, 0.0)


class Sampler(nn.Module):
    """q_phi. `polytope` says what the constraint allows, `guard_holes` [H] which holes some guard reads."""

    def __init__(self, polytope: Polytope, guard_holes: Mask, config: SamplerConfig, seed: int) -> None:
        super().__init__()
        holes = len(guard_holes)
        self.polytope, self.holes, self.config = polytope, holes, config
        # the projection carries a move of one coordinate over to every hole that it is coupled with
        self.deciding = polytope.coupled(guard_holes) if config.constrain == "project" else guard_holes
        generator = torch.Generator().manual_seed(seed)
        first, second, self.head = nn.Linear(ONES, 64), nn.Linear(64, 64), nn.Linear(64, 2 * holes + 1)
        self.hidden = nn.Sequential(first, nn.Tanh(), second, nn.Tanh())
        self.register_buffer("ones", torch.ones(ONES), persistent=False)
        for layer in (first, second, self.head):
            bound = 1 / layer.in_features**0.5
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            if config.start_at_zero:
                self.head.weight.zero_()
            self.head.bias[holes : 2 * holes] = 2 * log(config.spread)

    def forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """mean [H], log-variance [H], c."""
        outputs = self.head(self.hidden(self.ones))
        mean, log_variance, idle = outputs.split([self.holes, self.holes, 1])
        return mean, _Bounded.apply(log_variance) if self.config.bounded else log_variance, idle.squeeze(0)

    @torch.no_grad()
    def mode(self) -> Floats:
        """The most likely assignment that the constraint allows, [H]."""
        return self.allowed(self()[0].double().numpy()[None])[0][0]

    @torch.no_grad()
    def spread(self) -> Floats:
        """The standard deviation of each hole, [H]."""
        return (0.5 * self()[1]).exp().double().numpy()

    @torch.no_grad()
    def idle(self) -> float:
        return float(self()[2])

    def allowed(self, z: Floats) -> tuple[Floats, Floats]:
        """What the machine is shown in place of z [K, H], and the Jacobians [K, H, H]."""
        if self.config.constrain == "project":
            return self.polytope.project_all(z)
        return z, np.broadcast_to(np.eye(self.holes), (len(z), self.holes, self.holes))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Assignments [K, H] as the machine is shown them."""
        with torch.no_grad():
            mean, log_variance, _ = self()
        return self.draws(mean, log_variance, count, rng).h

    def draws(self, mean: Tensor, log_variance: Tensor, count: int, rng: np.random.Generator) -> GaussianDraws:
        noise = rng.standard_normal((count, self.holes))
        deviation = (0.5 * log_variance).exp().detach().double().numpy()
        z = mean.detach().double().numpy() + deviation * noise
        return GaussianDraws(z, noise, *self.allowed(z))

    def loss(
        self, cost_of: Callable[[Floats, float], Cost], rng: np.random.Generator
    ) -> tuple[Tensor, dict[str, float]]:
        """J_soft + penalty - entropy from K fresh draws (line 8); `cost_of(assignments, c)` is J_soft under each of them."""
        mean, log_variance, idle = self()
        draws = self.draws(mean, log_variance, self.config.samples, rng)
        cost = cost_of(draws.h, idle.item())
        soft = self.soft(cost, draws, mean, log_variance) + cost.by_idle * idle
        a, b = (torch.from_numpy(part).float() for part in self.polytope.bounds)
        con = loss_con(mean, a, b)
        spread = entropy(log_variance)
        total = soft + self.config.penalty * con - self.config.entropy_weight * spread
        value = float(np.diagonal(cost.values(draws.h)).mean())
        return total, {"loss_soft": value, "loss_con": con.item(), "entropy_q": spread.item()}

    def soft(self, cost: Cost, draws: GaussianDraws, mean: Tensor, log_variance: Tensor) -> Tensor:
        """A scalar with the gradient of E[J_soft] by the estimator of the config."""
        if self.config.estimator == "mixed":
            return mixed(cost, draws, mean, log_variance, self.deciding)
        if self.config.estimator == "pathwise":
            return pathwise(cost, draws, mean, log_variance)
        return score(cost, draws, mean, log_variance, baseline=self.config.estimator == "score")
