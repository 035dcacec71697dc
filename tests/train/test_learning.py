"""Things learnt for real, small enough to wait for."""

from __future__ import annotations

import numpy as np
import pytest

from srm.experiment.training import Training
from srm.task.table import find_task
from srm.task.worlds import make_worlds
from srm.train.episodes import Recent
from srm.train.learner import Learner
from srm.train.loop import Pay, task_pay, train
from srm.train.make import LearnerConfig
from srm.train.nets import NetConfig
from srm.train.ppo import PpoConfig


def frames_to(level: float, learner: Learner, pay: Pay, most: int) -> float:
    """Frames until the last hundred episodes returned so much; infinite if that takes more than `most`."""
    recent, seen = Recent(), 0
    for round in train(learner, pay, most):
        recent.add(round.episodes)
        seen += len(round.episodes)
        if seen >= 100 and recent.means()["return"] >= level:
            return round.frames
    return np.inf


@pytest.mark.slow
def test_ppo_learns_doorkey_5x5_from_the_tasks_reward() -> None:
    learning = Training("DoorKey-5x5").learning
    worlds = find_task("DoorKey-5x5").make_worlds(learning.ppo.worlds, seed=0)
    assert frames_to(0.9, learning.make(worlds, seed=0), task_pay, 150_000) < 150_000


@pytest.mark.slow
def test_an_mlp_learns_a_task_of_plain_numbers() -> None:
    worlds = make_worlds("CartPole-v1", 8, seed=0)
    ppo = PpoConfig(worlds=8, steps=64, epochs=8, minibatches=4, learning_rate=1e-3, norm=1.0)
    config = LearnerConfig("ppo", "mlp", NetConfig(width=64, towers="separate"), ppo)
    assert frames_to(150, config.make(worlds, seed=0), task_pay, 100_000) < 100_000
