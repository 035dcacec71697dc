"""The sampler against densities whose moments are known."""

from __future__ import annotations

import numpy as np
import pytest

from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.slices import LogDensity, prior_walkers, sweep
from tests.infer.posterior.machines import prior_of


def sample(prior: Prior, density: LogDensity, *, ensembles: int = 4, walkers: int = 32, sweeps: int = 120) -> Floats:
    """[S, D] of the second half, as the machine sees them."""
    rng = np.random.default_rng(0)
    x = prior_walkers(prior, ensembles, walkers, rng, sweeps=20)
    values = density(prior.rounded(x.reshape(-1, prior.dimensions))).reshape(ensembles, walkers)
    history = []
    for _ in range(sweeps):
        sweep(prior, density, x, values, rng)
        history.append(x.copy())
    assert values == pytest.approx(density(prior.rounded(x.reshape(-1, prior.dimensions))).reshape(ensembles, walkers))
    return prior.rounded(np.concatenate(history[sweeps // 2 :]).reshape(-1, prior.dimensions))


def test_a_gaussian_cut_at_zero() -> None:
    draws = sample(prior_of("?a, ?b", "?a >= 0"), lambda x: -0.5 * (x[:, 0] ** 2 + (x[:, 1] - 1) ** 2))
    assert (draws[:, 0] >= 0).all()
    assert draws[:, 0].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)
    assert draws[:, 0].std() == pytest.approx(np.sqrt(1 - 2 / np.pi), abs=0.03)
    assert [draws[:, 1].mean(), draws[:, 1].std()] == pytest.approx([1.0, 1.0], abs=0.05)


def test_a_thin_slanted_gaussian() -> None:
    precision = np.linalg.inv([[1.0, 0.995], [0.995, 1.0]])
    draws = sample(prior_of("?a, ?b"), lambda x: -0.5 * np.einsum("ki,ij,kj->k", x[:, :2], precision, x[:, :2]))
    assert np.cov(draws[:, :2].T) == pytest.approx(np.array([[1.0, 0.995], [0.995, 1.0]]), abs=0.1)


def test_a_density_that_jumps_where_a_guard_turns() -> None:
    draws = sample(prior_of("?a in 0 .. 1"), lambda x: np.where(x[:, 0] > 0.3, 2.0, 0.0))
    assert (draws[:, 0] > 0.3).mean() == pytest.approx(0.7 * np.exp(2) / (0.7 * np.exp(2) + 0.3), abs=0.01)


def test_two_modes_with_their_weights() -> None:
    def density(x: Floats) -> Floats:
        near = [
            np.log(weight) - 0.5 * ((x[:, :2] - at) ** 2).sum(axis=1) / 0.09 for weight, at in ((0.3, -2), (0.7, 2))
        ]
        return np.logaddexp(*near)

    draws = sample(prior_of("?a, ?b"), density, sweeps=500)
    assert (draws[:, 0] > 0).mean() == pytest.approx(0.7, abs=0.04)


def test_whole_numbers_with_their_weights() -> None:
    weights = np.log([0.1, 0.2, 0.3, 0.4])
    draws = sample(prior_of("?n in 0 .. 3 whole"), lambda x: weights[x[:, 0].astype(int)])
    assert [(draws[:, 0] == n).mean() for n in range(4)] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)


def test_the_density_is_never_asked_outside_the_constraint() -> None:
    def density(x: Floats) -> Floats:
        assert (x[:, 1] <= x[:, 0] + 1e-9).all()
        return np.zeros(len(x))

    sample(prior_of("?n in 0 .. 3 whole, ?a in 0 .. 3", "?a <= ?n"), density, sweeps=20)


def test_equalities_hold_after_many_moves() -> None:
    prior = prior_of("?a, ?b, ?c", "?a + ?b = 1", "?c = 2 * ?a")
    draws = sample(prior, lambda x: -10 * x[:, 0] ** 2, sweeps=400)
    assert draws[:, 0] + draws[:, 1] == pytest.approx(1.0, abs=1e-9)
    assert draws[:, 2] == pytest.approx(2 * draws[:, 0], abs=1e-9)
