"""Draws of a posterior: the same for the same seed, and honest about convergence."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tabular import Problem, TabularWords, machine
from srm.errors import SettingError
from srm.infer.posterior.infer import infer
from srm.infer.posterior.prior import Floats
from srm.infer.posterior.sample import PosteriorConfig, draw
from srm.seeding import stream
from tests.infer.posterior.machines import prior_of

QUICK = PosteriorConfig(ensembles=2, walkers=12, first_look=20, sweeps=20)


def gaussian(x: Floats) -> Floats:
    return -0.5 * (x[:, 0] - 1) ** 2


def test_the_same_seed_gives_the_same_draws_and_another_seed_others() -> None:
    problem = Problem.draw(stream(0, "problem"), 2)
    arguments = (machine(), None, TabularWords(), problem.demonstrated, (problem.play,), QUICK)
    first, again, other = (infer(*arguments, seed=seed, allow_farming=True) for seed in (3, 3, 4))
    assert first.draws.assignments.tobytes() == again.draws.assignments.tobytes()
    assert first.holes == again.holes
    assert first.draws.assignments.tobytes() != other.draws.assignments.tobytes()


def test_sampling_stops_once_it_has_converged() -> None:
    draws = draw(prior_of("?a"), gaussian, PosteriorConfig(), np.random.default_rng(0))
    assert draws.converged
    assert draws.sweeps < PosteriorConfig().sweeps
    assert draws.assignments.mean() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("sweeps", [1, 2, 6])
def test_a_budget_that_is_too_small_is_not_called_converged(sweeps: int) -> None:
    draws = draw(prior_of("?a"), gaussian, PosteriorConfig(sweeps=sweeps), np.random.default_rng(0))
    assert not draws.converged
    assert draws.sweeps == sweeps


def test_modes_that_no_walker_leaves_are_not_called_converged() -> None:
    """Each ensemble is caught in the modes that it began in, so that ensembles disagree about their weights."""

    def density(x: Floats) -> Floats:
        return np.where(
            np.abs(np.abs(x[:, :6]) - 4.9).max(axis=1) < 0.09, 0.0, -500 * (np.abs(x[:, :6]) < 4.8).sum(axis=1)
        )

    prior = prior_of(", ".join(f"?h{i}" for i in range(6)))
    draws = draw(prior, density, PosteriorConfig(ensembles=4, walkers=16, sweeps=150), np.random.default_rng(0))
    assert not draws.converged


def test_an_ensemble_of_fewer_than_four_walkers_is_refused() -> None:
    with pytest.raises(SettingError, match="walkers 3: give 0, or a number that is 4 or more"):
        PosteriorConfig(walkers=3)
