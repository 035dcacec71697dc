"""Keys: the task's own, its domain's, the environment's, or a number for each action."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest

from srm.domains.controls import Controls, action_names, controls_of
from srm.domains.tasks import find_task
from srm.errors import TaskError

TASK = find_task("doorkey")


def own(env_id: str) -> tuple[Any, gymnasium.Env]:
    """A task of nobody's domain."""
    words = replace(TASK.vocabulary, name="own")
    return replace(TASK, env_id=env_id, vocabulary=words), gymnasium.make(env_id)


def test_minigrid_is_played_by_arrows_and_letters() -> None:
    env = TASK.environment(TASK.env_id)
    controls = controls_of(TASK, env)
    assert sorted(controls.keys.values()) == list(range(7))
    assert action_names(TASK, env)[controls.keys[("ArrowUp",)]] == "forward"
    assert controls.noop == 6
    assert controls_of(replace(TASK, controls=Controls({("x",): 0})), env).keys == {("x",): 0}


def test_what_the_environment_says_is_translated() -> None:
    task, env = own("MountainCar-v0")
    controls = controls_of(task, env)
    assert controls.keys[("ArrowLeft",)] == 0
    assert controls.keys[("ArrowRight",)] == 2
    assert controls.noop == 1
    assert 1 in controls.keys.values()  # the one without a key has a number


def test_an_environment_that_says_nothing_has_number_keys() -> None:
    task, env = own("CartPole-v1")
    assert controls_of(task, env) == Controls({("1",): 0, ("2",): 1}, None)
    assert action_names(task, env) == ["action 0", "action 1"]


def test_what_keys_cannot_choose_is_refused() -> None:
    task, env = own("Pendulum-v1")
    with pytest.raises(TaskError, match="keys choose among a few"):
        controls_of(task, env)
    with pytest.raises(TaskError, match="one key or more"):
        Controls({(): 0})


def test_a_mapping_that_makes_no_sense_is_left_out() -> None:
    task, env = own("CartPole-v1")
    odd = {("a",): 0, "b": 1, (99999,): 1, ("c",): 7, 100: 1}
    env = SimpleNamespace(  # type: ignore[assignment]
        action_space=env.action_space, unwrapped=SimpleNamespace(get_keys_to_action=lambda: odd)
    )
    assert controls_of(task, env).keys == {("a",): 0, ("b",): 1, ("d",): 1}
