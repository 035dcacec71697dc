"""The gradients worked out by hand are those of the loss as it is written, whatever the minibatch and the settings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from srm.domains.spaces import Choice
from srm.rl.distributions import Categorical
from srm.rl.gradients import ppo_gradients
from srm.rl.losses import Targets, ppo_losses
from srm.rl.ppo import PpoConfig

# Near these a loss has a kink, where its gradient may be either side's: ratios at the clip, values that moved to it, equal errors.
KINK = 1e-3
POLICY = Categorical(Choice(7))


def numbers(size: int, low: float, high: float) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float32, size, elements=st.floats(low, high, width=32))


@st.composite
def minibatches(draw: st.DrawFn) -> tuple[dict[str, Tensor], Targets, Tensor]:
    """n of the steps of a batch, any of them more than once, with what a net computes of them now."""
    steps, actions, n = draw(st.integers(1, 12)), draw(st.integers(1, 7)), draw(st.integers(1, 12))
    index = torch.tensor(draw(st.lists(st.integers(0, steps - 1), min_size=n, max_size=n)))
    outputs = {
        "logits": torch.from_numpy(draw(numbers(n * actions, -8, 8))).view(n, actions),
        "value": torch.from_numpy(draw(numbers(n, -4, 4))),
    }
    targets = Targets(
        torch.tensor(draw(st.lists(st.integers(0, actions - 1), min_size=steps, max_size=steps))),
        torch.from_numpy(draw(numbers(steps, -6, 0))),
        *(torch.from_numpy(draw(numbers(steps, -4, 4))) for _ in range(3)),
    )
    return outputs, targets, index


@st.composite
def configs(draw: st.DrawFn) -> PpoConfig:
    return PpoConfig(
        clip_coef=draw(st.sampled_from([0.1, 0.2, 0.7])),
        value_clip=draw(st.sampled_from([None, 0.1, 0.2, 2.0])),
        value_weight=draw(st.sampled_from([0.0, 0.5, 1.0])),
        entropy_weight=draw(st.sampled_from([0.0, 0.01, 0.3])),
        advantage_floor=draw(st.sampled_from([1e-2, 1.0])),
    )


def away_from_kinks(outputs: dict[str, Tensor], targets: Targets, index: Tensor, config: PpoConfig) -> bool:
    """Whether the loss is smooth at this place."""
    with torch.no_grad():
        log_probs = torch.log_softmax(outputs["logits"], dim=1).gather(1, targets.actions[index, None]).squeeze(1)
        ratio = (log_probs - targets.log_prob[index]).exp()
        distances = [(ratio - 1).abs() - config.clip_coef]
        if config.value_clip is not None:
            move, error = outputs["value"] - targets.values[index], outputs["value"] - targets.returns[index]
            clipped = error - move + move.clamp(-config.value_clip, config.value_clip)
            within = move.abs() < config.value_clip - KINK
            distances += [move.abs() - config.value_clip, (error.abs() - clipped.abs()).masked_fill(within, 1.0)]
        return all(bool((distance.abs() > KINK).all()) for distance in distances)


def refuse_difference(outputs: dict[str, Tensor], targets: Targets, index: Tensor, config: PpoConfig) -> None:
    """The loss in double precision is the truth: in single, the spread of equal advantages is rounding, divided by the floor."""
    exact = {name: output.double().requires_grad_() for name, output in outputs.items()}
    losses = ppo_losses(POLICY, exact, double(targets), index, config)
    truth = torch.autograd.grad(losses["loss"], [exact["logits"], exact["value"]])
    fast, gradients = ppo_gradients(POLICY, outputs, targets, index, config)
    assert list(fast) == list(losses)
    assert fast == pytest.approx({name: loss.item() for name, loss in losses.items()}, rel=1e-4, abs=1e-6)
    assert list(gradients) == ["logits", "value"]
    for mine, its in zip(gradients.values(), truth, strict=True):
        torch.testing.assert_close(mine, its.float(), rtol=1e-4, atol=1e-6 * max(1.0, float(its.abs().max())))


def double(targets: Targets) -> Targets:
    numbers = (targets.log_prob, targets.values, targets.advantages, targets.returns)
    return Targets(targets.actions, *(part.double() for part in numbers))


@settings(max_examples=150, deadline=None)
@given(minibatches(), configs())
def test_gradients_are_those_of_the_loss_wherever_it_is_smooth(
    minibatch: tuple[dict[str, Tensor], Targets, Tensor], config: PpoConfig
) -> None:
    if away_from_kinks(*minibatch, config):
        refuse_difference(*minibatch, config)


@pytest.mark.parametrize(("value_clip", "n"), [(None, 200), (0.2, 200), (0.2, 1)])
def test_gradients_of_a_usual_minibatch(value_clip: float | None, n: int) -> None:
    rng = np.random.default_rng(0)
    steps, actions = 300, 7
    outputs = {
        "logits": torch.tensor(2 * rng.normal(size=(n, actions)), dtype=torch.float32),
        "value": torch.tensor(rng.normal(size=n), dtype=torch.float32),
    }
    log_prob, *rest = (torch.tensor(rng.normal(size=steps), dtype=torch.float32) for _ in range(4))
    targets = Targets(torch.tensor(rng.integers(0, actions, steps)), -log_prob.abs() - 0.5, *rest)
    index = torch.tensor(rng.permutation(steps)[:n])
    refuse_difference(
        outputs, targets, index, PpoConfig(value_clip=value_clip, entropy_weight=0.3, advantage_floor=0.1)
    )


def test_the_test_would_notice_a_clip_that_cuts_on_the_wrong_side() -> None:
    """A worse action that has become likelier is never clipped: its gradient is the ratio times the advantage."""
    outputs = {"logits": torch.log(torch.tensor([[0.75, 0.25]] * 2)), "value": torch.zeros(2)}
    targets = Targets(
        torch.zeros(2, dtype=torch.int64),
        torch.full((2,), math.log(0.5)),
        torch.zeros(2),
        torch.tensor([1.0, -1.0]),
        torch.zeros(2),
    )
    config = PpoConfig(entropy_weight=0.0, advantage_floor=1e-8)
    _, gradients = ppo_gradients(POLICY, outputs, targets, torch.arange(2), config)
    advantage = 1 / math.sqrt(2)
    # By log pi: -1.5 * (-advantage) / 2; from there by the logits: times 1 - 0.75 and -0.25. The first is clipped at 1.2.
    expected = [[0.0, 0.0], [1.5 * advantage / 2 * 0.25, -1.5 * advantage / 2 * 0.25]]
    torch.testing.assert_close(gradients["logits"], torch.tensor(expected))
