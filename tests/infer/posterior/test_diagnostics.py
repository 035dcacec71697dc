"""R-hat and effective sizes of chains whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from srm.infer.posterior.diagnostics import _quantile, _r_hat, effective_size, r_hat


def autoregressive(rho: float, shape: tuple[int, int, int] = (4, 16, 500)) -> np.ndarray:
    """x[t + 1] = rho x[t] + noise, begun in its own distribution; of n numbers n (1 - rho) / (1 + rho) are effective."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(shape)
    x = noise.copy()
    for t in range(1, shape[2]):
        x[:, :, t] = rho * x[:, :, t - 1] + np.sqrt(1 - rho**2) * noise[:, :, t]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(rho: float) -> None:
    draws = autoregressive(rho)
    assert effective_size(draws) == pytest.approx(draws.size * (1 - rho) / (1 + rho), rel=0.15)


def test_chains_that_alternate_are_worth_more_than_their_length() -> None:
    draws = autoregressive(-0.5)
    assert effective_size(draws) > 1.5 * draws.size


def test_r_hat_by_hand() -> None:
    # Within: 2 and 2. Means 1 and 2, whose variance is 1/2. sqrt(1/2 + (1/2) / 2).
    assert _r_hat(np.array([[0.0, 2.0], [1.0, 3.0]])) == pytest.approx(np.sqrt(0.75))


def test_r_hat_is_near_one_for_one_distribution_only() -> None:
    draws = autoregressive(0.3)
    assert r_hat(draws) < 1.01
    moved, wider, drifting = draws.copy(), draws.copy(), draws.copy()
    moved[0] += 0.5
    wider[0] *= 2
    drifting[:, :, 250:] += 0.5
    assert min(r_hat(moved), r_hat(wider), r_hat(drifting)) > 1.02


def test_scores_do_not_care_for_the_scale_of_a_number() -> None:
    draws = autoregressive(0.5)
    assert effective_size(np.exp(draws)) == pytest.approx(effective_size(draws))


def test_a_hole_that_never_moves_has_converged_and_one_that_differs_between_ensembles_never() -> None:
    still = np.ones((4, 16, 20))
    assert r_hat(still) == 1.0
    assert effective_size(still) == still.size
    still[0] = 2.0
    assert r_hat(still) > 1000


@pytest.mark.parametrize("sweeps", [1, 2, 3])
def test_a_few_sweeps_say_nothing(sweeps: int) -> None:
    draws = autoregressive(0.0, (4, 16, sweeps))
    assert r_hat(draws) == np.inf
    assert effective_size(draws) == 0.0


def test_normal_quantiles() -> None:
    assert _quantile(np.array([0.5, 0.975, 0.05])) == pytest.approx([0.0, 1.959964, -1.644854], abs=1e-4)
