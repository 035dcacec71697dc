"""The gradient of `losses.ppo_losses`, worked out by hand.

    n samples of a minibatch; A actions; T * B steps of a batch

PyTorch takes 1.3 ms for the loss of 1,024 samples and its gradient, some sixty operations on small arrays; one compiled loop takes
0.2. `tests/rl/test_gradients.py` keeps both equal. One of several actions has a loop of its own; any other policy says how its
log-probability and entropy change with its outputs (`distributions.py`), and the rest is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit
from torch import Tensor

from srm.rl.distributions import Categorical, Categoricals, ClippedGaussian, Distribution
from srm.rl.losses import Targets

if TYPE_CHECKING:
    from srm.rl.ppo import PpoConfig


def ppo_gradients(
    policy: Distribution, outputs: Mapping[str, Tensor], targets: Targets, index: Tensor, config: PpoConfig
) -> tuple[dict[str, float], dict[str, Tensor]]:
    """The losses of `ppo_losses`, and the gradients of `loss` with respect to the outputs of the policy and the value, by name."""
    sums = np.zeros(5)
    if isinstance(policy, Categorical):
        gradients = _of_logits(outputs, targets, index, config, sums)
    else:
        assert isinstance(policy, Categoricals | ClippedGaussian)
        gradients = _of_outputs(policy, outputs, targets, index, config, sums)
    names = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")
    means = dict(zip(names, (sums / len(index)).tolist(), strict=True))
    loss = means["loss_policy"] + config.value_weight * means["loss_value"] - config.entropy_weight * means["entropy"]
    return {"loss": loss, **means}, gradients


def backward(outputs: Mapping[str, Tensor], gradients: Mapping[str, Tensor]) -> None:
    """From the gradients with respect to outputs on to those of the weights."""
    torch.autograd.backward([outputs[name] for name in gradients], list(gradients.values()))


def _of_outputs(
    policy: Categoricals | ClippedGaussian,
    outputs: Mapping[str, Tensor],
    targets: Targets,
    index: Tensor,
    config: PpoConfig,
    sums: np.ndarray,
) -> dict[str, Tensor]:
    values, i = outputs["value"].detach().numpy(), index.numpy()
    own = {name: output.detach().numpy() for name, output in outputs.items() if name != "value"}
    known = policy.derivatives(own, targets.actions.numpy()[i])
    of_log_prob, of_values = np.empty_like(known.log_prob), np.empty_like(values)
    _surrogate_gradients(
        known.log_prob,
        known.entropy,
        values,
        i,
        targets.log_prob.numpy(),
        targets.values.numpy(),
        targets.advantages.numpy(),
        targets.returns.numpy(),
        config.clip_coef,
        np.inf if config.value_clip is None else config.value_clip,
        config.value_weight,
        config.advantage_floor,
        of_log_prob,
        of_values,
        sums,
    )
    weight = np.float32(config.entropy_weight / len(i))
    gradients = {
        name: torch.from_numpy(of_log_prob[:, None] * by - weight * known.of_entropy[name])
        for name, by in known.of_log_prob.items()
    }
    return gradients | {"value": torch.from_numpy(of_values)}


def _of_logits(
    outputs: Mapping[str, Tensor], targets: Targets, index: Tensor, config: PpoConfig, sums: np.ndarray
) -> dict[str, Tensor]:
    logits, values = outputs["logits"].detach(), outputs["value"].detach()
    of_logits, of_values = torch.empty_like(logits), torch.empty_like(values)
    _ppo_gradients(
        logits.numpy(),
        values.numpy(),
        index.numpy(),
        targets.actions.numpy(),
        targets.log_prob.numpy(),
        targets.values.numpy(),
        targets.advantages.numpy(),
        targets.returns.numpy(),
        config.clip_coef,
        np.inf if config.value_clip is None else config.value_clip,
        config.value_weight,
        config.entropy_weight,
        config.advantage_floor,
        of_logits.numpy(),
        of_values.numpy(),
        sums,
    )
    return {"logits": of_logits, "value": of_values}


@njit(cache=True)
def _ppo_gradients(
    logits,
    values,
    index,
    actions,
    old_log_prob,
    old_values,
    advantages,
    returns,
    clip_coef,
    value_clip,
    value_weight,
    entropy_weight,
    floor,
    of_logits,
    of_values,
    sums,
):
    count, num_actions = logits.shape
    mean, spread = _mean_and_spread(advantages, index)
    spread += floor
    log_probs = np.empty(num_actions)
    for n in range(count):
        i, action = index[n], actions[index[n]]

        # Log-probabilities and entropy
        most = logits[n].max()
        whole = 0.0
        for a in range(num_actions):
            whole += np.exp(np.float64(logits[n, a] - most))
        entropy = 0.0
        for a in range(num_actions):
            log_probs[a] = logits[n, a] - most - np.log(whole)
            entropy -= np.exp(log_probs[a]) * log_probs[a]

        # The clipped surrogate, its derivative by log pi(a|s), and from there by the logits
        log_ratio = log_probs[action] - old_log_prob[i]
        ratio, advantage = np.exp(log_ratio), (advantages[i] - mean) / spread
        clipped = min(max(ratio, 1 - clip_coef), 1 + clip_coef) * advantage
        of_log_prob = -advantage * ratio if ratio * advantage <= clipped else 0.0
        for a in range(num_actions):
            prob = np.exp(log_probs[a])
            of_policy = of_log_prob * ((1.0 if a == action else 0.0) - prob)
            of_logits[n, a] = (of_policy + entropy_weight * prob * (log_probs[a] + entropy)) / count

        # The critic's loss and its derivative by the value
        error, move = values[n] - returns[i], values[n] - old_values[i]
        clipped_error = old_values[i] + min(max(move, -value_clip), value_clip) - returns[i]
        unclipped = abs(move) <= value_clip or error * error >= clipped_error * clipped_error
        of_values[n] = value_weight * error / count if unclipped else 0.0

        sums[0] -= min(ratio * advantage, clipped)
        sums[1] += 0.5 * max(error * error, clipped_error * clipped_error)
        sums[2] += entropy
        sums[3] += ratio - 1 - log_ratio
        sums[4] += abs(ratio - 1) > clip_coef


@njit(cache=True)
def _surrogate_gradients(
    log_prob,
    entropy,
    values,
    index,
    old_log_prob,
    old_values,
    advantages,
    returns,
    clip_coef,
    value_clip,
    value_weight,
    floor,
    of_log_prob,
    of_values,
    sums,
):
    """As `_ppo_gradients`, up to the derivatives by log pi(a|s) and by the value."""
    count = len(index)
    mean, spread = _mean_and_spread(advantages, index)
    spread += floor
    for n in range(count):
        i = index[n]
        log_ratio = np.float64(log_prob[n] - old_log_prob[i])
        ratio, advantage = np.exp(log_ratio), (advantages[i] - mean) / spread
        clipped = min(max(ratio, 1 - clip_coef), 1 + clip_coef) * advantage
        of_log_prob[n] = -advantage * ratio / count if ratio * advantage <= clipped else 0.0

        error, move = values[n] - returns[i], values[n] - old_values[i]
        clipped_error = old_values[i] + min(max(move, -value_clip), value_clip) - returns[i]
        unclipped = abs(move) <= value_clip or error * error >= clipped_error * clipped_error
        of_values[n] = value_weight * error / count if unclipped else 0.0

        sums[0] -= min(ratio * advantage, clipped)
        sums[1] += 0.5 * max(error * error, clipped_error * clipped_error)
        sums[2] += entropy[n]
        sums[3] += ratio - 1 - log_ratio
        sums[4] += abs(ratio - 1) > clip_coef


@njit(cache=True)
def _mean_and_spread(numbers, index):
    """Of those at `index`; the spread with n - 1, and 0 of one alone."""
    mean = 0.0
    for i in index:
        mean += numbers[i]
    mean /= len(index)
    squares = 0.0
    for i in index:
        squares += (numbers[i] - mean) ** 2
    return mean, np.sqrt(squares / max(len(index) - 1, 1))
