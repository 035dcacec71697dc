from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from srm.errors import RunError
from srm.train.batches import Batch, Deck, looks
from srm.train.loop import task_pay, train
from srm.train.losses import (
    Lesson,
    approx_kl,
    entropy_of,
    loss_policy,
    loss_value,
    normalised,
    ppo_losses,
    ppo_slopes,
)
from srm.train.nets import NetConfig
from srm.train.ppo import Ppo, PpoConfig
from tests.train.clockwork import Clockwork, Numbers

SMALL = PpoConfig(worlds=2, steps=12, epochs=2, minibatches=3)


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def learner(kind: str = "cnn", seed: int = 0, config: PpoConfig = SMALL) -> Ppo:
    worlds = Numbers() if kind == "mlp" else Clockwork()
    return Ppo(worlds, kind, NetConfig(width=16, memory=8), config, seed)  # type: ignore[arg-type]


# Maths, worked by hand


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.1, 2.0, -2.2, -2.2),
        (1.5, 2.0, -2.4, 0.0),  # bounded at 1.2
        (0.5, -1.0, 0.8, 0.0),  # bounded at 0.8
        (1.5, -1.0, 1.5, 1.5),  # what made it worse is never bounded
        (0.5, 2.0, -1.0, -1.0),
    ],
)
def test_the_policys_loss_is_bounded_where_the_policy_has_gained_enough(
    ratio: float, advantage: float, loss: float, slope: float
) -> None:
    log_prob = numbers(math.log(ratio) - 1)
    found = loss_policy(log_prob, torch.tensor([-1.0]), torch.tensor([advantage]), clip=0.2)
    assert found.item() == pytest.approx(loss, rel=1e-5)
    assert torch.autograd.grad(found, log_prob)[0].item() == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("value", "loss", "slope"),
    [
        (1.1, 0.405, -0.9),  # moved by 0.1: (2 - 1.1)^2 / 2
        (1.5, 0.32, 0.0),  # moved by 0.5, counts as 0.2: (2 - 1.2)^2 / 2
        (3.0, 0.5, 1.0),  # further away than where it was bounded: (2 - 3)^2 / 2
    ],
)
def test_the_critics_loss_takes_the_larger_of_both_errors(value: float, loss: float, slope: float) -> None:
    said = numbers(value)
    found = loss_value(said, torch.tensor([1.0]), torch.tensor([2.0]), clip=0.2)
    assert found.item() == pytest.approx(loss)
    assert torch.autograd.grad(found, said)[0].item() == pytest.approx(slope, abs=1e-6)


def test_the_critics_loss_without_a_bound_is_half_the_squared_error() -> None:
    found = loss_value(numbers(5.0, 1.0), torch.zeros(2), torch.tensor([1.0, 1.0]), clip=None)
    assert found.item() == pytest.approx((16 / 2 + 0) / 2)


def test_advantages_are_normalised_with_n_minus_one() -> None:
    assert normalised(torch.tensor([1.0, 3.0, 5.0])).tolist() == pytest.approx([-1, 0, 1])
    assert normalised(torch.tensor([1.0, 3.0, 5.0]), floor=2).tolist() == pytest.approx([-0.5, 0, 0.5])


def test_entropy_and_divergence() -> None:
    even, sure = torch.log(torch.tensor([[0.5, 0.5]])), torch.log(torch.tensor([[1.0, 1e-30]]))
    assert entropy_of(torch.cat([even, sure])).tolist() == pytest.approx([math.log(2), 0], abs=1e-6)
    # ratio 2 and 1: (2 - 1 - log 2 + 0) / 2
    moved = approx_kl(torch.tensor([math.log(0.5), -1.0]), torch.tensor([math.log(0.25), -1.0]))
    assert moved.item() == pytest.approx((1 - math.log(2)) / 2)


# The whole loss against another implementation


