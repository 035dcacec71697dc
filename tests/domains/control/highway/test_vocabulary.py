"""The words of driving: each by hand, all of them held against what highway-env itself knows, and what is declared of them in play."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from srm.domains.control.highway.vocabulary import (
    HIGHWAY,
    HIGHWAY_READER,
    HIGHWAY_WORDS,
    LENGTH,
    MERGE,
    MERGE_READER,
    MOST_GAP,
    PRESENCE,
    VX,
    VY,
    Road,
    X,
    Y,
    arrive,
    crash,
    slowness,
    speed,
    survive,
)
from srm.domains.demonstrations import load, shipped
from srm.domains.reading import read_events
from srm.domains.record import play
from srm.domains.tasks import find_task
from srm.infer.posterior.infer import random_play
from srm.seeding import stream
from srm.trajectory import as_rollout

TASKS = ("highway", "merge")


def seen(own: tuple[float, float, float], *others: tuple[float, float, float]) -> np.ndarray:
    """[1, 1, 5, 5]: y and both speeds of the own car; x, y and the speed of the others. As observed, that is as shares."""
    observed = np.zeros((1, 1, 5, 5), np.float32)
    observed[..., 0, [PRESENCE, X]] = 1
    observed[..., 0, [Y, VX, VY]] = own
    for car, place in enumerate(others, 1):
        observed[..., car, PRESENCE] = 1
        observed[..., car, [X, Y, VX]] = place
    return observed


def test_a_drive_ends_in_one_of_three_ways() -> None:
    over, on = np.ones((1, 1), np.bool_), np.zeros((1, 1), np.bool_)
    hit, whole = {"crashed": np.ones((1, 1))}, {"crashed": np.zeros((1, 1))}
    assert crash(hit, over).item()
    assert not arrive(hit, over).item()
    assert arrive(whole, over).item()
    assert not crash(whole, over).item()
    assert survive(over).item()
    assert not any(happened.item() for happened in (crash(hit, on), arrive(whole, on), survive(on)))


@pytest.mark.parametrize(
    ("road", "y", "lane"), [(HIGHWAY, 0, 0), (HIGHWAY, 1 / 3, 1), (HIGHWAY, 2 / 3, 2), (MERGE, 0.5, 1), (MERGE, 1, 2)]
)
def test_the_lane_is_a_share_of_the_road(road: Road, y: float, lane: int) -> None:
    assert road.lane(seen((y, 0.3, 0))).item() == lane
    assert road.change_lane(seen((y, 0.3, 0)), seen((0, 0.3, 0))).item() == (lane > 0)


def test_speeds_are_in_metres_a_second() -> None:
    observed = seen((0, 0.24, 0.07))
    assert speed(observed).item() == pytest.approx(20)
    assert slowness(observed).item() == pytest.approx(10)


@pytest.mark.parametrize(
    ("others", "gap", "seconds"),
    [
        ((), 100, 10),
        (((0.125, 0, -0.05),), 20, 5),  # 25 m ahead, a car's length less, closing with 4 m/s
        (((0.125, 0, -0.0625), (0.25, 0, -0.25)), 20, 4),  # the nearer one counts
        (((0.125, 1 / 3, -0.05),), 100, 10),  # in the next lane
        (((-0.04, 0, 0.1),), 100, 10),  # behind
        (((0.125, 0, 0.05),), 20, 10),  # gets away
        (((0.02, 0, -0.05),), 0, 0),  # touches
    ],
    ids=("nobody", "one", "two", "beside", "behind", "faster", "touching"),
)
def test_the_gap_is_to_the_nearest_car_ahead_in_the_lane(others: tuple[Any, ...], gap: float, seconds: float) -> None:
    observed = seen((1 / 3, 0.3, 0), *others)
    assert HIGHWAY.gap(observed).item() == pytest.approx(gap, abs=1e-4)
    assert HIGHWAY.time_to_collision(observed).item() == pytest.approx(seconds, abs=1e-4)


def known(env: gymnasium.Env[Any, Any], rows: list[tuple[float, float]]) -> None:
    """The lane and the gap ahead, as highway-env has them."""
    car = env.unwrapped.vehicle  # type: ignore[attr-defined]
    same = [
        other.position[0] - car.position[0]
        for other in env.unwrapped.road.vehicles  # type: ignore[attr-defined]
        if other is not car and abs(other.position[1] - car.position[1]) < 2 and other.position[0] > car.position[0]
    ]
    rows.append((round(car.position[1] / 4), min(max(min(same, default=np.inf) - LENGTH, 0), MOST_GAP)))


@pytest.mark.parametrize("name", TASKS)
def test_words_read_what_highway_env_knows(name: str) -> None:
    pytest.importorskip("highway_env")
    task, rows = find_task(name), list[tuple[float, float]]()
    env, rng = task.environment(task.env_id), stream(0, "drive")
    drives = [play(env, lambda _: int(rng.integers(5)), seed, watch=lambda env: known(env, rows)) for seed in range(2)]
    rollout = as_rollout(drives)
    read = task.event_reader().read(rollout).signals
    signal = {name: read[..., index] for name, index in HIGHWAY_WORDS.signal_index.items()}
    np.testing.assert_allclose(signal["speed"], np.nan_to_num(rollout.info["speed"]), atol=1e-4)
    after = iter(rows)
    for env_index, drive in enumerate(drives):
        lane, gap = np.array([next(after) for _ in range(drive.steps + 1)])[1:].T
        np.testing.assert_array_equal(signal["lane"][: drive.steps, env_index], lane)
        np.testing.assert_allclose(signal["gap"][: drive.steps, env_index], gap, atol=1e-3)
        assert drive.info["crashed"][-1] == drive.terminated


@pytest.mark.parametrize("name", TASKS)
def test_what_is_declared_holds_in_demonstrations_and_in_random_play(name: str) -> None:
    pytest.importorskip("envpool")
    task = find_task(name)
    demonstrated = load(shipped(task), task).as_rollout()
    reader = {"highway": HIGHWAY_READER, "merge": MERGE_READER}[name]
    own = replace(reader, vocabulary=replace(HIGHWAY_WORDS, name="own"))  # balances of words that ship are not followed
    played = random_play(task.using("envpool"), demonstrated, seed=0, frames=4000).rollout
    ends = {"crash", "survive"} if name == "highway" else {"crash", "arrive"}
    for rollout in (demonstrated, played):
        assert len(read_events(own, rollout)) > 0
    happened = {HIGHWAY_WORDS.events[event].name for event in read_events(own, played).event}
    assert happened == ends | {"change_lane"}
