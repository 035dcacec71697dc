"""Envs by EnvPool and by Gymnasium keep one contract."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from srm.domains.envs import EnvPoolEnvs, Envs, GymnasiumEnvs, gather, make_environment, make_envs
from srm.domains.minigrid.envs import ShowPose
from srm.errors import TaskError
from srm.seeding import stream
from srm.trajectory import Rollout

DOORKEY = "MiniGrid-DoorKey-5x5-v0"


def play(envs: Envs, steps: int, seed: int = 0) -> Rollout:
    observations, poses = envs.reset()
    actions = stream(seed, "actions").integers(envs.action_space.count, size=(steps, envs.count))
    return gather(observations, poses, list(actions), [envs.step(row) for row in actions])


def first_views(seed: int) -> list[bytes]:
    envs = EnvPoolEnvs("MiniGrid-DoorKey-16x16-v0", 16, seed)
    observations, poses = envs.reset()
    return [observation.tobytes() + pose.tobytes() for observation, pose in zip(observations, poses, strict=True)]


def test_the_same_seed_gives_the_same_worlds() -> None:
    one, two = play(EnvPoolEnvs(DOORKEY, 4, 7), 300), play(EnvPoolEnvs(DOORKEY, 4, 7), 300)
    for name in ("observations", "poses", "task_reward", "terminated", "truncated", "valid"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_neighbouring_seeds_share_no_worlds() -> None:
    assert len({*first_views(0), *first_views(1)}) == 32


def test_a_long_seed_is_taken() -> None:
    envs = EnvPoolEnvs(DOORKEY, 1, 2**62)
    assert len(envs.reset()[0]) == 1
    envs.close()


def test_the_step_after_an_end_is_not_real_and_pays_nothing() -> None:
    played = play(EnvPoolEnvs(DOORKEY, 8, 0), 600)
    over = played.terminated | played.truncated
    assert over.sum() >= 16, "two time-outs in each env, or ends"
    assert np.array_equal(~played.valid[1:], over[:-1])
    assert not played.task_reward[~played.valid].any()
    assert len(played.final_step) == 0, "the observation after an end is the true last one, so none has to be kept"


def test_worlds_tell_what_they_show() -> None:
    envs = make_envs(DOORKEY, 3, 0)
    observations, poses = envs.reset()
    assert (envs.env_id, envs.count, envs.action_space.count) == (DOORKEY, 3, 7)
    assert observations.shape == (3, *envs.observation_space.shape)
    assert observations.dtype == envs.observation_space.dtype == np.uint8
    assert poses.shape == (3, 3)
    assert poses.dtype == np.int16


def gymnasium_worlds(mode: AutoresetMode, env_id: str = "CartPole-v1", count: int = 3) -> GymnasiumEnvs:
    wrappers = [ShowPose] if env_id.startswith("MiniGrid") else []
    vector = gymnasium.make_vec(
        env_id, count, vectorization_mode="sync", wrappers=wrappers, vector_kwargs={"autoreset_mode": mode}
    )
    return GymnasiumEnvs(vector, seed=3)


def episodes(envs: Envs, steps: int) -> list[list[bytes]]:
    """What each env shows of its first two episodes, seen through `valid` and `after`; every action is 1."""
    observations, poses = envs.reset()
    actions = [np.ones(envs.count, np.int64)] * steps
    played = gather(observations, poses, actions, [envs.step(row) for row in actions])
    after, over, shown = played.after(), played.terminated | played.truncated, []
    for env in range(envs.count):
        ends = np.flatnonzero(over[:, env])[:2]
        moments = [step for step in range(ends[1] + 1) if played.valid[step, env]]
        shown.append([after[step, env].tobytes() for step in moments])
    return shown


@pytest.mark.parametrize("env_id", ["CartPole-v1", DOORKEY])
def test_both_autoreset_modes_show_the_same_episodes(env_id: str) -> None:
    steps = 40 if env_id == "CartPole-v1" else 520
    same, following = (
        episodes(gymnasium_worlds(mode, env_id), steps) for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)
    )
    assert same == following


def test_a_world_that_resets_within_the_step_keeps_its_last_view() -> None:
    played = play(gymnasium_worlds(AutoresetMode.SAME_STEP), 100)
    assert played.valid.all()
    assert played.terminated.any()
    assert len(played.final_step) == (played.terminated | played.truncated).sum()
    fallen = np.abs(played.final_observations[:, 2]) > 0.2  # the angle at which CartPole ends
    assert fallen.all() or np.abs(played.final_observations[:, 0]).max() > 2.4
    assert np.abs(played.observations[1:][played.terminated][:, 2]).max() < 0.1, (
        "while `observations` shows the next episode"
    )


def test_minigrid_through_gymnasium_has_observations_and_poses() -> None:
    played = play(gymnasium_worlds(AutoresetMode.SAME_STEP, DOORKEY), 260)
    assert played.observations.shape[2:] == (7, 7, 3)
    assert played.poses.shape[2] == 3
    assert played.truncated.any()
    assert played.final_poses.shape == (len(played.final_step), 3)


def test_an_environment_only_gymnasium_has_is_found_there() -> None:
    gymnasium.register("OnlyHere-v0", entry_point="gymnasium.envs.classic_control.cartpole:CartPoleEnv")
    try:
        envs = make_envs("OnlyHere-v0", 2, 0)
        assert isinstance(envs, GymnasiumEnvs)
        assert play(envs, 5).poses.shape == (6, 2, 0)
    finally:
        gymnasium.registry.pop("OnlyHere-v0")


class Odd(gymnasium.Env):
    """An environment with spaces of the test's choosing."""

    def __init__(self, observations: gymnasium.Space[Any], actions: gymnasium.Space[Any]) -> None:
        self.observation_space, self.action_space = observations, actions