def test_losses_and_gradients_equal_those_of_stable_baselines3() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    steps, actions = 32, 4
    chance = np.random.default_rng(0)

    class Nowhere(gymnasium.Env):  # type: ignore[name-defined, misc]
        observation_space = gymnasium.spaces.Box(-1, 1, (5,), np.float32)
        action_space = gymnasium.spaces.Discrete(actions)

        def reset(self, seed: int | None = None, options: object = None) -> tuple[np.ndarray, dict[str, object]]:
            return np.zeros(5, np.float32), {}

    theirs = sb3.PPO(
        "MlpPolicy",
        Nowhere(),
        n_steps=steps,
        batch_size=steps,
        n_epochs=1,
        ent_coef=0.03,
        vf_coef=0.5,
        max_grad_norm=1e9,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}},
    )
    theirs.set_logger(sb3.common.logger.configure(None, []))
    buffer = theirs.rollout_buffer
    buffer.reset()
    with torch.no_grad():  # away from where it starts: all actions nearly alike
        theirs.policy.action_net.weight.mul_(100)
    buffer.observations[:] = chance.normal(size=buffer.observations.shape)
    buffer.actions[:] = chance.integers(0, actions, buffer.actions.shape)
    for array in (buffer.advantages, buffer.returns, buffer.values):
        array[:] = chance.normal(size=array.shape)
    buffer.log_probs[:] = np.log(chance.uniform(0.1, 0.9, buffer.log_probs.shape))
    buffer.full = True
    seen = torch.tensor(buffer.observations[:, 0])
    lesson = Lesson(
        torch.tensor(buffer.actions[:, 0, 0], dtype=torch.int64),
        *(torch.tensor(array[:, 0]) for array in (buffer.log_probs, buffer.values, buffer.advantages, buffer.returns)),
    )
    config = PpoConfig(
        entropy_weight=0.03, value_weight=1.0, value_clip=None, advantage_floor=1e-8
    )  # theirs is not halved
    policy = theirs.policy
    hidden_policy, hidden_value = policy.mlp_extractor(seen)
    said = {"logits": policy.action_net(hidden_policy), "value": policy.value_net(hidden_value).squeeze(1)}
    ours = ppo_losses(said, lesson, torch.arange(steps), config)
    weights = dict(policy.named_parameters())
    gradients = dict(zip(weights, torch.autograd.grad(ours["loss"], list(weights.values())), strict=True))
    theirs.train()
    logged = theirs.logger.name_to_value
    assert ours["loss"].item() == pytest.approx(logged["train/loss"], rel=1e-5)
    assert ours["loss_policy"].item() == pytest.approx(logged["train/policy_gradient_loss"], rel=1e-5)
    assert 2 * ours["loss_value"].item() == pytest.approx(logged["train/value_loss"], rel=1e-5)
    assert ours["entropy"].item() == pytest.approx(-logged["train/entropy_loss"], rel=1e-5)
    assert ours["approx_kl"].item() == pytest.approx(logged["train/approx_kl"], rel=1e-4)
    assert ours["clip_fraction"].item() == pytest.approx(logged["train/clip_fraction"])
    for name, weight in weights.items():
        torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize(("value_clip", "n"), [(None, 200), (0.2, 200), (0.2, 1)])
def test_the_fast_losses_and_gradients_equal_the_meaning(value_clip: float | None, n: int) -> None:
    chance = np.random.default_rng(0)
    steps, actions = 300, 7
    logits = torch.tensor(2 * chance.normal(size=(n, actions)), dtype=torch.float32, requires_grad=True)
    said = {"logits": logits, "value": torch.tensor(chance.normal(size=n), dtype=torch.float32, requires_grad=True)}
    numbers = (torch.tensor(chance.normal(size=steps), dtype=torch.float32) for _ in range(4))
    log_prob, *rest = numbers
    lesson = Lesson(torch.tensor(chance.integers(0, actions, steps)), -log_prob.abs() - 0.5, *rest)
    at = torch.tensor(chance.permutation(steps)[:n])
    config = PpoConfig(value_clip=value_clip, entropy_weight=0.3, advantage_floor=0.1)
    slow = ppo_losses(said, lesson, at, config)
    truth = torch.autograd.grad(slow["loss"], [said["logits"], said["value"]])
    fast, *slopes = ppo_slopes(said, lesson, at, config)
    assert fast == pytest.approx({name: loss.item() for name, loss in slow.items()}, rel=1e-4)
    for mine, its in zip(slopes, truth, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-7)


# Minibatches


