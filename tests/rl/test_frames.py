"""Two envs, frames stacked by three; rows are worked out by hand.

With B = 2 and L = 3 the frame of step t of env b is row (2 + t) * 2 + b; rows 0..3 are from before the rollout.
"""

from __future__ import annotations

import numpy as np
import pytest

from srm.domains.minigrid.encoding import MINIGRID_CELLS
from srm.rl.nn.frames import ages, episode_starts, mask_old, newest_rows
from srm.rl.nn.nets import NetConfig, make_net
from srm.rl.ppo import actor_critic
from srm.rl.rollout import Player, batch_of
from tests.rl.clockwork import Clockwork

BLANK = 99


def rows(episode_start: list[list[int]], before: list[int]) -> list[list[list[int]]]:
    starts = np.array(episode_start, bool)
    steps, envs = len(starts) - 1, starts.shape[1]
    return mask_old(newest_rows(steps, envs, 3), ages(starts, np.array(before)), BLANK).tolist()


def test_frames_from_before_the_rollout_are_seen_if_the_episode_goes_on() -> None:
    assert rows([[0, 0], [0, 0]], before=[7, 0])[0] == [[4, 2, 0], [5, 3, BLANK]]


def test_an_episode_begins_with_blanks() -> None:
    found = rows([[1, 0], [0, 1], [0, 0]], before=[7, 7])
    assert found[0] == [[4, BLANK, BLANK], [5, 3, 1]]
    assert found[1] == [[6, 4, BLANK], [7, BLANK, BLANK]]
    assert found[2] == [[8, 6, 4], [9, 7, BLANK]]


@pytest.mark.parametrize("within_step", [False, True], ids=["resetting step", "within the step"])
def test_a_player_sees_the_frames_of_its_own_episode_alone(within_step: bool) -> None:
    envs = Clockwork(within_step=within_step)
    net = make_net(envs, "cnn", NetConfig(stack=3), actor_critic(envs.action_space, NetConfig()), seed=0)
    player = Player(envs, net, 9, seed=0)
    for _ in range(3):
        batch = player.collect()
        observations = batch.rollout.observations
        step, episode = observations[:, :, 0, 0, 0], observations[:, :, 0, 2, 2]
        seen = batch.frames[batch.rows]  # [T+1, B, L, cells]
        for lag in range(3):
            young = step < lag
            assert (seen[:, :, lag][young] == net.blank()).all()
            assert (seen[:, :, lag, 0][~young] == code(step[~young] - lag, 0)).all()
            assert (seen[:, :, lag, 2][~young] == code(0, episode[~young])).all()


def code(kind: np.ndarray | int, state: np.ndarray | int) -> np.ndarray:
    """Of a cell with that type and that state, of colour 0."""
    cell = np.stack(np.broadcast_arrays(kind, 0, state), axis=-1).astype(np.uint8)
    return MINIGRID_CELLS.encode(cell[..., None, None, :])[..., 0]


@pytest.mark.parametrize("within_step", [False, True], ids=["resetting step", "within the step"])
def test_a_foreign_rollout_is_seen_as_its_player_saw_it(within_step: bool) -> None:
    envs = Clockwork(within_step=within_step)
    net = make_net(envs, "cnn", NetConfig(stack=3), actor_critic(envs.action_space, NetConfig()), seed=0)
    batch = Player(envs, net, 9, seed=0).collect()
    again = batch_of(net, batch.rollout)
    assert (again.episode_start == batch.episode_start).all()
    assert (again.frames[again.rows] == batch.frames[batch.rows]).all()


def test_the_view_at_an_episodes_end_is_still_of_that_episode() -> None:
    envs = Clockwork(lengths=(2,))
    net = make_net(envs, "cnn", NetConfig(), actor_critic(envs.action_space, NetConfig()), seed=0)
    batch = Player(envs, net, 4, seed=0).collect()
    assert batch.rollout.valid[:, 0].tolist() == [True, True, False, True]
    assert episode_starts(batch.rollout, np.ones(1, bool))[:, 0].tolist() == [True, False, False, True, False]