BOX, TWO = gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(2)


@pytest.mark.parametrize(
    ("observations", "actions", "mode", "problem"),
    [
        (
            BOX,
            gymnasium.spaces.Text(3),
            AutoresetMode.NEXT_STEP,
            "wrap it so that they are Discrete, MultiDiscrete or a Box",
        ),
        (BOX, gymnasium.spaces.Discrete(2, start=-1), AutoresetMode.NEXT_STEP, "beginning at 0"),
        (
            BOX,
            gymnasium.spaces.Box(-np.inf, 1, (2,)),
            AutoresetMode.NEXT_STEP,
            "its actions have no bounds .* wrap it so",
        ),
        (BOX, gymnasium.spaces.Box(1, 1, (2,)), AutoresetMode.NEXT_STEP, "leave nothing to choose"),
        (gymnasium.spaces.Text(3), TWO, AutoresetMode.NEXT_STEP, "which no network here reads; wrap it"),
        (
            gymnasium.spaces.Dict({"a": gymnasium.spaces.Sequence(BOX)}),
            TWO,
            AutoresetMode.NEXT_STEP,
            "in a, which no network",
        ),
        (gymnasium.spaces.Graph(BOX, BOX), TWO, AutoresetMode.NEXT_STEP, "which no network here reads; wrap it"),
        (gymnasium.spaces.Dict({}), TWO, AutoresetMode.NEXT_STEP, "which is nothing"),
        (BOX, TWO, AutoresetMode.DISABLED, "its autoreset mode is AutoresetMode.DISABLED; make it with"),
    ],
)
def test_what_cannot_be_a_world_is_refused_with_a_remedy(
    observations: Any, actions: Any, mode: AutoresetMode, problem: str
) -> None:
    vector = SyncVectorEnv([lambda: Odd(observations, actions)], autoreset_mode=mode)
    with pytest.raises(TaskError, match=problem):
        GymnasiumEnvs(vector, 0)


def test_what_gymnasium_refuses_to_make_is_an_error_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def outdated(**settings: Any) -> gymnasium.Env:
        raise gymnasium.error.DeprecatedEnv("version v3 is gone; please use v4")

    gone = gymnasium.envs.registration.EnvSpec("Gone-v0", entry_point=outdated)
    monkeypatch.setitem(gymnasium.registry, "Gone-v0", gone)
    for make in (make_environment, lambda env_id: make_envs(env_id, 2, 0)):
        with pytest.raises(TaskError, match="Gone-v0: Gymnasium cannot make it: version v3 is gone; please use v4"):
            make(env_id="Gone-v0")


def test_an_unknown_environment_gets_a_near_one_suggested() -> None:
    with pytest.raises(TaskError, match=r"MiniGrid-DoorKye-8x8-v0; did you mean MiniGrid-DoorKey-8x8-v0\?"):
        make_envs("MiniGrid-DoorKye-8x8-v0", 1, 0)
    with pytest.raises(TaskError, match=r"did you mean MiniGrid-DoorKey-8x8-v0\?"):
        make_environment("MiniGrid-DoorKye-8x8-v0")
    with pytest.raises(TaskError, match="0 environments of"):
        make_envs(DOORKEY, 0, 0)
