"""The pilots land, and their styles differ where they are said to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from srm.domains.control.lunarlander.expert import STYLES
from srm.domains.control.lunarlander.habits import record_with
from srm.domains.control.lunarlander.vocabulary import LANDER_READER, LANDER_WORDS
from srm.domains.demonstrations import choose
from srm.domains.experts import actor_of
from srm.domains.record import play
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.trajectory import Demonstrations

TASKS = ("lunarlander", "lunarlander_continuous")


def totals(demonstrations: Demonstrations, signal: str) -> np.ndarray:
    """Of each episode."""
    signals = LANDER_READER.read(demonstrations.as_rollout()).signals
    return signals[..., LANDER_WORDS.signal_index[signal]].sum(axis=0)


@pytest.mark.parametrize("name", TASKS)
def test_the_shipped_styles_trade_fuel_against_softness(name: str) -> None:
    task = find_task(name)
    gentle, frugal = choose(task, None, None), choose(task, Path(f"{name}_frugal"), None)
    assert len(gentle) == len(frugal) == 10
    assert totals(frugal, "fuel").mean() < 0.5 * totals(gentle, "fuel").mean()
    assert totals(gentle, "haste").mean() < 0.6 * totals(frugal, "haste").mean()
    assert totals(gentle, "impact").mean() < 0.5 * totals(frugal, "impact").mean()
    assert all(task.solved(trajectory) for shown in (gentle, frugal) for trajectory in shown.trajectories)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("style", STYLES)
def test_pilots_land_nearly_always(name: str, style: str) -> None:
    task = find_task(name)
    env = task.environment(task.env_id)
    flown = [play(env, actor_of(STYLES[style], env, 0.0, seed), seed) for seed in range(300, 320)]
    assert sum(map(task.solved, flown)) >= 18


def test_a_style_is_recorded_by_its_name() -> None:
    task = find_task("lunarlander")
    shown, asked = choose(task, Path("lunarlander_frugal"), 1), record_with(task, 1, 0, habit="frugal")
    np.testing.assert_allclose(shown.trajectories[0].observations, asked.trajectories[0].observations, atol=1e-4)
    with pytest.raises(
        TaskError, match=r"there is no style frugl; choose one of gentle, frugal; did you mean frugal\?"
    ):
        record_with(task, 1, 0, habit="frugl")
