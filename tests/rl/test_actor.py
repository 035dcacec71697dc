"""A network that plays one env does what it would do among many."""

from __future__ import annotations

import numpy as np
import pytest

from srm.domains.minigrid.envs import GridEnvs
from srm.domains.spaces import Choice
from srm.rl.actor import Actor
from srm.rl.nn.nets import NetConfig, make_net
from srm.rl.ppo import actor_critic
from srm.rl.rollout import batch_of, recompute
from srm.seeding import stream
from srm.trajectory import Trajectory, as_rollout

LENGTHS = (6, 3)


def episode(length: int, seed: int) -> Trajectory:
    rng = stream(seed, "views")
    observations = np.stack([rng.integers(limit, size=(length + 1, 7, 7)) for limit in (11, 6, 3)], axis=-1)
    return Trajectory(
        observations=observations.astype(np.uint8),
        actions=np.zeros(length, np.int64),
        poses=np.zeros((length + 1, 3), np.int16),
        task_reward=np.zeros(length, np.float32),
        terminated=True,
    )


@pytest.mark.parametrize("kind", ["cnn", "lstm", "mlp"])
def test_greedy_actions_are_the_likeliest_along_the_same_views(kind: str):
    net = make_net(GridEnvs, kind, NetConfig(), actor_critic(Choice(7), NetConfig()), 1)
    episodes = [episode(length, seed) for seed, length in enumerate(LENGTHS)]
    logits = recompute(net, batch_of(net, as_rollout(episodes)))["logits"]  # [T, M, A]
    actor = Actor(net, seed=0, greedy=True)
    for env, trajectory in enumerate(episodes):  # the second begins with nothing remembered of the first
        acted = [actor(list(trajectory.observations[: t + 1])) for t in range(trajectory.steps)]
        assert acted == logits[: trajectory.steps, env].argmax(axis=-1).tolist()


def test_drawn_actions_follow_the_policy():
    net = make_net(GridEnvs, "cnn", NetConfig(), actor_critic(Choice(7), NetConfig()), 1)
    observations = list(episode(1, 0).observations[:1])
    actor = Actor(net, seed=0)
    drawn = np.bincount([actor(observations) for _ in range(700)], minlength=7) / 700
    assert np.abs(drawn - 1 / 7).max() < 0.06  # a new network prefers nothing
