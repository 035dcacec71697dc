"""Experts: a plan, or one action a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import srm
from srm.domains.base import Task
from srm.domains.experts import plans
from srm.domains.record import record


def task(expert: Any, success: Any = lambda trajectory: True) -> Task:
    return srm.Vocabulary("cart").task("CartPole-v1", expert=expert, success=success)


def lean(observation: np.ndarray) -> int:
    return int(observation[2] + observation[3] > 0)


class Alternating:
    """Remembers what it did last."""

    def __init__(self) -> None:
        self.last = 1

    def __call__(self, observation: np.ndarray) -> int:
        self.last = 1 - self.last
        return self.last


def test_a_function_of_env_alone_plans_and_all_others_act() -> None:
    assert plans(lambda env: [0])
    assert not any(
        map(plans, (lean, lambda obs: 0, lambda env, obs: 0, lambda env, seen: 0, Alternating, Alternating()))
    )


def test_one_that_acts_balances_the_pole() -> None:
    shown = record(task(lean), 2, seed=0)
    assert all(trajectory.steps == 500 for trajectory in shown.trajectories)
    inside = record(task(lambda env, observation: lean(env.unwrapped.state)), 2, seed=0)
    assert [trajectory.actions.tolist() for trajectory in inside.trajectories] == [
        trajectory.actions.tolist() for trajectory in shown.trajectories
    ]


def test_a_class_is_made_anew_for_every_episode() -> None:
    shown = record(task(Alternating), 3, seed=0)
    assert [trajectory.actions[0] for trajectory in shown.trajectories] == [0, 0, 0]


def test_noise_replaces_a_share_of_the_actions_and_the_seed_decides_it() -> None:
    first, again, other = (record(task(lambda observation: 1), 40, seed=seed, noise=0.5) for seed in (0, 0, 1))
    actions = [
        np.concatenate([trajectory.actions for trajectory in shown.trajectories]) for shown in (first, again, other)
    ]
    assert 0.15 < 1 - actions[0].mean() < 0.35  # half are random, half of those are 0
    assert actions[0].tolist() == actions[1].tolist() != actions[2].tolist()


def test_episodes_in_which_one_that_acts_fails_are_left_out_and_counted() -> None:
    notes: list[str] = []
    shown = record(task(Alternating, lambda trajectory: trajectory.steps > 35), 3, seed=0, report=notes.append)
    assert all(trajectory.steps > 35 for trajectory in shown.trajectories)
    assert notes[0].endswith("in which the expert failed left out")


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (lambda observation: 7, r"action 0 of the expert is 7, which is not in Discrete\(2\)"),
        (lambda observation: "left", "action 0 of the expert is 'left', which is not in"),
        (lambda observation: observation[9], "the expert raises IndexError: .*; mend it"),
        (lambda env: 1, "returned a int for a whole episode, expected a list of actions"),
        (lambda: 1, "the expert takes 0 arguments"),
        (lambda a, b, c: 1, r"the expert takes 3 arguments \(a, b, c\); write it as plan\(env\), act\(observation\)"),
        (lambda observation: 0, "CartPole-v1: the expert failed 25 times in a row: its episode of length .* `success`"),
    ],
)
def test_what_is_wrong_with_an_expert_is_a_sentence(expert: Any, message: str) -> None:
    with pytest.raises(srm.TaskError, match=message):
        record(task(expert, lambda trajectory: trajectory.steps == 500), 1, seed=0)


def test_a_plan_takes_no_noise() -> None:
    with pytest.raises(srm.TaskError, match="noise needs one that is"):
        record(task(lambda env: [0] * 500), 1, seed=0, noise=0.1)


def test_a_task_without_an_expert_says_where_to_get_one() -> None:
    with pytest.raises(srm.TaskError, match="name one with --expert MODULE:NAME, or import demonstrations"):
        record(replace(task(None), expert=None), 1, seed=0)
