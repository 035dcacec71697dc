"""Hopper's words: each by hand, and its terms held against what the environment itself puts into `info` and pays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from srm.domains.control.hopper.vocabulary import (
    HOPPER_READER,
    HOPPER_WORDS,
    LEAN,
    OBSERVED,
    RISE,
    Z,
    height,
    lean,
    rise,
)
from srm.domains.demonstrations import choose
from srm.domains.tasks import find_task
from srm.infer.posterior.infer import random_play
from srm.trajectory import Rollout

HOPPER = find_task("hopper")
SHIPPED = ("hopper", "hopper_fast")


def signals(rollout: Rollout) -> dict[str, np.ndarray]:
    read = HOPPER_READER.read(rollout).signals
    return {name: read[..., index][rollout.valid] for name, index in HOPPER_WORDS.signal_index.items()}


def seen(**numbers: float) -> np.ndarray:
    """[1, 1, 11] one observation: nothing moves but what is named."""
    places = {"height": Z, "lean": LEAN, "rises": RISE}
    observed = np.zeros((1, 1, OBSERVED))
    for name, number in numbers.items():
        observed[..., places[name]] = number
    return observed


def test_a_hop_begins_where_sinking_ends() -> None:
    assert rise(seen(rises=-0.1), seen(rises=0.2)).item()
    assert not rise(seen(rises=0.1), seen(rises=0.2)).item()
    assert not rise(seen(rises=0.1), seen(rises=-0.2)).item()


def test_height_and_lean_are_those_of_the_torso() -> None:
    assert height(seen(height=1.25)).item() == 1.25
    assert lean(seen(lean=-0.1)).item() == pytest.approx(0.1)
    assert lean(seen(lean=3)).item() == 0.5


def pays_what_the_environment_pays(rollout: Rollout) -> None:
    ours = signals(rollout)
    np.testing.assert_allclose(ours["speed"], rollout.info["reward_forward"][rollout.valid])
    paid = ours["speed"] - 0.001 * ours["torque"] + ours["upright"]
    np.testing.assert_allclose(paid, rollout.task_reward[rollout.valid], atol=1e-5)


@pytest.mark.parametrize("name", SHIPPED)
def test_speed_torque_and_upright_make_up_the_environments_reward(name: str) -> None:
    pays_what_the_environment_pays(choose(HOPPER, Path(name), None).as_rollout())


def test_they_are_the_terms_in_its_info_also_where_it_falls() -> None:
    pytest.importorskip("mujoco")
    rollout = random_play(HOPPER, choose(HOPPER, None, None).as_rollout(), seed=0, frames=1000).rollout
    assert rollout.terminated.any()
    pays_what_the_environment_pays(rollout)
    ours = signals(rollout)
    np.testing.assert_allclose(-0.001 * ours["torque"], rollout.info["reward_ctrl"][rollout.valid], atol=1e-8)
    np.testing.assert_array_equal(ours["upright"], rollout.info["reward_survive"][rollout.valid])
    falls = HOPPER_READER.read(rollout).event == HOPPER_WORDS.event_index["fell"]
    assert falls.sum() == (rollout.terminated & rollout.valid).sum()
