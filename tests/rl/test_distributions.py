"""What a policy draws from: probabilities that add up, and gradients by hand that are those of the log-probability as it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from srm.domains.spaces import Bounds, action_space_of
from srm.rl.distributions import Categoricals, ClippedGaussian, distribution_of
from srm.rl.gradients import ppo_gradients
from srm.rl.losses import Targets, ppo_losses
from srm.rl.ppo import PpoConfig
from srm.seeding import stream
from tests.domains.any_spaces import ACTIONS

BOX = action_space_of("any", spaces.Box(np.array([-2.0], np.float32), np.array([4.0], np.float32)))


def gaussian(mean: float, std: float, count: int = 1) -> dict[str, np.ndarray]:
    shape = (count, 1)
    return {"mean": np.full(shape, mean, np.float32), "log_std": np.full(shape, math.log(std), np.float32)}


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.7, 0.3), (-3.0, 0.5), (0.2, 4.0)])
def test_a_clipped_gaussian_has_its_density_within_and_all_the_rest_on_the_borders(mean: float, std: float) -> None:
    policy = distribution_of(BOX)

    def probability(action: float) -> float:
        return float(np.exp(policy.log_prob(gaussian(mean, std), np.array([[action]], np.float32))[0]))

    within, _ = quad(
        lambda action: probability(action) / 6, -1.999, 3.999, limit=200
    )  # against the uniform density, 1 / 6
    low, high = probability(-2), probability(4)
    assert low == pytest.approx(norm.cdf((-1 - mean) / std), rel=1e-3)
    assert high == pytest.approx(norm.sf((1 - mean) / std), rel=1e-3)
    assert within + low + high == pytest.approx(1, abs=2e-3)


def test_its_entropy_is_the_mean_of_what_it_draws() -> None:
    policy, count = distribution_of(BOX), 200_000
    for mean, std in ((0.0, 1.0), (0.7, 0.3), (-1.5, 0.8)):
        outputs = gaussian(mean, std, count)
        actions = policy.act(outputs, policy.noise(stream(0, "draws"), (count,)))
        tensors = {name: torch.from_numpy(output[:1]) for name, output in outputs.items()}
        _, entropy = policy.judge(tensors, torch.zeros(1, 1))
        assert -policy.log_prob(outputs, actions).mean() == pytest.approx(entropy.item(), abs=0.01)


@pytest.mark.parametrize("name", ACTIONS)
def test_draws_are_as_likely_as_they_are_said_to_be(name: str) -> None:
    """In the mean, p / q over draws from q is 1: q is the policy, p the uniform one on the same draws."""
    space, rng = action_space_of("any", ACTIONS[name]), stream(0, "draws")
    policy, count = distribution_of(space), 50_000
    outputs = {
        output.name: np.tile(rng.normal(0, 0.3, output.size).astype(np.float32), (count, 1))
        for output in policy.outputs(spread=1.0)
    }
    actions = policy.act(outputs, policy.noise(rng, (count,)))
    assert not space.outside(actions).any()
    assert actions.dtype == space.dtype
    log_prob = policy.log_prob(outputs, actions)
    inside = np.ones(count, bool)
    if isinstance(space, Bounds):  # the uniform one never draws the borders
        inside = (np.abs(policy.targets(actions)) < 1).all(axis=-1)
    ratio = np.where(inside, np.exp(space.log_uniform - log_prob), 0)
    assert ratio.mean() == pytest.approx(1, abs=0.05)


def test_the_likeliest_action_needs_no_chance() -> None:
    for name, output, expected in (
        ("discrete", {"logits": [0.0, 2.0, 1.0]}, 1),
        ("from one on", {"logits": [0.0, 2.0, 1.0]}, 2),
        ("multi-discrete", {"logits": [3.0, 0.0, 0.0, 1.0, 2.0]}, [0, 2]),
        ("box", {"mean": [5.0, 0.0], "log_std": [0.0, 0.0]}, [2.0, 0.5]),
    ):
        policy = distribution_of(action_space_of("any", ACTIONS[name]))
        outputs = {key: np.array([value], np.float32) for key, value in output.items()}
        assert policy.act(outputs, policy.noise(None, (1,)))[0] == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["multi-discrete", "multi-binary", "box", "matrix"]), st.integers(0, 10_000))
def test_gradients_by_hand_are_those_of_the_loss_as_written(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy, steps = distribution_of(action_space_of("any", ACTIONS[name])), 9
    assert isinstance(policy, Categoricals | ClippedGaussian)
    outputs = {
        output.name: torch.from_numpy(rng.normal(0, 1.0, (steps, output.size))).requires_grad_()
        for output in policy.outputs(spread=1.0)
    }
    outputs["value"] = torch.from_numpy(rng.normal(size=steps)).requires_grad_()
    arrays = {key: output.detach().float().numpy() for key, output in outputs.items()}
    actions = policy.act(arrays, policy.noise(rng, (steps,)))
    old = policy.log_prob(arrays, actions) + rng.normal(0, 0.3, steps)
    numbers = [torch.from_numpy(array) for array in (old, *rng.normal(size=(3, steps)))]
    config = PpoConfig(entropy_weight=0.3, value_clip=None)
    target = torch.from_numpy(policy.targets(actions))
    exact = Targets(target.double() if target.is_floating_point() else target, *numbers)
    losses = ppo_losses(policy, outputs, exact, torch.arange(steps), config)
    truth = torch.autograd.grad(losses["loss"], list(outputs.values()))
    single = {key: output.detach().float() for key, output in outputs.items()}
    fast, gradients = ppo_gradients(
        policy, single, Targets(target, *(part.float() for part in numbers)), torch.arange(steps), config
    )
    assert fast == pytest.approx({key: loss.item() for key, loss in losses.items()}, rel=1e-3, abs=1e-5)
    for (key, mine), its in zip(gradients.items(), truth, strict=True):
        torch.testing.assert_close(mine, its.float(), rtol=2e-3, atol=2e-5, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("mean", [3.99, 4.01, 8.99, 9.01, 40.0])
def test_far_beyond_a_border_the_probability_is_right_and_nothing_overflows(mean: float) -> None:
    """On both sides of where an asymptotic series takes over."""
    policy = distribution_of(BOX)
    assert isinstance(policy, ClippedGaussian)
    outputs = {"mean": np.array([[mean], [-mean]], np.float32), "log_std": np.zeros((2, 1), np.float32)}
    known = policy.derivatives(outputs, np.array([[-1.0], [1.0]], np.float32))
    np.testing.assert_allclose(known.log_prob, norm.logcdf(-1 - outputs["mean"][0]).item(), rtol=1e-6)
    assert all(np.isfinite(array).all() for array in (*known.of_log_prob.values(), *known.of_entropy.values()))
