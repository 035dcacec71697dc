"""EnvPool's worlds are MiniGrid's worlds: put into the same world, both answer every action alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srm.domains.envs import EnvPoolWorlds, Step
from srm.domains.tasks import ENVIRONMENTS, find_task
from srm.seeding import stream
from tests.domains.minigrid.truth import put_into

ALL = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
SAMPLE = ["MiniGrid-DoorKey-8x8-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-ObstructedMaze-2Dlhb-v1"]
WORLDS = 4


class Both:
    """Four worlds of EnvPool and, beside each, the same world in the `minigrid` package."""

    def __init__(self, env_id: str, seed: int) -> None:
        self.task = find_task(env_id)
        self.worlds = EnvPoolWorlds(env_id, WORLDS, seed)
        self.originals: list[Any] = [self.task.environment(env_id) for _ in range(WORLDS)]
        views, places = self.worlds.reset()
        for world, original in enumerate(self.originals):
            original.reset(seed=0)
            self._begin(world, views[world], places[world])
        self.ended = self.cut = 0

    def _begin(self, world: int, view: np.ndarray, place: np.ndarray) -> None:
        original = self.originals[world]
        put_into(original, self.worlds._pool.debug_states()[world])
        self._compare(world, original.observation(original.unwrapped.gen_obs()), view, place)

    def _compare(self, world: int, seen: dict[str, np.ndarray], view: np.ndarray, place: np.ndarray) -> None:
        assert np.array_equal(seen["image"], view), f"world {world} looks otherwise"
        assert np.array_equal(seen["place"], place), f"world {world}: the agent stands elsewhere"

    def step(self, actions: np.ndarray) -> Step:
        step = self.worlds.step(actions)
        for world, original in enumerate(self.originals):
            if not step.real[world]:
                assert step.task_reward[world] == 0
                assert not step.ended[world]
                assert not step.cut[world]
                self._begin(world, step.views[world], step.places[world])
                continue
            seen, reward, ended, truncated, _ = original.step(int(actions[world]))
            self._compare(world, seen, step.views[world], step.places[world])
            assert step.task_reward[world] == pytest.approx(reward, abs=1e-6)
            assert step.ended[world] == ended
            assert step.cut[world] == (truncated and not ended)
        self.ended += int(step.ended.sum())
        self.cut += int(step.cut.sum())
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
    assert both.ended >= sum(plan is not None for plan in plans)


def check_time_out(env_id: str) -> None:
    both = Both(env_id, seed=3)
    limit = both.envs[0].unwrapped.max_steps
    for _ in range(limit + 1):
        both.step(np.full(WORLDS, 6))
    assert (both.ended, both.cut) == (0, WORLDS)


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
