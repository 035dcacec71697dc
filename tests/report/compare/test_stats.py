"""Statistics over seeds, worked by hand and compared with scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from srm.report.compare.stats import (
    average,
    band,
    bootstrap,
    carried,
    estimate,
    first_reach,
    interquartile_mean,
    profile,
    share_reached,
)

NAN, INF = np.nan, np.inf
RETURNS = st.floats(0, 1)


def runs(*rows: list[float]) -> np.ndarray:
    return np.array(rows, dtype=float)


# Over seeds


@pytest.mark.parametrize(
    ("values", "mean"),
    [([0.5], 0.5), ([0, 0.3, 0.9], 0.4), ([9, 1, 2, -9], 1.5), ([0, 1, 1, 1, 7], 1.0), ([8, 7, 6, 5, 4, 3, 2, 1], 4.5)],
)
def test_the_interquartile_mean_is_that_of_the_middle(values: list[float], mean: float):
    assert interquartile_mean(np.array(values)) == pytest.approx(mean)


@given(hnp.arrays(float, st.tuples(st.integers(1, 13), st.integers(1, 3)), elements=RETURNS))
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: np.ndarray):
    assert interquartile_mean(values, axis=0) == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=0))


def test_two_runs_are_drawn_in_four_ways():
    # Means 0, 1/2, 1/2, 1: a quarter of the draws lies at either end, so the interval has all of them.
    assert bootstrap([np.array([0.0, 1.0])], np.mean) == (0.0, 1.0)


def test_a_stratum_is_drawn_from_by_itself():
    # Drawn together, the two would sometimes be [0, 0]; each from its own, they never differ.
    assert bootstrap([np.array([0.0]), np.array([1.0])], np.mean) == (0.5, 0.5)


@pytest.mark.parametrize("statistic", [np.mean, np.median, interquartile_mean])
def test_intervals_are_scipys(statistic):
    values = np.random.default_rng(3).normal(0.7, 0.1, size=9)
    truth = scipy.stats.bootstrap(
        (values,), statistic, method="percentile", n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    assert bootstrap([values], statistic, draws=20_000) == pytest.approx(tuple(truth), abs=0.005)


def test_intervals_are_the_same_every_time():
    values = [np.random.default_rng(0).random(7)]
    assert bootstrap(values, np.mean) == bootstrap(values, np.mean)


@given(hnp.arrays(float, st.integers(2, 9), elements=RETURNS))
def test_an_interval_lies_among_the_values_and_holds_all_where_they_agree(values: np.ndarray):
    found = estimate([values])
    assert values.min() - 1e-12 <= found.low <= found.high <= values.max() + 1e-12


def test_one_seed_has_no_interval_and_none_no_value():
    found = estimate([np.array([0.5, NAN])])
    assert found.value == 0.5
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(estimate([np.array([NAN]), np.array([])]).value)


def test_a_band_counts_the_runs_that_are_known_at_each_point():
    # The second run begins later, the third ends earlier.
    values = runs([0, 0.1, 0.2, 0.3], [NAN, 0.3, 0.4, 0.5], [NAN, 0.2, NAN, NAN])
    found = band(np.arange(4.0), [values])
    assert found.seeds.tolist() == [1, 3, 2, 2]
    assert found.value == pytest.approx([0, 0.2, 0.3, 0.4])
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert found.low[2:] == pytest.approx([0.2, 0.3])
    assert found.high[2:] == pytest.approx([0.4, 0.5])


def test_a_band_is_not_known_where_no_run_is():
    found = band(np.arange(2.0), [runs([NAN, 1.0])])
    assert np.isnan(found.value[0])
    assert found.seeds.tolist() == [0, 1]


@given(hnp.arrays(float, (5, 3), elements=RETURNS))
def test_a_band_is_the_estimate_of_each_of_its_points(values: np.ndarray):
    found = band(np.arange(3.0), [values[:2], values[2:]])
    for point in range(3):
        one = estimate([values[:2, point], values[2:, point]])
        assert (found.value[point], found.low[point], found.high[point]) == pytest.approx(
            (one.value, one.low, one.high)
        )


def test_a_profile_tells_the_share_of_runs_that_end_as_high():
    found = profile([np.array([0.0, 0.5]), np.array([0.5, 1.0, NAN])], np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert found.value.tolist() == [1, 0.75, 0.75, 0.25, 0.25]
    assert found.low.tolist() == [1, 0.5, 0.5, 0, 0]  # one of the first two runs may be drawn twice, or neither
    assert found.high.tolist() == [1, 1, 1, 0.5, 0.5]


@given(hnp.arrays(float, st.integers(1, 9), elements=RETURNS))
def test_a_profile_never_rises(final: np.ndarray):
    found = profile([final], np.linspace(0, 1, 21))
    assert (np.diff(found.value) <= 0).all()


def test_the_share_that_has_reached_a_return_counts_who_ended_before_as_one_who_might():
    """Of four runs one reaches it at 1 and one at 3, one ends in vain at 2, one is watched up to 4."""
    band = share_reached(np.arange(6.0), np.array([1.0, 3.0, INF, INF]), np.array([1.0, 3.0, 2.0, 4.0]))
    assert band.value[:5].tolist() == pytest.approx([0, 1 / 4, 1 / 4, 1 - 3 / 4 * 1 / 2, 1 - 3 / 4 * 1 / 2])
    assert band.seeds.tolist() == [4, 4, 4, 3, 3, 2]


def test_the_share_is_not_known_beyond_the_last_run_that_was_watched_in_vain():
    band = share_reached(np.array([1.0, 2.0, 3.0]), np.array([INF, INF]), np.array([1.0, 2.0]))
    assert band.value[:2].tolist() == [0, 0]
    assert np.isnan([band.value[2], band.low[2], band.high[2]]).all()


def test_five_runs_of_five_leave_room_for_doubt():
    band = share_reached(np.array([9.0]), np.full(5, 3.0), np.full(5, 3.0))
    expected = scipy.stats.binomtest(5, 5).proportion_ci(0.95, method="wilson")
    assert (band.value[0], band.low[0], band.high[0]) == pytest.approx((1, expected.low, expected.high))


@given(hnp.arrays(float, st.integers(1, 9), elements=st.floats(0, 10)))
def test_without_a_run_that_ends_before_the_share_is_the_plain_one(reached: np.ndarray):
    x = np.linspace(0, 10, 41)
    band = share_reached(x, reached, reached)
    assert band.value == pytest.approx((reached <= x[:, None]).mean(axis=1))
    assert ((band.low <= band.value + 1e-12) & (band.value <= band.high + 1e-12)).all()


# Along one run

X, Y = np.array([10.0, 20.0, 30.0]), np.array([NAN, 0.2, 0.6])


def test_the_last_value_is_carried_up_to_where_a_run_ends():
    grid = np.array([0, 10, 20, 25, 30, 35, 40])
    assert carried(X, Y, grid, until=35.0) == pytest.approx([NAN, NAN, 0.2, 0.2, 0.6, 0.6, NAN], nan_ok=True)
    assert carried(X, Y, grid, until=INF)[-1] == 0.6
    assert np.isnan(carried(X, np.full(3, NAN), grid, until=INF)).all()


@given(st.data())
def test_carried_values_are_those_of_the_last_row(data: st.DataObject):
    x = np.sort(data.draw(hnp.arrays(float, st.integers(1, 9), elements=st.floats(0, 9), unique=True)))
    y = data.draw(hnp.arrays(float, len(x), elements=RETURNS))
    grid = data.draw(hnp.arrays(float, 5, elements=st.floats(0, 9)))
    expected = [next((v for u, v in zip(x[::-1], y[::-1], strict=True) if u <= point), NAN) for point in grid]
    assert carried(x, y, grid, INF) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("end", "mean"), [(40.0, 0.4), (30.0, 0.2), (25.0, 0.2), (20.0, NAN)])
def test_the_average_return_is_the_area_by_its_length(end: float, mean: float):
    # 0.2 from 20 to 30, then 0.6
    assert average(X, Y, end) == pytest.approx(mean, nan_ok=True)


def test_the_average_of_a_run_without_an_episode_is_not_known():
    assert np.isnan(average(X, np.full(3, NAN), 40.0))


@pytest.mark.parametrize(("target", "frames"), [(0.1, 20.0), (0.2, 20.0), (0.5, 30.0), (0.7, INF)])
def test_a_return_is_reached_at_the_first_row_that_has_it(target: float, frames: float):
    assert first_reach(X, Y, target) == frames
