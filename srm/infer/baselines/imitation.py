"""GAIL and GAN-GCL: pay a policy for acting as the demonstrations do, with no machine in between.

Both train a discriminator D(s, a), demonstrations against the policy's own play, with Algorithm 1's reward net. They differ in its logit:

    gail      L = g(s, a)                  the net gives each action a number of its own
    gan_gcl   L = f(s, a) - log pi(a|s)    the net is a log-likelihood, and D = exp f / (exp f + pi)

and the policy is paid a form of L. Success ends an episode here, so a form with one sign has a bias that is not in the demonstrations:

    difference   L = log D - log(1 - D)      either sign: no such bias, which is why it is the default
    bonus        softplus(L) = -log(1 - D)   never negative: an episode that goes on earns more than one that succeeds
    penalty      -softplus(-L) = log D       never positive: ending soon is good in itself
    net          what the net says alone     for GAN-GCL f, never positive: its authors' form, which leaves log pi to an entropy bonus

In each round the discriminator learns first, then the rollout is paid by what it has learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from srm.domains.spaces import Spaces
from srm.infer.algorithm1.loop import PolicyBatch
from srm.infer.algorithm1.objectives import logit_expert_high, loss_adv
from srm.infer.algorithm1.reward_net import RewardNet, RewardNetConfig
from srm.infer.algorithm1.sequences import Follower, NetRollout, draw_sequences, follow, forward_sequences
from srm.rl.optimise import Optimiser
from srm.rl.saved import load_weights
from srm.seeding import stream
from srm.settings import ABOVE_ZERO
from srm.trajectory import Rollout

Kind = Literal["gail", "gan_gcl"]
Form = Literal["difference", "bonus", "penalty", "net"]


@dataclass(frozen=True)
class ImitationConfig:
    """GAIL and GAN-GCL."""

    form: Form = "difference"
    """what is paid of the discriminator's logit L: L itself, softplus(L) >= 0, -softplus(-L) <= 0, or what the net says alone"""
    bound: float = 5.0
    """largest pay of a step, either way: a discriminator that is sure would drown everything else"""
    reward_net: RewardNetConfig = field(
        default_factory=lambda: RewardNetConfig(steps=4, logits="free", floor=None, memory=False)
    )

    def __post_init__(self) -> None:
        ABOVE_ZERO.refuse_outside(self, "--imitation.", "bound")


def form_of(form: Form, logit: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """What a step with this logit of D is paid; `outputs` are the net's own."""
    if form == "bonus":
        return np.logaddexp(0, logit)
    if form == "penalty":
        return -np.logaddexp(0, -logit)
    return logit if form == "difference" else outputs


def loss_discriminator(demonstrated: Tensor, played: Tensor) -> Tensor:
    """Mean cross-entropy with demonstrations as 1, each side weighing half."""
    return loss_adv(demonstrated, played) / 2


class Imitation:
    """The pay of a learner. `log_probs` computes log pi(a|s) [T, B] of the policy as it is, along any rollout."""

    def __init__(
        self,
        kind: Kind,
        demonstrated: Rollout,
        spaces: Spaces,
        log_probs: Callable[[Rollout], np.ndarray],
        config: ImitationConfig,
        seed: int,
    ) -> None:
        self.kind, self.demonstrated, self.config, self.log_probs = kind, demonstrated, config, log_probs
        weights = int(stream(seed, "discriminator").integers(2**63))
        self.net = RewardNet(spaces, config.reward_net, weights, normalised=kind == "gan_gcl")
        self.net.watch(demonstrated)
        self.adam = Optimiser(
            dict(self.net.named_parameters()),
            learning_rate=config.reward_net.learning_rate,
            epsilon=1e-8,
            max_grad_norm=math.inf,
        )
        self.losses: dict[str, float] = {}
        self._follower, self._seed, self._round = Follower(self.net), seed, 0

    def __call__(self, batch: PolicyBatch) -> np.ndarray:
        rollout = batch.rollout
        rng = stream(self._seed, f"imitation {self._round}")  # one stream a round, as everywhere

        # Learn: log pi is part of D for GAN-GCL alone
        with_policy = self.kind == "gan_gcl"
        assert batch.log_prob is not None  # of our own learners
        log_prob = batch.log_prob.astype(np.float32) * with_policy
        played = self._follower.follow(rollout)
        episode_start = np.ones(self.demonstrated.envs, np.bool_)
        demonstrated = follow(self.net, self.demonstrated, episode_start)
        demonstrated_log_prob = (
            self.log_probs(self.demonstrated).astype(np.float32)
            if with_policy
            else np.zeros(self.demonstrated.valid.shape, np.float32)
        )
        self.losses = self._learn((demonstrated, demonstrated_log_prob), (played, log_prob), rng)

        # Pay
        played = self._follower.follow(rollout, played.observations)
        self._follower.advance(rollout, played)
        self._round += 1
        logit = self._logit(played.f, torch.from_numpy(log_prob)).numpy()
        pay = form_of(self.config.form, logit, played.f.numpy())
        return np.clip(pay, -self.config.bound, self.config.bound) * rollout.valid

    def _logit(self, outputs: Tensor, log_prob: Tensor) -> Tensor:
        return logit_expert_high(outputs, torch.zeros(()), log_prob, self.config.reward_net.floor)

    def _learn(
        self,
        demonstrated: tuple[NetRollout, np.ndarray],
        played: tuple[NetRollout, np.ndarray],
        rng: np.random.Generator,
    ) -> dict[str, float]:
        """Gradient steps of D; each side has the log-probabilities [T, B] that are part of its logit."""
        mean_loss, right = 0.0, 0.0
        steps = self.config.reward_net.steps
        for _ in range(steps):
            sides = [
                (draw_sequences(rollout, self.config.reward_net, rng), rollout, log_prob)
                for rollout, log_prob in (demonstrated, played)
            ]
            outputs = forward_sequences(self.net, *((rollout.observations, parts) for parts, rollout, _ in sides))
            expert, agent = (
                self._logit(f, parts.of(log_prob))[parts.valid]
                for (parts, _, log_prob), f in zip(sides, outputs, strict=True)
            )
            loss = loss_discriminator(expert, agent)
            loss.backward()
            self.adam.step()
            mean_loss += loss.item() / steps
            right += (float((expert > 0).float().mean()) + float((agent < 0).float().mean())) / (2 * steps)
        return {"loss_discriminator": mean_loss, "discriminator_right": right}

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed, by name, for a checkpoint."""
        return {f"discriminator.{name}": value for name, value in self.net.state_dict().items()} | {
            f"discriminator_adam.{name}": value for name, value in self.adam.tensors().items()
        }

    def load(self, tensors: Mapping[str, Tensor], rounds: int) -> None:
        """Goes on after so many rounds, with new episodes."""
        load_weights(self.net, "discriminator", tensors)
        self.adam.load("discriminator_adam", tensors)
        self._round = rounds
