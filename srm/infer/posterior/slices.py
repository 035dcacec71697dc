"""Ensemble slice sampling inside a polytope: draws from a density that can only be evaluated, many points at once.

    C independent ensembles of W walkers in D dimensions, moved one half of each ensemble at a time

A walker moves along a line whose direction is the difference of two walkers of the other half (so the moves take the shape of the
density, however thin or slanted it is), or one coordinate. Along the line it draws from the density by slice sampling, beginning with the
whole chord that the polytope leaves and shrinking it towards where the walker stands: nothing is tuned, nothing is rejected, and
jumps of the density (a guard that a hole decides) do no harm. Neal (2003) for slices, Karamanis and Beutler (2021) for ensembles of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from srm.infer.posterior.prior import Floats, Prior

LogDensity = Callable[[Floats], Floats]  # points [K, D] as the machine sees them -> [K]
AXES = 1 / 3  # share of the moves along one coordinate; near a corner of the polytope these have the longest chords
SCATTER = 30  # random moves away from the centre
SHORT = 1e-9  # a direction of this length is none
MOST_SHRINKS = 200  # 2^-200 of a chord: a walker that finds nothing better stays where it is


def sweep(prior: Prior, density: LogDensity, walkers: Floats, values: Floats, rng: np.random.Generator) -> None:
    """Moves every walker [C, W, D] once, in place, with the log-densities [C, W] where they stand."""
    half = walkers.shape[1] // 2
    order = rng.permutation(walkers.shape[1])
    for moving, others in ((order[:half], order[half:]), (order[half:], order[:half])):
        start = walkers[:, moving].reshape(-1, prior.dimensions)
        direction = _directions(prior, walkers[:, others], len(moving), rng)
        moved, value = _slice(prior, density, start, values[:, moving].reshape(-1), direction, rng)
        walkers[:, moving] = moved.reshape(len(walkers), len(moving), -1)
        values[:, moving] = value.reshape(len(walkers), len(moving))


def _directions(prior: Prior, others: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Directions [C * count, D] that do not depend on the walkers that will move."""
    ensembles, size, dimensions = others.shape
    first = rng.integers(size, size=(ensembles, count))
    second = (first + rng.integers(1, size, size=(ensembles, count))) % size
    rows = np.arange(ensembles)[:, None]
    differences = others[rows, first] - others[rows, second]
    axes = rng.integers(dimensions, size=(ensembles, count))[..., None] == np.arange(dimensions)
    chosen = np.where(rng.random((ensembles, count, 1)) < AXES, axes, differences)
    return _unit(chosen.reshape(-1, dimensions) @ prior.free)


def _unit(directions: Floats) -> Floats:
    """Of length 1, or 0 where an equality left nothing but rounding, along which a walker would leave the equality."""
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.where(length > SHORT, directions / np.maximum(length, SHORT), 0.0)


def _slice(
    prior: Prior, density: LogDensity, x: Floats, value: Floats, direction: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """One draw along each line, [K, D], and its log-density [K]."""
    low, high = prior.chords(x, direction)
    height = value - rng.standard_exponential(len(x))
    moved, moved_value = x.copy(), value.copy()
    waiting = np.flatnonzero(np.isfinite(high - low))  # a direction of no length has no chord
    for _ in range(MOST_SHRINKS):
        if len(waiting) == 0:
            break
        # Try a point of what is left of each chord
        t = low[waiting] + rng.random(len(waiting)) * (high - low)[waiting]
        candidates = x[waiting] + t[:, None] * direction[waiting]
        rounded = prior.rounded(candidates)
        inside = prior.inside(rounded)
        values = np.full(len(waiting), -np.inf)
        if inside.any():  # only there: outside its constraint a machine may contradict itself
            values[inside] = density(rounded[inside])

        # Take it, or shrink the chord towards where the walker stands
        accepted = values >= height[waiting]
        done = waiting[accepted]
        moved[done], moved_value[done] = candidates[accepted], values[accepted]
        below = t < 0
        low[waiting] = np.where(~accepted & below, t, low[waiting])
        high[waiting] = np.where(~accepted & ~below, t, high[waiting])
        waiting = waiting[~accepted]
    return moved, moved_value


def prior_walkers(prior: Prior, ensembles: int, size: int, rng: np.random.Generator, sweeps: int = 200) -> Floats:
    """Walkers [C, W, D] that are draws of the prior: from its centre along random chords, then as an ensemble on a flat density."""
    walkers = np.broadcast_to(prior.centre, (ensembles, size, prior.dimensions)).copy()
    flat = walkers.reshape(-1, prior.dimensions)
    scale = np.maximum(_extent(prior), 1e-9)
    value = np.zeros(len(flat))
    for _ in range(SCATTER):
        direction = _unit((rng.standard_normal(flat.shape) * scale) @ prior.free)
        flat[:], _ = _slice(prior, _flat, flat, value, direction, rng)
    values = value.reshape(ensembles, size)
    for _ in range(sweeps):
        sweep(prior, _flat, walkers, values, rng)
    return walkers


def _flat(x: Floats) -> Floats:
    return np.zeros(len(x))


def _extent(prior: Prior) -> Floats:
    """How far the polytope reaches from its centre along each axis."""
    low, high = prior.chords(np.broadcast_to(prior.centre, (prior.dimensions,) * 2), np.eye(prior.dimensions))
    return np.where(np.isfinite(high - low), high - low, 0.0)
