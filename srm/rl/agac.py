"""Adversarially guided actor-critic: PPO whose policy is paid a little for surprising an adversary that imitates it.

    n samples of a minibatch; A actions; c the weight of the surprise

Three towers that share nothing: actor, critic, adversary. With pi the policy that played and pi_adv the adversary at that time

    advantage = GAE(pay + count bonus) + c (log pi(a|s) - log pi_adv(a|s))     after GAE: neither discounted nor bootstrapped
    returns   = GAE(pay) + value       + c KL(pi || pi_adv)                    without the count bonus
    loss_adversary = KL(pi || pi_adv)

`c` falls linearly to 0. The adversary has its own optimiser and its own bound on the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from srm.domains.envs import Envs
from srm.rl.advantages import explained_variance
from srm.rl.distributions import Categorical, Output, log_prob_of, log_softmax
from srm.rl.gradients import backward, ppo_gradients
from srm.rl.learner import Learner, Means, number_of_actions, weights_seed
from srm.rl.losses import Targets
from srm.rl.minibatches import Minibatches
from srm.rl.nn.nets import Kind, Net, NetConfig, TowerPlan, make_net
from srm.rl.optimise import Optimiser
from srm.rl.ppo import PpoConfig, batch_advantages
from srm.rl.rollout import Batch, Player
from srm.rl.visits import Visits
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, ZERO_OR_MORE


@dataclass(frozen=True)
class AgacConfig:
    """What AGAC adds to PPO; the defaults are those of its authors' MiniGrid script."""

    surprise: float = 4e-4
    """c, the weight of the surprise at the beginning"""
    surprise_frames: int = 200_000_000
    """frames after which c has fallen to 0"""
    adversary_weight: float = 4e-5
    """of the adversary's loss; with Adam's epsilon it makes the adversary slow, as in the authors' code"""
    adversary_rate: float = 9e-5
    """Adam's step for the adversary"""
    adversary_hidden: int = 128
    """units of the adversary's last hidden layer"""
    count_weight: float = 0.0125
    """of the bonus for visited cells (the authors' PyTorch code; their TensorFlow code: 0.1, counted across episodes)"""
    count: Literal["first", "root"] = "first"
    """pay the bonus for the first visit in an episode alone (what the authors' code does), or 1 / sqrt(visits)"""

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--agac.", "surprise", "adversary_weight", "count_weight")
        ONE_OR_MORE.refuse_outside(self, "--agac.", "surprise_frames", "adversary_hidden")
        ABOVE_ZERO.refuse_outside(self, "--agac.", "adversary_rate")


# Maths


def surprise_of(log_prob: np.ndarray, adversary_log_prob: np.ndarray) -> np.ndarray:
    """How much likelier the action was to the policy than to the adversary."""
    return log_prob - adversary_log_prob


def divergence(log_probs: np.ndarray, adversary_log_probs: np.ndarray) -> np.ndarray:
    """KL(pi || pi_adv) over the last axis."""
    return (np.exp(log_probs) * (log_probs - adversary_log_probs)).sum(axis=-1)


def loss_adversary(log_probs: Tensor, logits: Tensor) -> Tensor:
    """Mean KL(pi || pi_adv) of the policy that played, log_probs [n, A], and the adversary's logits [n, A]."""
    return (log_probs.exp() * (log_probs - torch.log_softmax(logits, dim=1))).sum(dim=1).mean()


def surprise_weight(config: AgacConfig, frames: int) -> float:
    """c after so many frames."""
    return config.surprise * max(0.0, 1 - frames / config.surprise_frames)


def count_bonus(config: AgacConfig, visits: np.ndarray) -> np.ndarray:
    return config.count_weight * (visits == 1 if config.count == "first" else 1 / np.sqrt(visits))


@dataclass(frozen=True)
class AgacTargets:
    """What AGAC learns from a batch; all [T, B] but the last."""

    advantages: np.ndarray
    returns: np.ndarray
    surprise: np.ndarray
    divergence: np.ndarray
    log_probs: np.ndarray  # [T, B, A] of the policy that played


