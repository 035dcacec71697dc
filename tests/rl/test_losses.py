"""PPO's losses worked by hand, and the whole of them against another implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from srm.domains.spaces import Choice
from srm.rl.distributions import Categorical, entropy_of
from srm.rl.losses import (
    Targets,
    approx_kl,
    clip_fraction,
    loss_policy,
    loss_value,
    normalize,
    ppo_losses,
)
from srm.rl.ppo import PpoConfig

POLICY = Categorical(Choice(7))


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
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
    ratio: float, advantage: float, loss: float, gradient: float
) -> None:
    log_ratio = numbers(math.log(ratio))
    found = loss_policy(log_ratio, torch.tensor([advantage]), clip_coef=0.2)
    assert found.item() == pytest.approx(loss, rel=1e-5)
    assert torch.autograd.grad(found, log_ratio)[0].item() == pytest.approx(gradient, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("value", "loss", "gradient"),
    [
        (1.1, 0.405, -0.9),  # moved by 0.1: (2 - 1.1)^2 / 2
        (1.5, 0.32, 0.0),  # moved by 0.5, counts as 0.2: (2 - 1.2)^2 / 2
        (3.0, 0.5, 1.0),  # further away than where it was bounded: (2 - 3)^2 / 2
    ],
)
def test_the_critics_loss_takes_the_larger_of_both_errors(value: float, loss: float, gradient: float) -> None:
    values = numbers(value)
    found = loss_value(values, torch.tensor([1.0]), torch.tensor([2.0]), clip=0.2)
    assert found.item() == pytest.approx(loss)
    assert torch.autograd.grad(found, values)[0].item() == pytest.approx(gradient, abs=1e-6)


def test_the_critics_loss_without_a_bound_is_half_the_squared_error() -> None:
    found = loss_value(numbers(5.0, 1.0), torch.zeros(2), torch.tensor([1.0, 1.0]), clip=None)
    assert found.item() == pytest.approx((16 / 2 + 0) / 2)


def test_advantages_are_normalised_with_n_minus_one() -> None:
    assert normalize(torch.tensor([1.0, 3.0, 5.0])).tolist() == pytest.approx([-1, 0, 1])
    assert normalize(torch.tensor([1.0, 3.0, 5.0]), floor=2).tolist() == pytest.approx([-0.5, 0, 0.5])


def test_the_share_of_clipped_ratios() -> None:
    assert clip_fraction(torch.log(torch.tensor([1.0, 1.19, 1.21, 0.79])), 0.2).item() == 0.5


def test_entropy_and_divergence() -> None:
    even, sure = torch.log(torch.tensor([[0.5, 0.5]])), torch.log(torch.tensor([[1.0, 1e-30]]))
    assert entropy_of(torch.cat([even, sure])).tolist() == pytest.approx([math.log(2), 0], abs=1e-6)
    # ratio 2 and 1: (2 - 1 - log 2 + 0) / 2
    moved = approx_kl(torch.tensor([math.log(2), 0.0]))
    assert moved.item() == pytest.approx((1 - math.log(2)) / 2)


def test_losses_and_gradients_equal_those_of_stable_baselines3() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    steps, actions = 32, 4
    rng = np.random.default_rng(0)

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
    buffer.observations[:] = rng.normal(size=buffer.observations.shape)
    buffer.actions[:] = rng.integers(0, actions, buffer.actions.shape)
    for array in (buffer.advantages, buffer.returns, buffer.values):
        array[:] = rng.normal(size=array.shape)
    buffer.log_probs[:] = np.log(rng.uniform(0.1, 0.9, buffer.log_probs.shape))
    buffer.full = True
    observations = torch.tensor(buffer.observations[:, 0])
    targets = Targets(
        torch.tensor(buffer.actions[:, 0, 0], dtype=torch.int64),
        *(torch.tensor(array[:, 0]) for array in (buffer.log_probs, buffer.values, buffer.advantages, buffer.returns)),
    )
    config = PpoConfig(
        entropy_weight=0.03, value_weight=1.0, value_clip=None, advantage_floor=1e-8
    )  # theirs is not halved
    policy = theirs.policy
    hidden_policy, hidden_value = policy.mlp_extractor(observations)
    outputs = {"logits": policy.action_net(hidden_policy), "value": policy.value_net(hidden_value).squeeze(1)}
    ours = ppo_losses(POLICY, outputs, targets, torch.arange(steps), config)
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
