"""Trajectories, rollouts and events refuse arrays that do not fit, and say which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from srm.errors import TrajectoryError
from srm.trajectory import Demonstrations, Events, Rollout, Trajectory, as_rollout, joined


def trajectory(steps: int, *, terminated: bool = True, first: int = 0) -> Trajectory:
    """Observations count up from `first`; the agent walks along x."""
    moments = np.arange(first, first + steps + 1)
    return Trajectory(
        observations=moments.astype(np.uint8)[:, None],
        actions=np.arange(steps),
        poses=np.stack([moments, np.zeros_like(moments), np.zeros_like(moments)], axis=1).astype(np.int16),
        task_reward=np.eye(1, steps, steps - 1, dtype=np.float32)[0],
        terminated=terminated,
    )


def rollout(steps: int = 3, envs: int = 2) -> Rollout:
    return Rollout(
        observations=np.arange((steps + 1) * envs, dtype=np.uint8).reshape(steps + 1, envs, 1),
        actions=np.zeros((steps, envs), np.int64),
        poses=np.zeros((steps + 1, envs, 0), np.int16),
        task_reward=np.zeros((steps, envs), np.float32),
        terminated=np.zeros((steps, envs), bool),
        truncated=np.zeros((steps, envs), bool),
        valid=np.ones((steps, envs), bool),
    )


def marked(step: int, env: int) -> np.ndarray:
    mask = np.zeros((3, 2), bool)
    mask[step, env] = True
    return mask


def events(**changes: Any) -> Events:
    row: dict[str, Any] = {
        "steps": 3,
        "envs": 2,
        "step": np.array([0, 2, 1], np.int32),
        "env": np.array([0, 0, 1], np.int32),
        "event": np.array([1, 0, 4], np.int16),
        "attributes": np.zeros((3, 2), np.int32),
        "signals": np.zeros((3, 2, 0)),
    }
    return Events(**{**row, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"observations": np.zeros((3, 2, 1))}, r"observations: \[3, 2, 1\], expected \[4, 2, \.\.\.\]"),
        ({"actions": np.zeros((3, 2))}, "actions: float64, expected an array of whole numbers"),
        ({"poses": np.zeros((3, 2, 3), np.int16)}, r"poses: shape \[3, 2, 3\], expected \[4, 2, any\]"),
        ({"terminated": np.zeros((3, 2))}, "terminated: float64, expected an array of yes or no"),
        ({"task_reward": [0.0]}, "task_reward: list, expected an array of numbers"),
        (
            {"terminated": marked(1, 0), "truncated": marked(1, 0)},
            "truncated: step 1 of env 0 both terminated and ran out of time",
        ),
        ({"terminated": marked(1, 0), "valid": ~marked(1, 0)}, "valid: step 1 of env 0 ends an episode unplayed"),
    ],
)
def test_a_rollout_names_the_array_that_does_not_fit(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(TrajectoryError, match=problem):
        replace(rollout(), **changes)


def test_a_final_view_must_belong_to_an_ended_episode() -> None:
    finals = {
        "final_step": np.array([1]),
        "final_env": np.array([0]),
        "final_observations": np.array([[99]], np.uint8),
        "final_poses": np.zeros((1, 0), np.int16),
    }
    with pytest.raises(TrajectoryError, match="a step that ends no episode"):
        replace(rollout(), **finals)
    assert replace(rollout(), truncated=marked(1, 0), **finals).after()[1, 0] == 99


def test_after_is_the_next_view_unless_a_final_one_is_kept() -> None:
    played = rollout()
    assert np.array_equal(played.after(), played.observations[1:])
    finals = {
        "final_step": np.array([0, 2]),
        "final_env": np.array([1, 0]),
        "final_observations": np.array([[98], [99]], np.uint8),
        "final_poses": np.zeros((2, 0), np.int16),
    }
    kept = replace(played, terminated=marked(0, 1), truncated=marked(2, 0), **finals)
    assert kept.after()[:, :, 0].tolist() == [[2, 98], [4, 5], [99, 7]]
    assert kept.observations[1, 1] == 3, "the observations themselves are left as they are"


def test_a_view_is_fresh_after_an_end_and_after_resetting() -> None:
    played = replace(rollout(), terminated=marked(0, 0), valid=~marked(1, 0))
    assert played.fresh()[:, 0].tolist() == [False, True, True, False]
    assert not played.fresh()[:, 1].any()


def test_trajectories_side_by_side_are_padded_with_steps_that_are_not_real() -> None:
    both = as_rollout([trajectory(2, terminated=False), trajectory(3, first=10)])
    assert both.valid.tolist() == [[True, True], [True, True], [False, True]]
    assert both.truncated.tolist() == [[False, False], [True, False], [False, False]]
    assert both.terminated.tolist() == [[False, False], [False, False], [False, True]]
    assert both.observations[:, :, 0].tolist() == [[0, 10], [1, 11], [2, 12], [0, 13]]
    assert both.task_reward.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert both.poses[2, 0].tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"observations": np.zeros((3, 1))}, "observations: 3 for 3 actions, expected 4"),
        ({"actions": np.zeros(0, np.int64)}, "an episode has at least one step"),
        ({"poses": np.zeros((3, 3), np.int16)}, r"poses: shape \[3, 3\], expected \[4, any\]"),
        ({"task_reward": np.zeros(2)}, r"task_reward: shape \[2\], expected \[3\]"),
    ],
)
def test_a_trajectory_names_the_array_that_does_not_fit(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(TrajectoryError, match=problem):
        replace(trajectory(3), **changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"step": np.array([0, 3, 1], np.int32)}, r"step: 0\.\.3, expected 0\.\.2"),
        ({"env": np.array([0, 0, 2], np.int32)}, r"env: 0\.\.2, expected 0\.\.1"),
        ({"event": np.array([1, -1, 4], np.int16)}, "event: -1"),
        ({"step": np.array([2, 0, 1], np.int32)}, "not sorted"),
        ({"step": np.array([0, 0, 1], np.int32), "event": np.array([1, 1, 4], np.int16)}, "listed twice"),
        ({"attributes": np.zeros((2, 2), np.int32)}, r"attributes: shape \[2, 2\], expected \[3, any\]"),
        ({"signals": np.zeros((3, 1, 0))}, r"signals: shape \[3, 1, 0\], expected \[3, 2, any\]"),
    ],
)
def test_events_name_the_array_that_does_not_fit(changes: dict[str, Any], problem: str) -> None:
    assert len(events()) == 3
    with pytest.raises(TrajectoryError, match=problem):
        events(**changes)


def test_demonstrations_are_at_least_one_and_of_one_kind() -> None:
    row: dict[str, Any] = {"task": "t", "env_id": "e", "vocabulary": "v", "versions": {}}
    with pytest.raises(TrajectoryError, match="at least one is needed"):
        Demonstrations(**row, seeds=(), trajectories=())
    with pytest.raises(TrajectoryError, match="seeds: 1 for 2 trajectories"):
        Demonstrations(**row, seeds=(1,), trajectories=(trajectory(2), trajectory(3)))
    other = replace(trajectory(2), observations=np.zeros((3, 5)))
    with pytest.raises(
        TrajectoryError, match=r"demonstration 1: observations float64 \[5\], those of the first are uint8 \[1\]"
    ):
        Demonstrations(**row, seeds=(1, 2), trajectories=(trajectory(2), other))
    assert Demonstrations(**row, seeds=(1, 2), trajectories=(trajectory(2), trajectory(3))).frames == 5


def test_the_numbers_of_info_are_laid_beside_the_steps_and_are_nan_where_an_episode_has_none() -> None:
    def episode(steps: int, info: dict[str, np.ndarray]) -> Trajectory:
        poses, reward = np.zeros((steps + 1, 0), np.int16), np.zeros(steps, np.float32)
        return Trajectory(np.zeros((steps + 1, 1)), np.zeros(steps, np.int64), poses, reward, True, info)

    rollout = as_rollout([episode(2, {"speed": np.array([1.0, 2.0])}), episode(1, {})])
    np.testing.assert_array_equal(rollout.info["speed"], [[1.0, np.nan], [2.0, np.nan]])
    assert joined([rollout, rollout]).info["speed"].shape == (4, 2)
