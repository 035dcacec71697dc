"""Statistics over seeds: pure functions of arrays.

    N  rows of a log            S  runs of a curve, one a seed
    X  points of a grid         D  draws of a bootstrap

A number that is not known is NaN, and a return that was never reached takes infinitely many frames. Intervals are percentiles of a
bootstrap over whole runs, since the values along one run depend on each other. They are the same whenever they are computed. Only the share of
runs that have reached a return has Wilson's: where all runs agree, drawing them anew knows of no doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from srm.seeding import stream

DRAWS, LEVEL = 2000, 0.95
_AT_ONCE = 4_000_000  # numbers drawn in one piece, 32 MB

Statistic = Callable[..., np.ndarray]  # (values, axis) -> values without that axis


@dataclass(frozen=True)
class SeedEstimate:
    """A number over seeds with its interval, which one seed alone does not have."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Band:
    """The same at every point of a grid, and of how many seeds."""

    x: np.ndarray  # [X]
    value: np.ndarray  # [X]
    low: np.ndarray  # [X]
    high: np.ndarray  # [X]
    seeds: np.ndarray  # [X]


# Over seeds


def interquartile_mean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """The mean without the lowest and the highest quarter, each rounded down: of less than four values, their mean."""
    count = values.shape[axis]
    trimmed = count // 4
    if trimmed == 0:
        return np.mean(values, axis=axis)
    return np.mean(np.take(np.sort(values, axis=axis), range(trimmed, count - trimmed), axis=axis), axis=axis)


def bootstrap(strata: Sequence[np.ndarray], statistic: Statistic, draws: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    """Low and high, [...], of a statistic of runs [S, ...]; every stratum [S_i, ...] is drawn from by itself and keeps its share."""
    rng = stream(0, "bootstrap")
    chosen = [rng.integers(len(stratum), size=(draws, len(stratum))) for stratum in strata]  # [D, S_i] each
    drawn = np.concatenate([stratum[index] for stratum, index in zip(strata, chosen, strict=True)], axis=1)
    low, high = np.quantile(statistic(drawn, axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def estimate(strata: Sequence[np.ndarray], statistic: Statistic = interquartile_mean) -> SeedEstimate:
    """Of runs [S_i] in strata, those that are not known left out."""
    known = [stratum[~np.isnan(stratum)] for stratum in strata]
    known = [stratum for stratum in known if len(stratum)]
    if not known:
        return SeedEstimate(np.nan, np.nan, np.nan)
    together = np.concatenate(known)
    low, high = bootstrap(known, statistic) if len(together) > 1 else (np.nan, np.nan)
    return SeedEstimate(float(statistic(together, axis=0)), float(low), float(high))


def band(
    x: np.ndarray, strata: Sequence[np.ndarray], statistic: Statistic = interquartile_mean, draws: int = DRAWS
) -> Band:
    """Of runs [S_i, X] in strata. At each point the runs count whose value is known there."""
    together = np.concatenate(strata)  # [S, X]
    known = ~np.isnan(together)
    value, low, high = np.full((3, len(x)), np.nan)
    # Runs come and go a few times along the grid; between, all points are resampled alike.
    for pattern in np.unique(known, axis=1).T:
        runs = [stratum[part] for stratum, part in zip(strata, np.split(pattern, _ends(strata)), strict=True)]
        runs = [stratum for stratum in runs if len(stratum)]
        points = np.flatnonzero((known == pattern[:, None]).all(axis=0))
        size = max(1, _AT_ONCE // (draws * max(1, int(pattern.sum()))))
        for some in (points[i : i + size] for i in range(0, len(points), size) if runs):
            value[some] = statistic(np.concatenate(runs)[:, some], axis=0)
            if pattern.sum() > 1:
                low[some], high[some] = bootstrap([stratum[:, some] for stratum in runs], statistic, draws)
    return Band(x, value, low, high, known.sum(axis=0))


def _ends(strata: Sequence[np.ndarray]) -> np.ndarray:
    return np.cumsum([len(stratum) for stratum in strata])[:-1]


def profile(strata: Sequence[np.ndarray], thresholds: np.ndarray) -> Band:
    """The share of runs [S_i] in strata that end with at least each threshold, [X]."""
    known = [stratum[~np.isnan(stratum)] for stratum in strata]
    reached = [(stratum[:, None] >= thresholds).astype(float) for stratum in known]  # [S_i, X]
    return band(thresholds, reached, np.mean)


def share_reached(x: np.ndarray, reached: np.ndarray, watched: np.ndarray) -> Band:
    """The share of runs [S] that have reached a return by each point of a grid [X], with its interval.

    `reached[s]` is where run s did, infinite if it did not; `watched[s]` how far it was seen. A run that ends before counts as one that may
    still have got there, so the share is Kaplan and Meier's:

        share(x) = 1 - product over the points t <= x at which runs reach it of (1 - runs that do at t / runs that had not before t)

    It is not known beyond the last run that was watched in vain.
    """
    seen = np.where(np.isfinite(reached), np.inf, watched)  # [S]
    share = np.zeros(len(x))
    for at in np.unique(reached[np.isfinite(reached)])[::-1]:
        candidates = np.sum((reached >= at) & (seen >= at))
        falls = np.sum(reached == at) / candidates
        share = np.where(x >= at, falls + (1 - falls) * share, share)
    runs = (seen >= x[:, None]).sum(axis=1)  # [X]
    known = runs > 0
    low, high = _wilson(np.where(known, share, np.nan), np.maximum(runs, 1))
    return Band(x, np.where(known, share, np.nan), low, high, runs)


def _wilson(share: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a share of so many runs, which has room where all of them agree."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * np.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


# Along one run


def carried(x: np.ndarray, y: np.ndarray, grid: np.ndarray, until: float) -> np.ndarray:
    """The last value known at each point of a grid, [X]; not known before the first one and beyond `until`."""
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    if not len(x):
        return np.full(len(grid), np.nan)
    row = np.searchsorted(x, grid, side="right") - 1
    return np.where((row >= 0) & (grid <= until), y[np.maximum(row, 0)], np.nan)


def average(x: np.ndarray, y: np.ndarray, end: float) -> float:
    """The area under a run from its first known value to `end`, each value carried to the next, by the length of that."""
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    if not len(x) or end <= x[0]:
        return np.nan
    edges = np.minimum(np.append(x, end), end)
    edges[-1] = end
    return float(np.sum(y * np.diff(edges)) / (end - x[0]))


def first_reach(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """Where a run was first as good as this."""
    reached = np.flatnonzero(y >= target)
    return float(x[reached[0]]) if len(reached) else np.inf
