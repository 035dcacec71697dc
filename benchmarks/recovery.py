"""Which likelihood finds the truth: holes that are known, experts that are soft-optimal for them, and what each posterior says.

    P problems   M demonstrations   S draws   H holes

A method is a likelihood, and behind a colon the `temper` of its steps if it is not the default: `both`, `steps:30`. `exact` is the likelihood
that these experts do follow, exp(pay) / Z with Z by dynamic programming; nobody has it outside such envs, and it is here as the
reference. `importance` is the same with Z by importance weights over the play: what `trajectories` replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Literal, cast

import numpy as np
from scipy.special import logsumexp

from benchmarks.tabular import STEPS, Problem, TabularWords, machine
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import Evidence
from srm.infer.posterior.peak import peak
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.sample import Density, PosteriorConfig, draw
from srm.infer.posterior.slices import LogDensity
from srm.seeding import stream

INTERVAL = (0.05, 0.95)
FEW, MANY = 1, 10  # demonstrations
CONFIG = PosteriorConfig(ensembles=2, walkers=24, first_look=80, sweeps=400)

Kind = Literal["steps", "totals", "trajectories", "both"]


@dataclass(frozen=True, eq=False)
class Recovered:
    """What one posterior says of one problem's holes, [H] each."""

    sure: np.ndarray  # the interval excludes 0
    sign_right: np.ndarray  # of the interval's middle
    covers: np.ndarray  # the value
    covers_direction: np.ndarray  # the hole divided by the norm of all holes
    width: np.ndarray  # of the interval
    direction_width: np.ndarray
    regret: float  # under the true holes: what the best policy earns more than the best for the posterior's mean
    peak_regret: float  # the same of the best policy for the most probable draws
    soft_regret: float  # the same of soft-optimal policies; the expert is the soft-optimal one for the truth
    best: float  # what the best policy earns
    expert: float  # what the expert earns
    seconds: float
    converged: bool


def density_of(method: str, problem: Problem, evidence: Evidence) -> LogDensity:
    if method == "exact":
        return exact(problem, evidence)
    if method == "importance":
        return importance(evidence)
    name, _, temper = method.partition(":")
    config = PosteriorConfig(likelihood=cast(Kind, name))
    return Density(evidence, replace(config, temper=float(temper)) if temper else config)


def exact(problem: Problem, evidence: Evidence) -> LogDensity:
    """The log-likelihood of the demonstrations themselves."""
    side = evidence.demonstrations
    sums, begun = side.totals(), problem.begun

    def log_density(x: Floats) -> Floats:
        log_z = np.log(problem.grid.partition(x[:, :-1])[0])  # [S, K]
        total: Floats = (side.pay(x[:, :-1]) @ sums).sum(axis=1) - log_z[begun].sum(axis=0)
        return total

    return log_density


def importance(evidence: Evidence) -> LogDensity:
    """With Z from random play, whose episodes are all equally probable."""
    shown, played = evidence.demonstrations, evidence.plays[0]
    shown_sums, played_sums = shown.totals(), played.totals()

    def log_density(x: Floats) -> Floats:
        ours, theirs = shown.pay(x[:, :-1]) @ shown_sums, played.pay(x[:, :-1]) @ played_sums
        total: Floats = ours.sum(axis=1) - ours.shape[1] * logsumexp(theirs, axis=1)
        return total

    return log_density


def recover(method: str, problem: Problem, rng: np.random.Generator) -> Recovered:
    """Infers the holes of a problem and compares them with the truth."""
    began = process_time()
    evidence = Evidence.of(
        Program(machine(), TabularWords.vocabulary), TabularWords(), problem.demonstrated, (problem.play,)
    )
    prior = Prior.of(machine(), None)
    density = density_of(method, problem, evidence)
    draws = draw(prior, density, CONFIG, rng)
    full = density.in_full() if isinstance(density, Density) else density
    at = peak(machine(), prior, full, draws.walkers, rng)[:-1]
    return compare(problem, draws.assignments, at, process_time() - began, draws.converged)


def compare(problem: Problem, x: Floats, at: Floats, seconds: float, converged: bool) -> Recovered:
    """Draws x [S, H], and the peak [H], against the truth."""
    grid, truth, mean = problem.grid, problem.holes, x.mean(axis=0)
    low, high = np.quantile(x, INTERVAL, axis=0)
    direction = truth / np.linalg.norm(truth)
    left, right = np.quantile(x / np.linalg.norm(x, axis=1, keepdims=True), INTERVAL, axis=0)
    best, expert = grid.earned(grid.best_policy(truth), truth), grid.earned(grid.soft_policy(truth), truth)
    return Recovered(
        (low > 0) | (high < 0),
        np.sign(low + high) == np.sign(truth),
        (low <= truth) & (truth <= high),
        (left <= direction) & (direction <= right),
        high - low,
        right - left,
        best - grid.earned(grid.best_policy(mean), truth),
        best - grid.earned(grid.best_policy(at), truth),
        expert - grid.earned(grid.soft_policy(mean), truth),
        best,
        expert,
        seconds,
        converged,
    )


def measure(
    methods: Iterable[str], demonstrations: Sequence[int], problems: int, seed: int, steps: int = STEPS
) -> Iterable[str]:
    """A table's rows: what each method says with so many demonstrations."""
    yield (
        "| likelihood | M | values covered | directions covered | sure | signs right where sure | regret: mean | "
        "peak | mean, soft | width | of directions | s | converged |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    drawn = [draw_problem(stream(seed, f"problem {i}"), max(demonstrations), steps) for i in range(problems)]
    for method in methods:
        for count in demonstrations:
            listed = [recover(method, p.first(count), stream(seed, f"draws {i}")) for i, p in enumerate(drawn)]
            yield row(method, count, listed)


def draw_problem(rng: np.random.Generator, demonstrations: int, steps: int) -> Problem:
    """One whose first demonstration shows an event: inference refuses demonstrations that show none. One in a hundred does not."""
    while True:
        problem = Problem.draw(rng, demonstrations, steps)
        if (problem.demonstrated.observations[1:, 0] > 0).any():
            return problem


def row(method: str, count: int, listed: list[Recovered]) -> str:
    def all_of(name: str) -> np.ndarray:
        return np.array([getattr(found, name) for found in listed])

    sure = all_of("sure")
    signs = all_of("sign_right")[sure].mean() if sure.any() else np.nan
    expert = all_of("expert").sum()
    return (
        f"| {method} | {count} | {all_of('covers').mean():.3f} | {all_of('covers_direction').mean():.3f} | {sure.mean():.2f} | "
        f"{signs:.3f} | {all_of('regret').sum() / expert:.4f} | {all_of('peak_regret').sum() / expert:.4f} | {all_of('soft_regret').sum() / expert:.4f} | "
        f"{all_of('width').mean():.2f} | {all_of('direction_width').mean():.2f} | {all_of('seconds').mean():.2f} | "
        f"{all_of('converged').mean():.2f} |"
    )
