"""An environment with compiled steps is MiniGrid's: the same envs of the same seeds, and the same of every step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from srm.domains.envs import make_environment
from srm.domains.minigrid.compiled import CompiledGrid, compiled
from srm.domains.minigrid.envs import ShowPose
from srm.domains.minigrid.scenes import GridMoment
from srm.domains.minigrid.tasks import ENVIRONMENTS
from srm.domains.record import play
from srm.domains.scenes import look
from srm.domains.tasks import find_task
from srm.seeding import stream
from srm.trajectory import Trajectory

# Each kind of layout, in its smallest and largest env
IDS = [env_id for ids in ENVIRONMENTS.values() for env_id in (ids[0], ids[-1])] + [
    *("MiniGrid-ObstructedMaze-2Dlhb-v1", "MiniGrid-MultiRoom-N4-S5-v0", "MiniGrid-UnlockPickup-v0"),
    *("MiniGrid-Empty-5x5-v0", "MiniGrid-LavaCrossingS9N1-v0"),
]


def played(env: gymnasium.Env, actions: np.ndarray, seed: int) -> tuple[Trajectory, list[GridMoment]]:
    moments: list[GridMoment] = []

    def watch(env: gymnasium.Env) -> None:
        moment = look(env)
        assert isinstance(moment, GridMoment)
        moments.append(moment)

    return play(
        env, lambda observations: int(actions[len(observations) - 1]), seed, most=len(actions), watch=watch
    ), moments


def assert_same(env_id: str, actions: np.ndarray, seed: int) -> Trajectory:
    env, own = make_environment(env_id), compiled(make_environment(env_id))
    assert isinstance(own, CompiledGrid)
    (theirs, their_moments), (ours, our_moments) = played(env, actions, seed), played(own, actions, seed)
    for name in ("observations", "actions", "poses", "task_reward"):
        assert np.array_equal(getattr(theirs, name), getattr(ours, name)), name
    assert theirs.terminated == ours.terminated
    for there, here in zip(their_moments, our_moments, strict=True):
        assert np.array_equal(there.cells, here.cells)
        assert (there.pose, tuple(there.carried)) == (here.pose, here.carried)
        assert np.array_equal(there.seen, here.seen)
    return theirs


@pytest.mark.parametrize("env_id", IDS)
def test_steps_and_worlds_are_the_same(env_id: str):
    rng = stream(0, "actions")
    for seed in range(3):
        assert_same(env_id, rng.choice(7, size=400, p=[0.15, 0.15, 0.3, 0.1, 0.05, 0.2, 0.05]), seed)


@pytest.mark.parametrize("name", ["doorkey", "keycorridor", "obstructedmaze"])
def test_the_end_and_its_reward_are_the_same(name: str):
    task = find_task(name)
    env = task.environment(task.env_id)
    env.reset(seed=0)
    assert task.expert is not None
    actions = task.expert(env)
    assert actions is not None
    assert assert_same(task.env_id, np.array(actions), 0).terminated


def test_an_environment_without_compiled_steps_or_in_a_wrapper_stays_as_it_is():
    other = make_environment("MiniGrid-MemoryS7-v0")
    assert compiled(other) is other
    wrapped = gymnasium.wrappers.TransformReward(make_environment("MiniGrid-DoorKey-5x5-v0"), lambda reward: 2 * reward)
    assert compiled(wrapped) is wrapped
    resized = ShowPose(gymnasium.make("MiniGrid-DoorKey-5x5-v0", agent_view_size=9))
    assert compiled(resized) is resized
