"""PPO's losses: what they mean, and their gradients in one pass.

    n samples of a minibatch; A actions; T * B steps of a rollout

`ppo_losses` is the meaning, written with the functions above it; `ppo_slopes` computes the same numbers and their gradients with
respect to what the net said in 0.2 ms rather than 1.3 for 1,024 samples (some sixty operations on small arrays). Tests keep both
equal, and the first equal to Stable-Baselines3's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit
from torch import Tensor

from srm.train.collect import Played, log_prob_of

if TYPE_CHECKING:
    from srm.train.ppo import PpoConfig


def loss_policy(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's clipped surrogate: -min(ratio * A, clip(ratio, 1 - c, 1 + c) * A), mean over n."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def loss_value(value: Tensor, old_value: Tensor, target: Tensor, clip: float | None) -> Tensor:
    """Half the squared error, or the larger one of the value moved at most `clip` from where it was; mean over n."""
    error = (value - target).square()
    if clip is not None:
        moved = old_value + (value - old_value).clamp(-clip, clip)
        error = torch.maximum(error, (moved - target).square())
    return 0.5 * error.mean()


def normalised(advantage: Tensor, floor: float = 1e-8) -> Tensor:
    """Mean 0 and spread 1, or less where the spread (with n - 1, as Stable-Baselines3 and CleanRL) is near the floor.

    One step alone, as resets may leave it, is neither better nor worse than its mean: 0.
    """
    spread = advantage.std() if len(advantage) > 1 else 0.0
    return (advantage - advantage.mean()) / (spread + floor)


def entropy_of(log_probs: Tensor) -> Tensor:
    """Of each of n policies, [n]."""
    return -(log_probs.exp() * log_probs).sum(dim=1)


def approx_kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """How far the policy has moved: mean of ratio - 1 - log ratio, never negative."""
    change = log_prob - old_log_prob
    return (change.exp() - 1 - change).mean()


@dataclass(frozen=True)
class Lesson:
    """What is to be learnt from each of the T * B steps of a rollout; all [T * B]."""

    actions: Tensor
    log_prob: Tensor  # of the policy that played
    value: Tensor
    advantage: Tensor
    target: Tensor

    @staticmethod
    def of(played: Played, advantage: np.ndarray, target: np.ndarray) -> Lesson:
        steps = played.rollout.steps
        log_prob = log_prob_of(played.outputs["logits"][:steps], played.rollout.actions)
        value = played.outputs["value"][:steps]
        numbers = (torch.from_numpy(part.astype(np.float32)).view(-1) for part in (log_prob, value, advantage, target))
        return Lesson(torch.from_numpy(played.rollout.actions).view(-1), *numbers)


def ppo_losses(said: Mapping[str, Tensor], lesson: Lesson, at: Tensor, config: PpoConfig) -> dict[str, Tensor]:
    """Every loss of the steps `at` [n] of a lesson, of which the net says `said` [n, ...]; `loss` is the one to go down."""
    value = said["value"]
    log_probs = torch.log_softmax(said["logits"], dim=1)
    log_prob = log_probs.gather(1, lesson.actions[at, None]).squeeze(1)
    old = lesson.log_prob[at]
    policy = loss_policy(log_prob, old, normalised(lesson.advantage[at], config.advantage_floor), config.clip)
    critic = loss_value(value, lesson.value[at], lesson.target[at], config.value_clip)
    entropy = entropy_of(log_probs).mean()
    losses = {
        "loss": policy + config.value_weight * critic - config.entropy_weight * entropy,
        "loss_policy": policy,
        "loss_value": critic,
        "entropy": entropy,
    }
    with torch.no_grad():
        losses["approx_kl"] = approx_kl(log_prob, old)
        losses["clip_fraction"] = ((log_prob - old).exp() - 1).abs().gt(config.clip).float().mean()
    return losses


def ppo_slopes(
    said: Mapping[str, Tensor], lesson: Lesson, at: Tensor, config: PpoConfig
) -> tuple[dict[str, float], Tensor, Tensor]:
    """The losses of `ppo_losses`, and the gradients of `loss` with respect to logits [n, A] and value [n]."""
    logits, value = said["logits"].detach(), said["value"].detach()
    of_logits, of_value, sums = torch.empty_like(logits), torch.empty_like(value), np.zeros(5)
    _slopes(
        logits.numpy(),
        value.numpy(),
        at.numpy(),
        lesson.actions.numpy(),
        lesson.log_prob.numpy(),
        lesson.value.numpy(),
        lesson.advantage.numpy(),
        lesson.target.numpy(),
        config.clip,
        np.inf if config.value_clip is None else config.value_clip,
        config.value_weight,
        config.entropy_weight,
        config.advantage_floor,
        of_logits.numpy(),
        of_value.numpy(),
        sums,
    )
    names = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")
    means = dict(zip(names, (sums / len(at)).tolist(), strict=True))
    total = means["loss_policy"] + config.value_weight * means["loss_value"] - config.entropy_weight * means["entropy"]
    return {"loss": total, **means}, of_logits, of_value


@njit(cache=True)
def _slopes(
    logits,
    value,
    at,
    actions,
    old_log_prob,
    old_value,
    advantage,
    target,
    clip,
    value_clip,
    value_weight,
    entropy_weight,
    floor,
    of_logits,
    of_value,
    sums,
):
    count, choices = logits.shape
    mean, spread = _mean_and_spread(advantage, at)
    spread += floor
    log_probs = np.empty(choices)
    for n in range(count):
        i, action = at[n], actions[at[n]]

        # What the policy says
        most = logits[n].max()
        whole = 0.0
        for a in range(choices):
            whole += np.exp(np.float64(logits[n, a] - most))
        entropy = 0.0
        for a in range(choices):
            log_probs[a] = logits[n, a] - most - np.log(whole)
            entropy -= np.exp(log_probs[a]) * log_probs[a]

        # The clipped surrogate and its slope along log pi(a|s)
        change = log_probs[action] - old_log_prob[i]
        ratio, gain = np.exp(change), (advantage[i] - mean) / spread
        bounded = min(max(ratio, 1 - clip), 1 + clip) * gain
        slope = -gain * ratio if ratio * gain <= bounded else 0.0
        for a in range(choices):
            prob = np.exp(log_probs[a])
            along = slope * ((1.0 if a == action else 0.0) - prob)
            of_logits[n, a] = (along + entropy_weight * prob * (log_probs[a] + entropy)) / count

        # The critic's
        error, move = value[n] - target[i], value[n] - old_value[i]
        moved = old_value[i] + min(max(move, -value_clip), value_clip) - target[i]
        free = abs(move) <= value_clip or error * error >= moved * moved
        of_value[n] = value_weight * error / count if free else 0.0

        sums[0] -= min(ratio * gain, bounded)
        sums[1] += 0.5 * max(error * error, moved * moved)
        sums[2] += entropy
        sums[3] += ratio - 1 - change
        sums[4] += abs(ratio - 1) > clip


@njit(cache=True)
def _mean_and_spread(numbers, at):
    """Of those at `at`; the spread with n - 1, and 0 of one alone."""
    mean = 0.0
    for i in at:
        mean += numbers[i]
    mean /= len(at)
    squares = 0.0
    for i in at:
        squares += (numbers[i] - mean) ** 2
    return mean, np.sqrt(squares / max(len(at) - 1, 1))
