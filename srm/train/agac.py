"""Adversarially guided actor-critic: PPO whose policy is paid a little for surprising an adversary that imitates it.

    n samples of a minibatch; A actions; c the weight of the surprise

Three towers that share nothing: actor, critic, adversary. With pi the policy that played and pi_adv the adversary at that time

    advantage = GAE(pay + count bonus) + c (log pi(a|s) - log pi_adv(a|s))     after GAE: neither discounted nor bootstrapped
    target    = GAE(pay) + value       + c KL(pi || pi_adv)                    without the count bonus
    loss_adversary = KL(pi || pi_adv)

`c` falls linearly to 0. The adversary has its own optimiser and its own bound on the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from srm.settings import ABOVE_ZERO, ONE_OR_MORE, ZERO_OR_MORE
from srm.task.worlds import Worlds
from srm.train.batches import Deck
from srm.train.collect import Player, log_prob_of, log_softmax
from srm.train.learner import Learner, Means, weights_seed
from srm.train.losses import Lesson, ppo_slopes
from srm.train.nets import Kind, Net, NetConfig, Output, TowerPlan
from srm.train.optimise import Optimiser
from srm.train.ppo import PpoConfig, rollout_advantages
from srm.train.returns import explained_variance
from srm.train.visits import Visits
from srm.trajectory import Rollout


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


def surprise(log_prob: np.ndarray, adversary_log_prob: np.ndarray) -> np.ndarray:
    """How much likelier the action was to the policy than to the adversary."""
    return log_prob - adversary_log_prob


def divergence(log_probs: np.ndarray, adversary_log_probs: np.ndarray) -> np.ndarray:
    """KL(pi || pi_adv) over the last axis."""
    return (np.exp(log_probs) * (log_probs - adversary_log_probs)).sum(axis=-1)


def loss_adversary(log_probs: Tensor, logits: Tensor) -> Tensor:
    """Mean KL(pi || pi_adv) of the policy that played, log_probs [n, A], and the adversary's logits [n, A]."""
    return (log_probs.exp() * (log_probs - torch.log_softmax(logits, dim=1))).sum(dim=1).mean()


def weight_at(config: AgacConfig, frames: int) -> float:
    """c after so many frames."""
    return config.surprise * max(0.0, 1 - frames / config.surprise_frames)


def count_bonus(config: AgacConfig, visits: np.ndarray) -> np.ndarray:
    return config.count_weight * (visits == 1 if config.count == "first" else 1 / np.sqrt(visits))


# Learning


def agac_towers(actions: int, config: AgacConfig) -> tuple[TowerPlan, ...]:
    return (
        TowerPlan("actor", (Output("logits", actions, 0.01),)),
        TowerPlan("critic", (Output("value", 1, 1.0),)),
        TowerPlan("adversary", (Output("adversary", actions, 0.01),), hidden=config.adversary_hidden),
    )


class Agac(Learner):
    """AGAC on whatever the rollout was paid."""

    def __init__(
        self, worlds: Worlds, kind: Kind, net: NetConfig, ppo: PpoConfig, config: AgacConfig, seed: int
    ) -> None:
        self.ppo, self.config = ppo, config
        policy = Net(kind, worlds.view_shape, net, agac_towers(worlds.actions, config), weights_seed(seed))
        of_adversary = {name: w for name, w in policy.named_parameters() if name.startswith("towers.adversary")}
        others = {name: w for name, w in policy.named_parameters() if name not in of_adversary}
        optimisers = {
            "adam": Optimiser(others, learning_rate=ppo.learning_rate, epsilon=ppo.epsilon, norm=ppo.norm),
            "adam_adversary": Optimiser(
                of_adversary, learning_rate=config.adversary_rate, epsilon=ppo.epsilon, norm=ppo.norm
            ),
        }
        player = Player(worlds, policy, ppo.steps, seed)
        super().__init__(player, {}, optimisers, seed, Visits("spots") if config.count_weight else None)

    def update(self, rollout: Rollout, pay: np.ndarray) -> dict[str, float]:
        played = self._learn_from(rollout)
        value = played.outputs["value"][:-1]
        log_probs, adversary = (log_softmax(played.outputs[name][:-1]) for name in ("logits", "adversary"))
        c = weight_at(self.config, self.frames)
        bonus = count_bonus(self.config, self._visited) if self.config.count_weight else 0.0
        surprised = surprise(
            log_prob_of(played.outputs["logits"][:-1], rollout.actions),
            log_prob_of(played.outputs["adversary"][:-1], rollout.actions),
        )
        advantage = rollout_advantages(self.net, played, pay + bonus, self.ppo) + c * surprised
        kl = divergence(log_probs, adversary)
        target = rollout_advantages(self.net, played, pay, self.ppo) + value + c * kl
        lesson = Lesson.of(played, advantage, target)
        old = torch.from_numpy(log_probs.reshape(-1, log_probs.shape[-1]))
        means, chance = Means(), self._chance("minibatches")
        deck = Deck(played, self.ppo.recurrence)
        for _ in range(self.ppo.epochs):
            for batch in deck.deal(self.ppo.minibatches, chance):
                said = batch.keep(self.net(batch.seen)[0])
                losses, *slopes = ppo_slopes(said, lesson, batch.index, self.ppo)
                torch.autograd.backward((said["logits"], said["value"]), slopes)
                adversary_loss = loss_adversary(old[batch.index], said["adversary"])
                (self.config.adversary_weight * adversary_loss).backward()
                norms = [optimiser.step() for optimiser in self._optimisers.values()]
                means.add(losses | {"loss_adversary": adversary_loss, "gradient_norm": norms[0]})
        return means.take() | {
            "explained_variance": explained_variance(value[rollout.real], target[rollout.real]),
            "surprise": float(surprised[rollout.real].mean()),
            "divergence": float(kl[rollout.real].mean()),
            "surprise_weight": c,
        }
