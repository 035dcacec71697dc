"""LunarLander's words: each by hand, all of them held against the reward that Gymnasium itself pays, and what is declared of them in play."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srm.domains.control.lunarlander.vocabulary import (
    LANDER_READER,
    LANDER_WORDS,
    LEFT,
    LEFT_LEG,
    MAIN,
    VX,
    VY,
    X,
    Y,
    crash,
    fuel,
    impact,
    land,
    lift,
    miss,
    touch,
)
from srm.domains.demonstrations import load, shipped
from srm.domains.reading import read_events
from srm.domains.tasks import find_task
from srm.infer.posterior.infer import random_play
from srm.trajectory import as_rollout

TASKS = ("lunarlander", "lunarlander_continuous")


def seen(**numbers: float) -> np.ndarray:
    """[1, 1, 8] one observation: at rest on the pad but for what is said."""
    places = {"x": X, "y": Y, "vx": VX, "vy": VY, "leg": LEFT_LEG}
    observed = np.zeros((1, 1, 8), np.float32)
    for name, number in numbers.items():
        observed[..., places[name]] = number
    return observed


@pytest.mark.parametrize(
    ("after", "event"),
    [
        (seen(x=0.2, leg=1), land),
        (seen(x=-0.3, leg=1), miss),
        (seen(x=0.1, vy=-0.4), crash),
        (seen(x=1.0, vx=0.5), crash),
    ],
)
def test_an_episode_ends_in_one_of_three_ways(after: np.ndarray, event: object) -> None:
    over = np.ones((1, 1), np.bool_)
    assert [end for end in (land, miss, crash) if end(after, over).item()] == [event]
    assert not any(end(after, ~over).item() for end in (land, miss, crash))


def test_a_touch_is_as_hard_as_the_speed_before_it() -> None:
    flying, standing, goes_on = seen(vx=0.3, vy=-0.4), seen(leg=1), np.zeros((1, 1), np.bool_)
    assert touch(flying, standing, goes_on).item()
    assert impact(flying, standing, goes_on).item() == pytest.approx(0.5)
    assert lift(standing, flying, goes_on).item()
    assert impact(standing, standing, goes_on).item() == impact(standing, flying, goes_on).item() == 0
    assert not touch(flying, standing, ~goes_on).item()


def test_fuel_is_what_the_engines_burn() -> None:
    assert fuel(np.array([[0, LEFT, MAIN, 3]])).tolist() == [[0, 0.1, 1, 0.1]]
    throttles = np.array([[(-0.5, 0.5), (0.0, 1.0), (0.2, -0.6), (1.0, 0.0)]], np.float32)
    assert fuel(throttles)[0] == pytest.approx([0, 0.1, 0.66, 1])


@pytest.mark.parametrize("name", TASKS)
def test_distance_speed_tilt_and_fuel_make_up_gymnasiums_own_reward(name: str) -> None:
    task = find_task(name)
    rollout = load(shipped(task), task).as_rollout()
    signal = dict(zip(LANDER_WORDS.signal_index, np.moveaxis(LANDER_READER.read(rollout).signals, -1, 0), strict=True))
    legs = rollout.after()[..., LEFT_LEG:].sum(axis=-1) - rollout.observations[:-1, ..., LEFT_LEG:].sum(axis=-1)
    progress = signal["change_distance"] + signal["change_speed"] + signal["change_tilt"]
    reward = 10 * legs - 100 * progress - 0.3 * signal["fuel"]
    compared = rollout.valid & ~rollout.terminated
    compared[0] = False  # what changed in the first step is not known
    assert compared.sum() > 3000
    np.testing.assert_allclose(rollout.task_reward[compared], reward[compared], atol=2e-3)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_declared_holds_in_demonstrations_and_in_random_play(name: str) -> None:
    task = find_task(name)
    shown = load(shipped(task), task).as_rollout()
    own = replace(
        LANDER_READER, vocabulary=replace(LANDER_WORDS, name="own")
    )  # balances of words that ship are followed nowhere else
    for rollout in (shown, random_play(task, shown, seed=0, frames=4000).rollout):
        assert len(read_events(own, rollout)) > 0


def test_an_episode_that_lands_beside_the_pad_is_not_solved() -> None:
    task = find_task("lunarlander")
    episode = load(shipped(task), task).trajectories[0]
    assert task.solved(episode)
    beside = episode.observations.copy()
    beside[:, X] += 0.5
    assert not task.solved(replace(episode, observations=beside))
    assert LANDER_READER.read(as_rollout([episode])).steps == episode.steps
