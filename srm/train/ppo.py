"""Proximal policy optimisation: the losses as functions, and the learner.

    n samples of a minibatch; A actions

A learner has two verbs: `collect` plays a rollout, `update` learns from it and from what it was paid, whoever pays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.errors import RunError
from srm.task.worlds import Worlds
from srm.train.batches import minibatches
from srm.train.collect import Played, Player, log_prob_of, values_after
from srm.train.learner import Learner, Means, weights_seed
from srm.train.nets import Kind, Net, NetConfig, Output, TowerPlan
from srm.train.optimise import Optimiser
from srm.train.returns import advantages, explained_variance
from srm.trajectory import Rollout


@dataclass(frozen=True)
class PpoConfig:
    """How PPO learns."""

    worlds: int = 64
    """B, worlds played side by side (AGAC's code plays one, torch-ac 16: on one core many small passes cost most)"""
    steps: int = 128
    """T, steps of each world in a rollout"""
    epochs: int = 4
    """times that each rollout is learnt from"""
    minibatches: int = 8
    """gradient steps of each epoch"""
    learning_rate: float = 3e-4
    """Adam's step"""
    discount: float = 0.99
    """gamma: what a pay of 1 is worth one step earlier"""
    mix: float = 0.95
    """lambda of the generalised advantage: 0 trusts the critic, 1 the pay"""
    clip: float = 0.2
    """how far the probability of an action may move before its gradient is cut off"""
    value_clip: float | None = 0.2
    """the same for the critic; None: no bound"""
    advantage_floor: float = 1e-8
    """added to the spread that advantages are divided by"""
    value_weight: float = 0.5
    """of the critic's loss, which is half the squared error"""
    entropy_weight: float = 0.01
    """of the policy's entropy"""
    norm: float = 0.5
    """largest norm of a gradient"""
    epsilon: float = 1e-5
    """Adam's"""
    timeouts: Literal["go_on", "end"] = "go_on"
    """whether what could have come after a time-out counts (by the critic's word) or not, as in the papers' code"""
    recurrence: int = 1
    """steps that the LSTM's gradient flows back; 1: the stored memory is an input"""

    def __post_init__(self) -> None:
        if self.recurrence < 1 or self.steps % self.recurrence:
            raise RunError(f"--ppo.recurrence {self.recurrence} does not divide --ppo.steps {self.steps}")
        if self.worlds * self.steps // self.recurrence < self.minibatches:
            raise RunError(
                f"{self.worlds} worlds x {self.steps} steps in sequences of {self.recurrence} are too few for "
                f"--ppo.minibatches {self.minibatches}"
            )

    def optimiser(self, module: nn.Module) -> Optimiser:
        return Optimiser(
            dict(module.named_parameters()), learning_rate=self.learning_rate, epsilon=self.epsilon, norm=self.norm
        )


# Maths


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
    """Mean 0 and spread 1, or less where the spread (with n - 1, as Stable-Baselines3 and CleanRL) is near the floor."""
    return (advantage - advantage.mean()) / (advantage.std() + floor)


def entropy_of(log_probs: Tensor) -> Tensor:
    """Of each of n policies, [n]."""
    return -(log_probs.exp() * log_probs).sum(dim=1)


def approx_kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """How far the policy has moved: mean of ratio - 1 - log ratio, never negative."""
    change = log_prob - old_log_prob
    return (change.exp() - 1 - change).mean()


# Learning


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


class Ppo(Learner):
    """PPO on whatever the rollout was paid."""

    def __init__(self, worlds: Worlds, kind: Kind, net: NetConfig, config: PpoConfig, seed: int) -> None:
        self.config = config
        policy = Net(kind, worlds.view_shape, net, towers(worlds.actions, net.towers), weights_seed(seed))
        self._optimiser = config.optimiser(policy)
        super().__init__(Player(worlds, policy, config.steps, seed), {}, {"adam": self._optimiser}, seed)

    def update(self, rollout: Rollout, pay: np.ndarray) -> dict[str, float]:
        played = self._learn_from(rollout)
        return ppo_update(self.net, self._optimiser, played, pay, self.config, self._chance("minibatches"))


def towers(actions: int, kind: Literal["shared", "separate"]) -> tuple[TowerPlan, ...]:
    """Logits of a nearly uniform policy (gain 0.01) and a value, from one tower or from two."""
    logits, value = Output("logits", actions, 0.01), Output("value", 1, 1.0)
    if kind == "shared":
        return (TowerPlan("both", (logits, value)),)
    return (TowerPlan("actor", (logits,)), TowerPlan("critic", (value,)))


def ppo_update(
    net: Net, optimiser: Optimiser, played: Played, pay: np.ndarray, config: PpoConfig, chance: np.random.Generator
) -> dict[str, float]:
    """All epochs over one rollout."""
    rollout, value = played.rollout, played.outputs["value"][:-1]
    advantage = rollout_advantages(net, played, pay, config)
    target = advantage + value
    lesson = Lesson.of(played, advantage, target)
    means = Means()
    for _ in range(config.epochs):
        for batch in minibatches(played, config.minibatches, config.recurrence, chance):
            losses = ppo_losses(batch.keep(net(batch.seen)[0]), lesson, batch.index, config)
            losses["loss"].backward()
            means.add(losses | {"gradient_norm": optimiser.step()})
    return means.take() | {"explained_variance": explained_variance(value[rollout.real], target[rollout.real])}


def rollout_advantages(net: Net, played: Played, pay: np.ndarray, config: PpoConfig) -> np.ndarray:
    """[T, B], with time-outs treated as the config says."""
    rollout = played.rollout
    ended = rollout.ended if config.timeouts == "go_on" else rollout.ended | rollout.cut
    return advantages(
        pay.astype(np.float32),
        played.outputs["value"][:-1],
        values_after(net, played),
        ended,
        rollout.cut,
        rollout.real,
        discount=config.discount,
        mix=config.mix,
    )
