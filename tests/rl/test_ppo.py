from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from srm.errors import RunError
from srm.rl.loop import task_pay, train
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import Ppo, PpoConfig, batch_advantages
from srm.rl.rollout import next_values
from tests.rl.clockwork import Clockwork, Numbers

SMALL = PpoConfig(num_envs=2, num_steps=12, epochs=2, minibatches=3)


def learner(kind: str = "cnn", seed: int = 0, config: PpoConfig = SMALL) -> Ppo:
    envs = Numbers() if kind == "mlp" else Clockwork()
    return Ppo(envs, kind, NetConfig(width=16, memory=8), config, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["cnn", "lstm", "mlp"])
def test_the_same_seed_gives_the_same_numbers(kind: str) -> None:
    def losses(seed: int) -> list[dict[str, float]]:
        return [round.losses for round in train(learner(kind, seed), task_pay, 60)]

    first = losses(0)
    assert first == losses(0)
    assert first != losses(1)


def test_a_longer_recurrence_learns_through_time() -> None:
    """With recurrence 1 the LSTM's old memory is an input, so its weights from hidden to hidden still learn; what
    differs is the gradient through earlier steps."""
    once, often = (learner("lstm", config=PpoConfig(2, 12, 1, 1, recurrence=length)) for length in (1, 12))
    for one in (once, often):
        batch = one.collect()
        one.update(batch, batch.rollout.task_reward)
    same = [torch.equal(a, b) for a, b in zip(once.net.parameters(), often.net.parameters(), strict=True)]
    assert not all(same)


def test_an_update_follows_from_the_batch_and_its_pay_alone() -> None:
    """Nothing is remembered of a batch: one that was kept, with others collected since, teaches the same."""
    at_once, later = learner(), learner()
    for one in (at_once, later):
        batch = one.collect()
        if one is later:
            one.player.collect()
        one.update(batch, batch.rollout.task_reward)
    assert all(torch.equal(a, b) for a, b in zip(at_once.net.parameters(), later.net.parameters(), strict=True))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_time_out_is_worth_what_the_critic_says_only_if_it_is_bootstrapped(bootstrap: bool) -> None:
    one = learner(config=replace(SMALL, bootstrap_truncated=bootstrap))
    batch = one.collect()
    rollout, zeros = batch.rollout, np.zeros(batch.rollout.actions.shape)
    advantages = batch_advantages(one.net, batch, zeros, one.config)
    after = next_values(one.net, batch) if bootstrap else np.zeros(zeros.shape, np.float32)
    assert rollout.truncated.any()
    expected = one.config.discount * after[rollout.truncated] - batch.values[rollout.truncated]
    np.testing.assert_allclose(advantages[rollout.truncated], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"num_steps": 100, "recurrence": 8}, "does not divide"),
        ({"num_envs": 1, "num_steps": 2}, "too few"),
        ({"num_envs": 1, "num_steps": 4}, "two steps"),
    ],
    ids=["recurrence", "minibatches", "one step each"],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, int], problem: str) -> None:
    with pytest.raises(RunError, match=problem):
        PpoConfig(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["cnn", "lstm", "mlp"])
def test_a_simple_habit_is_learnt(kind: str) -> None:
    """The paid action follows from the step that the observation shows; chance is 1/3."""
    one = learner(kind, config=PpoConfig(2, 64, 4, 2, learning_rate=5e-3, discount=0.5))
    assert any(round.paid > 0.7 for round in train(one, task_pay, 4_000))
