"""PPO's loss, written out.

    n samples of a minibatch; A actions; T * B steps of a batch

`ppo_losses` is the loss that PPO minimises, whatever its policy draws from; learning takes the same numbers and their gradients from
`gradients.py`, which is six times as fast. Tests keep the two equal, and this one equal to Stable-Baselines3's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from srm.rl.distributions import Distribution
from srm.rl.rollout import Batch

if TYPE_CHECKING:
    from srm.rl.ppo import PpoConfig


@dataclass(frozen=True)
class Targets:
    """What is to be learnt from each of the T * B steps of a batch, and what the policy that played it computed; all [T * B]."""

    actions: Tensor  # or [T * B, A], as the policy's distribution reads them
    log_prob: Tensor  # of the policy that played
    values: Tensor  # of the critic then
    advantages: Tensor
    returns: Tensor  # what the critic should have said

    @staticmethod
    def of(batch: Batch, advantages: np.ndarray, returns: np.ndarray) -> Targets:
        arrays = (batch.log_prob, batch.values, advantages, returns)
        flat = (torch.from_numpy(array.astype(np.float32)).view(-1) for array in arrays)
        return Targets(torch.from_numpy(batch.policy.targets(batch.rollout.actions)).flatten(0, 1), *flat)


def ppo_losses(
    policy: Distribution, outputs: Mapping[str, Tensor], targets: Targets, index: Tensor, config: PpoConfig
) -> dict[str, Tensor]:
    """Every loss of the steps `index` [n], of which the net computes `outputs` [n, ...]; `loss` is the one to minimise."""
    # The action's probability now, against that of the policy that played
    log_prob, entropies = policy.judge(outputs, targets.actions[index])
    log_ratio = log_prob - targets.log_prob[index]

    # Policy, value and entropy
    advantages = normalize(targets.advantages[index], config.advantage_floor)
    pg_loss = loss_policy(log_ratio, advantages, config.clip_coef)
    v_loss = loss_value(outputs["value"], targets.values[index], targets.returns[index], config.value_clip)
    entropy = entropies.mean()
    loss = pg_loss + config.value_weight * v_loss - config.entropy_weight * entropy

    # How far the policy has moved
    with torch.no_grad():
        moved = {
            "approx_kl": approx_kl(log_ratio),
            "clip_fraction": clip_fraction(log_ratio, config.clip_coef),
        }
    return {"loss": loss, "loss_policy": pg_loss, "loss_value": v_loss, "entropy": entropy, **moved}


def loss_policy(log_ratio: Tensor, advantages: Tensor, clip_coef: float) -> Tensor:
    """The clipped surrogate: mean over n of -min(ratio * A, clip(ratio, 1 - c, 1 + c) * A)."""
    ratio = log_ratio.exp()
    pg_loss1 = -advantages * ratio
    pg_loss2 = -advantages * ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return torch.maximum(pg_loss1, pg_loss2).mean()


def loss_value(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """Half the squared error, or the larger one of the value moved at most `clip` from where it was; mean over n."""
    v_loss = (values - returns).square()
    if clip is not None:
        v_clipped = old_values + (values - old_values).clamp(-clip, clip)
        v_loss = torch.maximum(v_loss, (v_clipped - returns).square())
    return 0.5 * v_loss.mean()


def approx_kl(log_ratio: Tensor) -> Tensor:
    """KL(old || new), estimated as the mean of ratio - 1 - log ratio, which is never negative."""
    return (log_ratio.exp() - 1 - log_ratio).mean()


def clip_fraction(log_ratio: Tensor, clip_coef: float) -> Tensor:
    """The share of n whose ratio lies outside 1 - c .. 1 + c."""
    return (log_ratio.exp() - 1).abs().gt(clip_coef).float().mean()


def normalize(advantages: Tensor, floor: float = 1e-8) -> Tensor:
    """Mean 0 and spread 1, or less where the spread (with n - 1, as Stable-Baselines3 and CleanRL) is near the floor.

    One step alone, as resets may leave it, is neither better nor worse than its mean: 0.
    """
    spread = advantages.std() if len(advantages) > 1 else 0.0
    return (advantages - advantages.mean()) / (spread + floor)
