"""The baselines do what they say: signs of what is demonstrated, and a logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.evaluate.program import Program
from srm.infer.baselines.fixed import FixedHoles, logistic, regression, signs
from srm.infer.posterior.evidence import Evidence
from srm.infer.posterior.infer import random_play
from srm.machine.language.parse import find_machine
from tests.infer.play import demonstrations

TASK = find_task("DoorKey-5x5")


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    shown = demonstrations("DoorKey-5x5", 5).as_rollout()
    program = Program(find_machine("doorkey").opened(), TASK.vocabulary)
    return Evidence.of(program, TASK.event_reader(), shown, (random_play(TASK, shown, 0, 4096),))


GUARDS_OPEN = np.array([[1.0, 1.0, -1.0, 0.5, -0.5]])  # goal, unlock, close, pick, drop


def test_what_is_demonstrated_is_plus_one_and_what_is_only_played_minus_one(evidence: Evidence) -> None:
    goal, unlock, _, pick, drop = signs(evidence, GUARDS_OPEN)
    assert (goal, unlock, pick, drop) == (1.0, 1.0, 1.0, -1.0)


def test_regression_gives_demonstrated_events_high_odds(evidence: Evidence) -> None:
    goal, unlock, _, pick, drop = regression(evidence, GUARDS_OPEN)
    assert min(goal, unlock, pick) > 0 > drop


def test_logistic_finds_the_odds_of_one_feature() -> None:
    """90 of 100 with the feature are demonstrated, 100 of 200 without it: log 9 against log 1, up to the ridge."""
    x = np.array([[1.0], [1.0], [0.0], [0.0]])
    coefficients = logistic(x, np.array([1.0, 0.0, 1.0, 0.0]), np.array([9e4, 1e4, 1e5, 1e5]))
    assert coefficients == pytest.approx([np.log(9)], abs=1e-3)


def test_logistic_does_not_overshoot_where_signals_are_large() -> None:
    rng = np.random.default_rng(32)
    x = rng.normal(size=(8, 3)) * 500 * (rng.random((8, 3)) < 0.5)
    label = np.repeat([1.0, 0.0], [5, 3])
    assert np.abs(logistic(x, label, np.ones(8))).max() < 1


@pytest.mark.parametrize("arrays", [{}, {"values": np.zeros(3)}, {"values": np.full(5, np.nan)}], ids=str)
def test_damaged_values_are_refused(arrays: dict[str, np.ndarray]) -> None:
    machine = find_machine("doorkey").opened()
    shown = demonstrations("DoorKey-5x5", 1).as_rollout()
    with pytest.raises(RunError):
        FixedHoles("signs", machine, machine.constraint(), TASK.event_reader(), shown, 0).load(arrays)
