"""The drivers come to the end, and their styles differ where they are said to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from srm.domains.control.highway.expert import DRIVERS, drive
from srm.domains.control.highway.habits import record_with
from srm.domains.control.highway.vocabulary import (
    FASTER,
    HIGHWAY,
    HIGHWAY_WORDS,
    IDLE,
    LANE_LEFT,
    LANE_RIGHT,
    PRESENCE,
    SLOWER,
    VX,
    X,
    Y,
)
from srm.domains.demonstrations import choose
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.trajectory import Demonstrations

TASKS = ("highway", "merge")
FULL, ALL_BUT_FULL, LEAST = 30 / 80, 25 / 80, 20 / 80  # speeds as they are observed


def readings(demonstrations: Demonstrations, signal: str) -> np.ndarray:
    """Of every step."""
    rollout = demonstrations.as_rollout()
    read = find_task(demonstrations.task).event_reader().read(rollout)
    return read.signals[..., HIGHWAY_WORDS.signal_index[signal]][rollout.valid]


@pytest.mark.parametrize("name", TASKS)
def test_the_shipped_styles_trade_speed_against_room(name: str) -> None:
    task = find_task(name)
    cautious, brisk = choose(task, None, None), choose(task, Path(f"{name}_brisk"), None)
    assert len(cautious) == len(brisk) == 10
    assert readings(brisk, "speed").mean() > readings(cautious, "speed").mean() + 1
    for signal in ("gap", "time_to_collision"):
        assert np.quantile(readings(brisk, signal), 0.25) < 0.8 * np.quantile(readings(cautious, signal), 0.25)
    assert all(task.solved(trajectory) for shown in (cautious, brisk) for trajectory in shown.trajectories)


def on_the_road(speed: float, *others: tuple[float, float, float]) -> np.ndarray:
    """[5, 5]: the own car in the middle lane; the others at x, y and with a speed relative to it, as shares."""
    observed = np.zeros((5, 5), np.float32)
    observed[0, [PRESENCE, X, Y, VX]] = 1, 1, 1 / 3, speed
    for car, place in enumerate(others, 1):
        observed[car, [PRESENCE, X, Y, VX]] = 1, *place
    return observed


@pytest.mark.parametrize(
    ("observed", "cautious", "brisk"),
    [
        (on_the_road(ALL_BUT_FULL), IDLE, FASTER),
        (on_the_road(LEAST), FASTER, FASTER),
        (on_the_road(ALL_BUT_FULL, (0.15, 0, -0.02)), SLOWER, FASTER),
        (on_the_road(FULL, (0.1, 0, -0.1)), SLOWER, LANE_LEFT),
        (on_the_road(FULL, (0.1, 0, -0.1), (0.02, -1 / 3, 0)), SLOWER, LANE_RIGHT),
        (on_the_road(FULL, (0.1, 0, -0.1), (0.02, -1 / 3, 0), (0.03, 1 / 3, 0)), SLOWER, SLOWER),
        (on_the_road(LEAST, (0.1, 0, -0.1)), LANE_LEFT, LANE_LEFT),
        (on_the_road(LEAST, (0.1, 0, -0.1), (0.02, -1 / 3, 0), (0.03, 1 / 3, 0)), IDLE, IDLE),
    ],
    ids=("free", "slow", "room", "close", "left taken", "both taken", "cannot brake", "cannot do anything"),
)
def test_what_a_driver_does(observed: np.ndarray, cautious: int, brisk: int) -> None:
    assert drive(DRIVERS["cautious"], HIGHWAY, observed) == cautious
    assert drive(DRIVERS["brisk"], HIGHWAY, observed) == brisk


def test_a_style_is_recorded_by_its_name() -> None:
    pytest.importorskip("highway_env")
    task = find_task("highway")
    shown, asked = choose(task, Path("highway_brisk"), 1), record_with(task, 1, 0, habit="brisk")
    np.testing.assert_allclose(shown.trajectories[0].observations, asked.trajectories[0].observations, atol=1e-4)
    with pytest.raises(TaskError, match=r"there is no style brsk; choose one of cautious, brisk; did you mean brisk\?"):
        record_with(task, 1, 0, habit="brsk")
