"""With discount 1/2 and lambda 1/2, so that every number can be worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from srm.rl.advantages import explained_variance, gae


def of(pay: list[float], value: list[float], after: list[float], **marks: list[int]) -> list[float]:
    steps = len(pay)
    terminated, truncated, resetting = (
        np.isin(np.arange(steps), marks.get(name, [])) for name in ("terminated", "truncated", "resetting")
    )
    columns = [np.array(column, np.float64)[:, None] for column in (pay, value, after)]
    masks = [mask[:, None] for mask in (terminated, truncated, ~resetting)]
    return gae(*columns, *masks, discount=0.5, gae_lambda=0.5)[:, 0].tolist()


def test_without_ends_deltas_add_up_discounted_by_a_quarter() -> None:
    # deltas: 1 + .5*2 - 4 = -2; 2 + .5*6 - 2 = 3; 0 + .5*8 - 6 = -2
    assert of([1, 2, 0], [4, 2, 6], [2, 6, 8]) == [-2 + 2.5 / 4, 3 - 2 / 4, -2]


def test_nothing_is_expected_after_an_end_and_nothing_leaks_back_over_it() -> None:
    # 1 + .5*2 - 4 = -2 | 2 - 2 = 0 (ends) | next episode: 4 + .5*8 - 6 = 2
    assert of([1, 2, 4], [4, 2, 6], [2, 6, 8], terminated=[1]) == [-2, 0, 2]


def test_after_a_time_out_the_critic_speaks_for_what_could_have_come() -> None:
    # 1 + .5*2 - 4 = -2 | 2 + .5*10 - 2 = 5 (cut; the true last observation is worth 10) | 4 + .5*8 - 6 = 2
    assert of([1, 2, 4], [4, 2, 6], [2, 10, 8], truncated=[1]) == [-2 + 5 / 4, 5, 2]


def test_a_step_spent_on_resetting_has_no_advantage_and_breaks_the_sum() -> None:
    # step 1 ends, step 2 resets, step 3 is of the next episode
    assert of([1, 2, 9, 4], [4, 2, 7, 6], [2, 6, 7, 8], terminated=[1], resetting=[2]) == [-2, 0, 0, 2]


def test_explained_variance_of_a_perfect_a_constant_and_an_idle_critic() -> None:
    returns = np.array([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1
    assert explained_variance(np.zeros(3), returns) == pytest.approx(0)
    assert math.isnan(explained_variance(returns, np.zeros(3)))
