"""A machine as the reward of a learner: rollout after rollout of the same envs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srm.errors import AssignmentError, MachineError, TrajectoryError
from srm.evaluate.batched import assignment_of
from srm.evaluate.payer import OpenPayer, Payer
from srm.machine.language.parse import find_machine, parse
from srm.trajectory import Rollout, as_rollout
from tests.evaluate.scripts import Told, events_of, trajectory_of

FIRST = ("pick_up_key yellow (1, 2)", "unlock_door yellow (4, 4)")
SECOND = ("close_door yellow (4, 4)", "reach_goal (6, 6)", "pick_up_key yellow (1, 2)")


def rollout_of(steps: int, ends: int | None = None) -> Rollout:
    """A rollout in which nothing is seen, and in which an episode ends with step `ends`."""
    rollout = as_rollout([trajectory_of(steps)])
    terminated = np.zeros((steps, 1), np.bool_)
    if ends is not None:
        terminated[ends] = True
    nothing = np.zeros_like(terminated)
    return Rollout(
        rollout.observations, rollout.actions, rollout.poses, rollout.task_reward, terminated, nothing, ~nothing
    )


def test_episodes_go_on_across_rollouts_and_end_within_them() -> None:
    payer = Payer(find_machine("doorkey_handset"), Told(events_of(FIRST)))
    assert payer(rollout_of(2))[:, 0].tolist() == [0.1, 0.5]
    payer.open.stream.event_reader = Told(events_of(SECOND))
    assert payer(rollout_of(3, ends=1))[:, 0].tolist() == [-0.5, 1.0, 0.1]  # the key again, in a new episode


def test_a_rollout_is_read_once_whoever_asks_for_it_again() -> None:
    machine = find_machine("doorkey_handset")
    payer, rollout = OpenPayer(machine, Told(events_of(FIRST))), rollout_of(2)
    assert payer.read(rollout) is payer.read(rollout)
    assert payer.pay(rollout, assignment_of(machine))[:, 0].tolist() == [0.1, 0.5]
    payer.stream.event_reader = Told(events_of(SECOND))
    assert payer.pay(rollout_of(3), assignment_of(machine))[0, 0] == -0.5  # the door was unlocked once, not three times


def test_a_vocabulary_that_does_not_return_events_is_named() -> None:
    class Wrong(Told):
        def read(self, rollout: Rollout) -> Any:
            return {"pick_up_key": 1}

    with pytest.raises(TrajectoryError, match=r"Wrong\.read returned dict; it must return srm\.trajectory\.Events"):
        Payer(find_machine("doorkey_handset"), Wrong(events_of(FIRST)))(rollout_of(2))


def test_two_acts_at_a_step_are_refused_since_proofs_rule_them_out() -> None:
    both = events_of(("pick_up_key yellow (1, 2); see_target (3, 3)", "close_door yellow (4, 4); reach_goal (6, 6)"))
    told = "step 1 of env 0: reach_goal and close_door happen together.*vocabulary minigrid declare one.*`act=False`"
    with pytest.raises(TrajectoryError, match=told):
        Payer(find_machine("doorkey_handset"), Told(both))(rollout_of(2))


def test_values_take_the_place_of_those_in_the_machine_and_must_keep_its_constraint() -> None:
    machine, vocabulary = find_machine("doorkey_handset"), Told(events_of(FIRST))
    values = {**machine.values(), "pick": 0.2}
    assert Payer(machine, vocabulary, values)(rollout_of(2))[0, 0] == 0.2
    with pytest.raises(AssignmentError, match="the values break"):
        Payer(machine, vocabulary, {**values, "pick": 2.0})
    assert Payer(machine, vocabulary, {**values, "pick": 2.0}, outside_constraint=True)(rollout_of(2))[0, 0] == 2.0


def test_a_machine_that_cannot_pay_is_refused_when_the_payer_is_made() -> None:
    vocabulary = Told(events_of(FIRST))
    with pytest.raises(AssignmentError, match=r"no value for \?goal"):
        Payer(find_machine("doorkey"), vocabulary)
    with pytest.raises(MachineError, match="fly"):
        Payer(parse("machine m\nstart one\n    fly // 1\n"), vocabulary)