def dealt(kind: str, recurrence: int = 1, count: int = 3) -> tuple[Ppo, list[Batch]]:
    one = learner(kind, config=PpoConfig(2, 60, 1, count))  # long enough for episodes to repeat themselves
    one.collect()
    assert one._played is not None
    return one, list(Deck(one._played, recurrence).deal(count, np.random.default_rng(0)))


@pytest.mark.parametrize(("kind", "recurrence"), [("cnn", 1), ("mlp", 1), ("lstm", 1), ("lstm", 4)])
def test_every_real_step_is_in_one_minibatch(kind: str, recurrence: int) -> None:
    one, batches = dealt(kind, recurrence)
    found = np.concatenate([batch.index.numpy() for batch in batches])
    assert sorted(found) == np.flatnonzero(one._played.rollout.real).tolist()  # type: ignore[union-attr]
    assert all(len(batch.seen.begins) == recurrence for batch in batches)


@pytest.mark.parametrize(("kind", "recurrence"), [("cnn", 1), ("mlp", 1), ("lstm", 1), ("lstm", 4)])
def test_steps_that_look_alike_are_looked_at_once_and_said_the_same_of(kind: str, recurrence: int) -> None:
    one, batches = dealt(kind, recurrence)
    played = one._played
    assert played is not None
    for batch in batches:
        said = batch.keep(one.net(batch.seen)[0])
        assert batch.seen.alike is not None
        assert len(batch.seen.rows) == batch.seen.alike.max() + 1 < len(batch.seen.alike)
        truth = played.outputs["logits"][:-1].reshape(-1, 3)[batch.index]
        np.testing.assert_allclose(said["logits"].detach().numpy(), truth, atol=1e-5)


def test_looks_differ_where_any_frame_does() -> None:
    chance = np.random.default_rng(0)
    frames = chance.integers(0, 3, (50, 4)).astype(np.uint8)
    rows = chance.integers(0, 50, (500, 2))
    seen = [tuple(frames[row].ravel()) for row in rows]
    assert len(set(seen)) == len(np.unique(looks(frames, rows))) < 500
    assert len({*zip(seen, looks(frames, rows).tolist(), strict=True)}) == len(set(seen))


def test_sequences_follow_one_world_from_the_memory_stored_at_their_start() -> None:
    one, batches = dealt("lstm", recurrence=4, count=2)
    played = one._played
    assert played is not None
    views, memory = played.rollout.views[:-1].reshape(-1, 147), played.memory.reshape(-1, one.net.memory)
    for batch in batches:
        assert batch.seen.alike is not None
        seen = played.frames[batch.seen.rows[batch.seen.alike, 0]].reshape(4, len(batch.seen.memory), -1)
        for sequence, start in enumerate(batch.seen.memory.numpy()):
            first = np.flatnonzero((memory[:120] == start).all(axis=1))
            ways = [one.net.encode(views[step : step + 8 : 2].reshape(-1, 7, 7, 3)) for step in first if step <= 112]
            assert any(np.array_equal(seen[:, sequence], way) for way in ways)


# The learner


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
        rollout = one.collect()
        one.update(rollout, rollout.task_reward)
    same = [torch.equal(a, b) for a, b in zip(once.net.parameters(), often.net.parameters(), strict=True)]
    assert not all(same)


def test_only_the_last_rollout_can_be_learnt_from() -> None:
    one = learner()
    old = one.collect()
    one.collect()
    with pytest.raises(AssertionError, match="collected last"):
        one.update(old, old.task_reward)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"steps": 100, "recurrence": 8}, "does not divide"),
        ({"worlds": 1, "steps": 2}, "too few"),
        ({"worlds": 1, "steps": 4}, "two steps"),
    ],
    ids=["recurrence", "minibatches", "one step each"],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, int], problem: str) -> None:
    with pytest.raises(RunError, match=problem):
        PpoConfig(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["cnn", "lstm", "mlp"])
def test_a_simple_habit_is_learnt(kind: str) -> None:
    """The paid action follows from the step that the view shows; chance is 1/3."""
    one = learner(kind, config=PpoConfig(2, 64, 4, 2, learning_rate=5e-3, discount=0.5))
    assert any(round.paid > 0.7 for round in train(one, task_pay, 4_000))
