"""EnvPool's envs are MiniGrid's envs: put into the same env, both answer every action alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srm.domains.envs import EnvPoolEnvs, Step
from srm.domains.minigrid.tasks import ENVIRONMENTS
from srm.domains.tasks import find_task
from srm.seeding import stream
from tests.domains.minigrid.truth import put_into

ALL = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
SAMPLE = ["MiniGrid-DoorKey-8x8-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-ObstructedMaze-2Dlhb-v1"]
WORLDS = 4


class Both:
    """Four envs of EnvPool and, beside each, the same env in the `minigrid` package."""

    def __init__(self, env_id: str, seed: int) -> None:
        self.task = find_task(env_id)
        self.envs = EnvPoolEnvs(env_id, WORLDS, seed)
        self.originals: list[Any] = [self.task.environment(env_id) for _ in range(WORLDS)]
        observations, poses = self.envs.reset()
        for env, original in enumerate(self.originals):
            original.reset(seed=0)
            self._begin(env, observations[env], poses[env])
        self.terminated = self.truncated = 0

    def _begin(self, env: int, observation: np.ndarray, pose: np.ndarray) -> None:
        original = self.originals[env]
        put_into(original, self.envs._pool.debug_states()[env])
        self._compare(env, original.observation(original.unwrapped.gen_obs()), observation, pose)

    def _compare(self, env: int, seen: dict[str, np.ndarray], observation: np.ndarray, pose: np.ndarray) -> None:
        assert np.array_equal(seen["image"], observation), f"env {env} looks otherwise"
        assert np.array_equal(seen["pose"], pose), f"env {env}: the agent stands elsewhere"

    def step(self, actions: np.ndarray) -> Step:
        step = self.envs.step(actions)
        for env, original in enumerate(self.originals):
            if not step.valid[env]:
                assert step.task_reward[env] == 0
                assert not step.terminated[env]
                assert not step.truncated[env]
                self._begin(env, step.observations[env], step.poses[env])
                continue
            seen, reward, terminated, truncated, _ = original.step(int(actions[env]))
            self._compare(env, seen, step.observations[env], step.poses[env])
            assert step.task_reward[env] == pytest.approx(reward, abs=1e-6)
            assert step.terminated[env] == terminated
            assert step.truncated[env] == (truncated and not terminated)
        self.terminated += int(step.terminated.sum())
        self.truncated += int(step.truncated.sum())
        return step


def check_random_actions(env_id: str, actions: int) -> None:
    both = Both(env_id, seed=1)
    for row in stream(1, "actions").integers(7, size=(actions // WORLDS, WORLDS)):
        both.step(row)


def check_expert(env_id: str) -> None:
    """Four solved episodes, and the first steps of the next four."""
    both = Both(env_id, seed=2)
    assert both.task.expert is not None
    plans = [both.task.expert(original) for original in both.originals]
    for moment in range(max(len(plan or ()) for plan in plans) + 1):
        both.step(np.array([plan[moment] if plan and moment < len(plan) else 6 for plan in plans]))
    assert both.terminated >= sum(plan is not None for plan in plans)


def check_time_out(env_id: str) -> None:
    both = Both(env_id, seed=3)
    limit = both.originals[0].unwrapped.max_steps
    for _ in range(limit + 1):
        both.step(np.full(WORLDS, 6))
    assert (both.terminated, both.truncated) == (0, WORLDS)


@pytest.mark.parametrize("env_id", SAMPLE)
def test_random_actions_have_the_same_answers_in_both(env_id: str) -> None:
    check_random_actions(env_id, 2_000)


@pytest.mark.parametrize("env_id", SAMPLE)
def test_a_solved_episode_is_the_same_in_both(env_id: str) -> None:
    check_expert(env_id)


def test_time_runs_out_at_the_same_step_in_both() -> None:
    check_time_out("MiniGrid-KeyCorridorS3R1-v0")


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ALL)
def test_every_environment_agrees(env_id: str) -> None:
    check_random_actions(env_id, 2_000)
    check_expert(env_id)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ALL)
def test_every_environment_times_out_alike(env_id: str) -> None:
    check_time_out(env_id)
