"""Ranks of the truth are uniform: the quick version of `python -m benchmarks.truth calibration`."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import calibration
from srm.infer.posterior.sample import PosteriorConfig
from srm.seeding import stream


def test_ranks_of_the_truth_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "CONFIG", PosteriorConfig(ensembles=4, walkers=16, first_look=40, sweeps=40))
    ranks, _ = calibration.calibrate(20, seed=0)
    listed = [rank for some in ranks.values() for rank in some]
    assert len(listed) == 100
    assert min(calibration.uniform_p(listed, stream(0, "ties"))) > 0.01


def test_draws_that_are_too_narrow_or_lie_too_low_are_noticed() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=400)
    for width, shift in ((1.0, 0.0), (0.6, 0.0), (1.0, -0.4)):
        draws = width * rng.normal(size=(400, calibration.DRAWS)) + shift
        p = calibration.uniform_p((draws < truth[:, None]).sum(axis=1).tolist(), rng)
        assert (min(p) > 0.01) == (width == 1 and shift == 0)