def agac_targets(net: Net, batch: Batch, pay: np.ndarray, ppo: PpoConfig, config: AgacConfig, c: float) -> AgacTargets:
    """The two lines at the head of this file."""
    assert isinstance(batch.policy, Categorical)
    logits, adversary_logits = (batch.outputs[name][:-1] for name in ("logits", "adversary"))
    log_probs, adversary_log_probs = log_softmax(logits), log_softmax(adversary_logits)
    actions = batch.policy.targets(batch.rollout.actions)
    surprise = surprise_of(log_prob_of(logits, actions), log_prob_of(adversary_logits, actions))
    kl = divergence(log_probs, adversary_log_probs)
    bonus = 0.0 if batch.visits is None else count_bonus(config, batch.visits)
    advantages = batch_advantages(net, batch, pay + bonus, ppo) + c * surprise
    returns = batch_advantages(net, batch, pay, ppo) + batch.values + c * kl
    return AgacTargets(advantages, returns, surprise, kl, log_probs)


# Learning


def agac_towers(actions: int, config: AgacConfig) -> tuple[TowerPlan, ...]:
    return (
        TowerPlan("actor", (Output("logits", actions, 0.01),)),
        TowerPlan("critic", (Output("value", 1, 1.0, scalar=True),)),
        TowerPlan("adversary", (Output("adversary", actions, 0.01),), hidden=config.adversary_hidden),
    )


class Agac(Learner):
    """AGAC on whatever the rollout was paid."""

    def __init__(self, envs: Envs, kind: Kind, net: NetConfig, ppo: PpoConfig, config: AgacConfig, seed: int) -> None:
        self.ppo, self.config = ppo, config
        policy = make_net(envs, kind, net, agac_towers(number_of_actions(envs, "agac"), config), weights_seed(seed))
        of_adversary = {name: w for name, w in policy.named_parameters() if name.startswith("towers.adversary")}
        others = {name: w for name, w in policy.named_parameters() if name not in of_adversary}
        bounds = {"epsilon": ppo.epsilon, "max_grad_norm": ppo.max_grad_norm}
        optimisers = {
            "adam": Optimiser(others, learning_rate=ppo.learning_rate, **bounds),
            "adam_adversary": Optimiser(of_adversary, learning_rate=config.adversary_rate, **bounds),
        }
        player = Player(envs, policy, ppo.num_steps, seed)
        super().__init__(player, {}, optimisers, seed, Visits("spots") if config.count_weight else None)

    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        # Advantages and returns, with what the adversary makes of the batch
        c = surprise_weight(self.config, self.frames)
        agac = agac_targets(self.net, batch, pay, self.ppo, self.config, c)
        targets = Targets.of(batch, agac.advantages, agac.returns)
        old_log_probs = torch.from_numpy(agac.log_probs.reshape(-1, agac.log_probs.shape[-1]))

        means, minibatches, rng = Means(), Minibatches(batch, self.ppo.recurrence), self._rng("minibatches")
        for _ in range(self.ppo.epochs):
            for minibatch in minibatches.epoch(self.ppo.minibatches, rng):
                # PPO's loss and its gradient
                outputs = minibatch.outputs(self.net)
                losses, gradients = ppo_gradients(self.net.policy, outputs, targets, minibatch.index, self.ppo)
                backward(outputs, gradients)

                # The adversary's
                adversary_loss = loss_adversary(old_log_probs[minibatch.index], outputs["adversary"])
                (self.config.adversary_weight * adversary_loss).backward()

                # A step of each optimiser
                norm, _ = (optimiser.step() for optimiser in self._optimisers.values())
                means.add(losses | {"loss_adversary": adversary_loss, "gradient_norm": norm})

        self.net.watch(batch.rollout)
        valid = batch.rollout.valid
        return means.take() | {
            "explained_variance": explained_variance(batch.values[valid], agac.returns[valid]),
            "surprise": float(agac.surprise[valid].mean()),
            "divergence": float(agac.divergence[valid].mean()),
            "surprise_weight": c,
        }
