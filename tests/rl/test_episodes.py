from __future__ import annotations

import math

import numpy as np
import pytest

from srm.rl.episodes import EpisodeBook, Episodes, Recent, of_few
from srm.rl.evaluation import evaluate, mean_estimate, share_estimate
from srm.rl.nn.nets import Net, NetConfig, make_net
from srm.rl.ppo import actor_critic
from srm.rl.rollout import Player
from tests.rl.clockwork import Clockwork

MODES = pytest.mark.parametrize("within_step", [False, True], ids=["resetting step", "within the step"])


def net_of(envs: Clockwork) -> Net:
    return make_net(envs, "cnn", NetConfig(stack=1, width=8), actor_critic(envs.action_space, NetConfig()), seed=0)


@MODES
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_episodes_are_followed_across_rollouts(steps: int, within_step: bool) -> None:
    envs = Clockwork(lengths=(3, 5, 20), within_step=within_step)
    player, book = Player(envs, net_of(envs), steps, seed=0), EpisodeBook(3)
    totals = np.zeros(3)
    for _ in range(40):
        rollout = player.collect().rollout
        terminated = book.read(rollout)
        assert (terminated.length == np.array([3, 5, 20])[terminated.env]).all()
        np.add.at(totals, terminated.env, terminated.total)
        totals -= rollout.task_reward.sum(axis=0)
    np.testing.assert_allclose(-totals, book._total, atol=1e-4)  # what is paid and not yet of an ended episode


def test_recent_episodes_are_the_last_hundred() -> None:
    recent = Recent(size=3)
    assert math.isnan(recent.means()["return"])
    total = np.array([9.0, 0.0, 0.5, 1.0])
    recent.add(Episodes(np.zeros(4), total, np.array([1, 2, 3, 4]), total > 0))
    assert recent.means() == pytest.approx({"return": 0.5, "success": 2 / 3, "length": 3})
    assert Recent(3, recent.past()).means() == recent.means()
    assert Recent(3, [[0.5, 3.0], [0.0, 2.0]]).means()["success"] == 0.5  # as version 0.2 kept them
    assert [of_few(count) for count in (0, 1, 99, 100)] == ["", " of 1 episode", " of 99 episodes", ""]


@MODES
def test_every_env_plays_its_share_of_an_evaluation(within_step: bool) -> None:
    envs = Clockwork(lengths=(2, 3, 30), within_step=within_step)
    found = evaluate(net_of(envs), envs, 8, greedy=False, seed=0, num_steps=16)
    assert np.bincount(found.env).tolist() == [3, 3, 2]
    assert (found.length == np.array([2, 3, 30])[found.env]).all()


def test_intervals() -> None:
    # Of two draws from (1, 3) a quarter are both 1, so 2.5 % of the means are no lower than 1.
    assert (mean_estimate(np.array([1.0, 3.0])).low, mean_estimate(np.array([1.0, 3.0])).high) == (1, 3)
    many = mean_estimate(np.random.default_rng(0).normal(size=400))
    assert many.high - many.low == pytest.approx(2 * 1.96 / 20, rel=0.1)
    assert mean_estimate(np.array([1.0])).high == 1
    assert f"{mean_estimate(np.array([1.0])):.1f}" == "1.0 [1.0, 1.0]"
    assert share_estimate(np.zeros(10, bool)).low == 0
    all_hit = share_estimate(np.ones(100, bool))
    assert (all_hit.mean, round(all_hit.low, 3), round(all_hit.high, 3)) == (1, 0.963, 1)
