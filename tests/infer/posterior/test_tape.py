"""The tape shows whole episodes, however many rollouts they took, and nothing of episodes whose beginning it missed."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from srm.domains.tasks import find_task
from srm.infer.posterior.tape import STEPS, Tape
from srm.trajectory import Rollout, first_columns, joined
from tests.infer.play import random_rollouts, uniform

TASK = find_task("DoorKey-5x5")  # 250 steps an episode at most


@pytest.fixture(scope="module")
def rollouts() -> list[Rollout]:
    return random_rollouts(TASK, rollouts=12, steps=100, envs=4)


def test_rollouts_joined_are_the_one_that_was_cut(rollouts: list[Rollout]) -> None:
    whole = random_rollouts(TASK, rollouts=1, steps=300, envs=4)[0]
    again = joined(random_rollouts(TASK, rollouts=3, steps=100, envs=4))
    for field in fields(Rollout):
        assert np.array_equal(getattr(again, field.name), getattr(whole, field.name)), field.name


def test_first_columns_are_those_envs_alone(rollouts: list[Rollout]) -> None:
    part = first_columns(rollouts[0], 2)
    assert part.envs == 2
    assert np.array_equal(part.actions, rollouts[0].actions[:, :2])


def test_a_tape_from_the_beginning_shows_everything(rollouts: list[Rollout]) -> None:
    tape = Tape(4, 100)
    for rollout in rollouts[:3]:
        tape.add(rollout, uniform(rollout))
    play = tape.play(np.zeros((1, 1)))
    assert play is not None
    assert np.array_equal(play.rollout.valid, joined(rollouts[:3]).valid)


def test_what_precedes_the_first_beginning_on_the_tape_is_not_valid(rollouts: list[Rollout]) -> None:
    tape = Tape(4, 100)
    for rollout in rollouts:
        tape.add(rollout, uniform(rollout))
    kept = joined(rollouts[-(STEPS // 100) :])
    play = tape.play(np.zeros((1, 1)))
    assert play is not None
    for env in range(4):
        ends = np.flatnonzero((kept.terminated | kept.truncated)[:, env])
        assert not play.rollout.valid[: ends[0] + 1, env].any()
        assert np.array_equal(play.rollout.valid[ends[0] + 1 :, env], kept.valid[ends[0] + 1 :, env])


def test_a_tape_on_which_no_episode_begins_has_nothing_to_show(rollouts: list[Rollout]) -> None:
    tape = Tape(4, 1000)  # keeps one rollout
    tape.add(rollouts[0], uniform(rollouts[0]))
    none_ends = not (rollouts[0].terminated | rollouts[0].truncated).any()
    tape.add(rollouts[1], uniform(rollouts[1]))
    assert none_ends
    episode_start = (rollouts[1].terminated | rollouts[1].truncated).any()
    assert (tape.play(np.zeros((1, 1))) is None) == (not episode_start)


def test_an_episode_begins_after_a_rollout_whose_last_step_was_a_reset() -> None:
    """The env reset at step 1, so the next rollout begins with an episode although no episode ended at step 1."""
    whole = random_rollouts(TASK, rollouts=1, steps=4, envs=1)[0]
    over = np.array([[True], [False], [False], [False]])
    truncated = replace(whole, truncated=over, valid=np.roll(~over, 1, axis=0))
    first, second = (
        Rollout(
            truncated.observations[begin : begin + 3],
            truncated.actions[begin : begin + 2],
            truncated.poses[begin : begin + 3],
            truncated.task_reward[begin : begin + 2],
            truncated.terminated[begin : begin + 2],
            truncated.truncated[begin : begin + 2],
            truncated.valid[begin : begin + 2],
        )
        for begin in (0, 2)
    )
    tape = Tape(1, STEPS)  # keeps one rollout
    for rollout in (first, second):
        tape.add(rollout, uniform(rollout))
    play = tape.play(np.zeros((1, 1)))
    assert play is not None
    assert play.rollout.valid.all()


def test_final_views_of_episodes_that_began_before_the_tape_are_left_out(rollouts: list[Rollout]) -> None:
    """Envs that reset within the step: the first end on the tape is of an episode that is not shown."""
    whole = rollouts[0]
    over = np.zeros(whole.actions.shape, np.bool_)
    over[[10, 40], 1] = True
    finals = {"final_observations": whole.observations[[10, 40], 1], "final_poses": whole.poses[[10, 40], 1]}
    within = {"final_step": np.array([10, 40], np.int32), "final_env": np.array([1, 1], np.int32), **finals}
    rollout = replace(whole, truncated=over, terminated=np.zeros_like(over), valid=np.ones_like(over), **within)
    tape = Tape(4, STEPS)
    tape.add(
        replace(whole, truncated=np.zeros_like(over), terminated=np.zeros_like(over), valid=np.ones_like(over)),
        uniform(whole),
    )
    tape.add(rollout, uniform(rollout))
    play = tape.play(np.zeros((1, 1)))
    assert play is not None
    assert play.rollout.final_step.tolist() == [40]
    assert play.rollout.valid[:, 1].sum() == 100 - 11
