"""examples/mountain_car.py: a task whose returns are never above 0, with a signal and a hole in a guard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples.mountain_car import MOUNTAIN_CAR, PUSH_LEFT, PUSH_RIGHT, height, position
from srm.domains.envs import GymnasiumEnvs, gather
from srm.domains.record import record, replay
from srm.errors import TaskError
from srm.machine.language.parse import load
from srm.trajectory import Demonstrations

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demos() -> Demonstrations:
    return record(MOUNTAIN_CAR, 3, seed=0)


def test_the_driver_reaches_the_flag_without_a_reward_above_0(demos: Demonstrations) -> None:
    for episode in demos.trajectories:
        assert MOUNTAIN_CAR.solved(episode)
        assert episode.total_reward == -episode.steps
    with pytest.raises(TaskError, match="the expert failed"):
        record(replace(MOUNTAIN_CAR, success=None), 1, seed=0)


def test_the_signal_is_the_height_that_gymnasium_draws(demos: Demonstrations) -> None:
    rollout = demos.as_rollout()
    events = MOUNTAIN_CAR.event_reader().read(rollout)
    *envs, _ = (env.unwrapped.state[0] for env in replay(demos, 0, MOUNTAIN_CAR.environment))
    car = MOUNTAIN_CAR.environment(MOUNTAIN_CAR.env_id).unwrapped
    expected = car._height(np.array(envs[1:]))  # type: ignore[attr-defined]
    assert np.allclose(events.signals[: len(expected), 0, 0], expected, atol=1e-6)
    assert np.allclose(height(position(np.array([[-1.0, 0.0], [1.0, 0.0]]))), car._height(np.array([-1.2, 0.6])))  # type: ignore[attr-defined]


def test_the_flag_is_reached_once_at_the_end(demos: Demonstrations) -> None:
    events = MOUNTAIN_CAR.event_reader().read(demos.as_rollout())
    assert events.env.tolist() == [0, 1, 2]
    assert events.step.tolist() == [episode.steps - 1 for episode in demos.trajectories]


def test_training_worlds_are_scaled_and_end_at_the_flag() -> None:
    """The driver's rule, on what the policy sees."""
    envs = MOUNTAIN_CAR.make_envs(4, seed=0)
    assert isinstance(envs, GymnasiumEnvs)
    observations, poses = envs.reset()
    steps, actions, seen = [], [], observations
    for _ in range(210):
        actions.append(np.where(seen[:, 1] >= 0, PUSH_RIGHT, PUSH_LEFT))
        steps.append(envs.step(actions[-1]))
        seen = steps[-1].observations
    envs.close()
    rollout = gather(observations, poses, actions, steps)
    assert np.abs(rollout.observations).max() <= 1
    assert np.abs(rollout.observations[..., 1]).max() > 0.5, "raw velocities are 0.07 at most"
    assert rollout.terminated.any(axis=0).all()
    assert len(MOUNTAIN_CAR.event_reader().read(rollout)) == rollout.terminated.sum()


def test_the_machine_has_a_hole_in_a_guard() -> None:
    machine = load(ROOT / "examples" / "mountain_car.srm", {MOUNTAIN_CAR.vocabulary.name: MOUNTAIN_CAR.vocabulary})
    assert machine.hole_names == ("flag", "enough", "progress", "time")
    assert "height > ?enough" in str(machine)
