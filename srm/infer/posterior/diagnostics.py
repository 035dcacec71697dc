"""Whether ensembles of walkers have converged: split R-hat on ranks between ensembles, and the effective sample size.

    draws [C, W, S]: C ensembles of W walkers, S sweeps, of one number

As in Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), which ArviZ implements for chains. Walkers of an ensemble move together,
so R-hat compares ensembles (and the halves of each), not walkers; the effective size follows each walker along its sweeps.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from srm.infer.posterior.prior import Floats

LEAST_HALF = 2  # sweeps, below which halves cannot be compared
_GRID = np.linspace(-5.0, 5.0, 1001)
_CDF = np.array([NormalDist().cdf(z) for z in _GRID])


def r_hat(draws: Floats) -> float:
    """Near 1 where both halves of all ensembles draw from the same distribution; the worse of its middle and of its width."""
    half = draws.shape[2] // 2
    if half < LEAST_HALF:
        return np.inf
    chains = np.concatenate([draws[:, :, :half], draws[:, :, -half:]]).reshape(2 * len(draws), -1)
    return max(_r_hat(_normal_scores(chains)), _r_hat(_normal_scores(np.abs(chains - np.median(chains)))))


def effective_size(draws: Floats) -> float:
    """How many independent draws say as much of the mean; 0 where there are too few sweeps to tell."""
    if draws.shape[2] < 2 * LEAST_HALF:
        return 0.0
    return _effective_size(_normal_scores(draws.reshape(-1, draws.shape[2])))


def _normal_scores(chains: Floats) -> Floats:
    """Ranks, with ties sharing theirs, on the scale of a standard normal."""
    _, inverse, counts = np.unique(chains, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    rank = (last - (counts - 1) / 2)[inverse.reshape(chains.shape)]
    return _quantile((rank - 0.375) / (chains.size + 0.25))


def _quantile(p: Floats) -> Floats:
    """Of the standard normal, by interpolation: within 1e-4 of the truth, which is finer than ranks can tell."""
    return np.interp(p, _CDF, _GRID)


def _r_hat(chains: Floats) -> float:
    count = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = count * chains.mean(axis=1).var(ddof=1)
    if within <= 0:
        return 1.0 if between <= 0 else np.inf
    return float(np.sqrt((count - 1) / count + between / (count * within)))


def _effective_size(chains: Floats) -> float:
    """Geyer's initial monotone sequence over the chains together."""
    number, count = chains.shape
    covariance = _autocovariance(chains).mean(axis=0)  # [S]
    within = covariance[0] * count / (count - 1)
    total = within * (count - 1) / count + (chains.mean(axis=1).var(ddof=1) if number > 1 else 0.0)
    if total <= 0:
        return float(number * count)
    rho = 1 - (within - covariance * count / (count - 1)) / total
    rho[0] = 1.0
    pairs = rho[: count // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    monotone = np.minimum.accumulate(pairs[:stop])
    time = max(-1.0 + 2.0 * float(monotone.sum()), 1.0 / np.log10(number * count))
    return float(number * count / time)


def _autocovariance(chains: Floats) -> Floats:
    """[n, S] at lags 0, 1, ..."""
    count = chains.shape[1]
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), size)
    return np.fft.irfft(np.abs(spectrum) ** 2, size)[:, :count] / count
