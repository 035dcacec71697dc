"""From evidence to draws: the posterior itself, by ensemble slice sampling, for as long as it takes to converge.

    x [K, D]: an assignment and the idle constant c   draws [S, H]

Several ensembles run side by side from points of the prior. After each block of sweeps their second halves are compared; sampling
stops when they agree (R-hat) and hold enough independent draws, or when its budget is spent, and then the posterior says that it
has not converged. Everything is counted in sweeps, nothing in seconds: the same seed gives the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Literal, Self

import numpy as np

from srm.infer.hole_uses import pays_terms
from srm.infer.posterior.diagnostics import effective_size, r_hat
from srm.infer.posterior.evidence import Evidence
from srm.infer.posterior.likelihood import (
    AverageLikelihood,
    Likelihood,
    StepLikelihood,
    TotalLikelihood,
    TrajectoryLikelihood,
)
from srm.infer.posterior.preferences import PreferenceLikelihood
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.slices import LogDensity, prior_walkers, sweep
from srm.machine.checks.check import Forbidden
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, Range

LARGEST_R_HAT = 1.01
LEAST_DRAWS = 400  # effective
COMPARED = 400  # sweeps at most when ensembles are compared: neighbours hardly differ, and ranking all took a fifth of the time
PAIRS = Range(
    "0, or a number that is 4 or more", lambda x: x == 0 or 4 <= x < inf
)  # a half's directions need two walkers


@dataclass(frozen=True)
class PosteriorConfig:
    """How the posterior is sampled."""

    likelihood: Literal["auto", "steps", "totals", "trajectories", "both", "averages"] = "auto"
    """what the evidence is: which steps look demonstrated, which episodes out-earn others, maximum-entropy trajectories, steps and totals, or who earns more on average; unless given averages where every step pays a sum of terms, else both"""
    # `python -m benchmarks.truth recovery`: with 2, 90 % intervals of ratios cover 0.93 with one demonstration and 0.87 with ten; with
    # every step for one, 0.83 and 0.60.
    temper: float = 2.0
    """for how many independent steps a demonstration counts in the likelihood of steps: less says less, and intervals are wider"""
    ensembles: int = 4
    """that are compared, to see whether they have converged"""
    walkers: int = 0
    """of each ensemble; 0: twice the number of coordinates, and at least 16"""
    first_look: int = 150
    """sweeps until convergence is first looked at; then again after a third more"""
    sweeps: int = 4000
    """at most"""

    def __post_init__(self) -> None:
        ABOVE_ZERO.refuse_outside(self, "--posterior.", "temper")
        ONE_OR_MORE.refuse_outside(self, "--posterior.", "ensembles", "first_look", "sweeps")
        PAIRS.refuse_outside(self, "--posterior.", "walkers")

    def resolved(self, machine: Machine) -> Self:
        """With the likelihood that serves the machine, if none is named."""
        if self.likelihood != "auto":
            return self
        return replace(self, likelihood="averages" if pays_terms(machine) else "both")

    def size(self, dimensions: int) -> int:
        return self.walkers or 2 * max(8, dimensions)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the posterior, and whether they can be trusted."""

    assignments: Floats  # [S, H]
    idle: Floats  # [S]
    r_hat: Floats  # [H]
    effective: Floats  # [H]
    sweeps: int
    walkers: Floats  # [C, W, D] where the ensembles stand, to go on from

    @property
    def converged(self) -> bool:
        return bool((self.r_hat <= LARGEST_R_HAT).all() and (self.effective >= LEAST_DRAWS).all())


class Density:
    """The log-posterior, up to a constant, at points [K, D] inside the prior."""

    def __init__(self, evidence: Evidence, config: PosteriorConfig) -> None:
        config = config.resolved(evidence.demonstrations.residual.program.machine)
        self.evidence, self.config = evidence, config
        kinds: dict[str, Callable[[Evidence], Likelihood]] = {
            "steps": partial(StepLikelihood.of, temper=config.temper),
            "totals": TotalLikelihood.of,
            "trajectories": TrajectoryLikelihood.of,
        }
        self.averages = AverageLikelihood.of(evidence) if config.likelihood == "averages" else None
        names = {"both": ("steps", "totals"), "averages": ()}.get(config.likelihood, (config.likelihood,))
        self.parts: dict[str, Likelihood] = {name: kinds[name](evidence) for name in names}
        if evidence.compared is not None:
            self.parts["preferences"] = PreferenceLikelihood.of(evidence.compared)

    def in_full(self) -> Density:
        """The same with every step of a demonstration counted as evidence of its own."""
        demonstrations = self.evidence.demonstrations
        steps = demonstrations.steps / demonstrations.valid.shape[1]
        return Density(self.evidence, replace(self.config, temper=steps))

    def pays(self, assignments: Floats) -> list[Floats]:
        return [side.pay(assignments) for side in self.evidence.sides]

    def __call__(self, x: Floats) -> Floats:
        if self.averages is not None:
            return self.averages(x[:, :-1]) + self.preferred(x[:, :-1])
        pays, c = self.pays(x[:, :-1]), x[:, -1]
        total = np.zeros(len(x))
        for part in self.parts.values():
            total += part(pays, c)
        return total

    def preferred(self, assignments: Floats) -> Floats:
        """Of answers alone, [K]; averages need the pay of no other side."""
        compared = self.evidence.compared
        if compared is None:
            return np.zeros(len(assignments))
        return self.parts["preferences"]([compared.side.pay(assignments)], np.zeros(len(assignments)))


@dataclass(frozen=True, eq=False)
class InferenceTarget:
    """What is sampled: the holes of a machine, by prior and evidence."""

    machine: Machine  # with its holes open
    constraint: Constraint | None  # with the atoms that forbid farming
    forbidden: Forbidden
    prior: Prior
    density: Density


def draw(
    prior: Prior, density: LogDensity, config: PosteriorConfig, rng: np.random.Generator, start: Floats | None = None
) -> Draws:
    """Samples until converged; `start` are walkers of an earlier posterior to go on from."""
    walkers = (
        prior_walkers(prior, config.ensembles, config.size(prior.dimensions), rng) if start is None else start.copy()
    )
    values = density(prior.rounded(walkers.reshape(-1, prior.dimensions))).reshape(walkers.shape[:2])
    history: list[Floats] = []
    look = min(config.first_look, config.sweeps)
    while True:
        # Sweep
        while len(history) < look:
            sweep(prior, density, walkers, values, rng)
            history.append(walkers.copy())
        look = min(look + max(1, look // 3), config.sweeps)

        # Compare the second halves of the ensembles
        kept = np.stack(history[len(history) // 2 :])  # [S, C, W, D]
        by_hole = np.moveaxis(kept[:: 1 + len(kept) // COMPARED], 0, -1)  # [C, W, D, S]
        holes = range(prior.dimensions - 1)
        hats = np.array([r_hat(by_hole[:, :, hole]) for hole in holes])
        sizes = np.array([effective_size(by_hole[:, :, hole]) for hole in holes])

        # Enough?
        points = prior.rounded(kept.reshape(-1, prior.dimensions))
        draws = Draws(points[:, :-1], points[:, -1], hats, sizes, len(history), walkers)
        if draws.converged or len(history) >= config.sweeps:
            return draws
