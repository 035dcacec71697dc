"""Proximal policy optimisation on a page: its settings, the learner, and one update of it.

    batch = ppo.collect()               T steps of B envs (`rollout.py`)
    ppo.update(batch, pay)              advantages -> epochs of minibatches -> loss -> gradient -> optimiser step

The loss is written out in `losses.py`; `gradients.py` has its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from srm.domains.envs import Envs, number_of_actions
from srm.errors import RunError
from srm.rl.advantages import explained_variance, gae
from srm.rl.gradients import ppo_gradients
from srm.rl.learner import Learner, Means, weights_seed
from srm.rl.losses import Targets
from srm.rl.minibatches import Minibatches
from srm.rl.nn.nets import Kind, Net, NetConfig, Output, TowerPlan, make_net
from srm.rl.optimise import Optimiser
from srm.rl.rollout import Batch, Player, next_values
from srm.settings import ABOVE_ZERO, AT_MOST_A_MILLION, ONE_OR_MORE, SHARE, SHARE_ABOVE_ZERO, ZERO_OR_MORE


@dataclass(frozen=True)
class PpoConfig:
    """How PPO learns."""

    num_envs: int = 32
    """B, environments played side by side (AGAC's code plays one, torch-ac 16; 64 take half as many frames again to the same return)"""
    num_steps: int = 128
    """T, steps of each environment in a rollout"""
    epochs: int = 4
    """times that each rollout is learnt from"""
    minibatches: int = 4
    """gradient steps of each epoch"""
    learning_rate: float = 5e-4
    """Adam's step"""
    discount: float = 0.99
    """gamma: what a pay of 1 is worth one step earlier"""
    gae_lambda: float = 0.95
    """lambda of the generalised advantage: 0 trusts the critic, 1 the pay"""
    clip_coef: float = 0.2
    """how far the probability of an action may move before its gradient is cut off"""
    value_clip: float | None = 0.2
    """the same for the critic; None: no bound"""
    advantage_floor: float = 1e-2
    """added to the spread that advantages are divided by; so much keeps a policy that is never paid from learning noise (the papers: 1e-8)"""
    value_weight: float = 0.5
    """of the critic's loss, which is half the squared error"""
    entropy_weight: float = 0.01
    """of the policy's entropy"""
    max_grad_norm: float = 0.5
    """largest norm of a gradient"""
    epsilon: float = 1e-5
    """Adam's"""
    bootstrap_truncated: bool = True
    """count what could have come after a time-out, by the critic's value; the papers' code does not"""
    recurrence: int = 1
    """steps that the LSTM's gradient flows back; 1: the stored memory is an input"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--ppo.", "num_envs", "num_steps", "epochs", "minibatches", "recurrence")
        AT_MOST_A_MILLION.refuse_outside(self, "--ppo.", "num_envs", "num_steps")
        ABOVE_ZERO.refuse_outside(
            self, "--ppo.", "learning_rate", "clip_coef", "value_clip", "advantage_floor", "max_grad_norm", "epsilon"
        )
        ZERO_OR_MORE.refuse_outside(self, "--ppo.", "value_weight", "entropy_weight")
        SHARE_ABOVE_ZERO.refuse_outside(self, "--ppo.", "discount")
        SHARE.refuse_outside(self, "--ppo.", "gae_lambda")
        if self.num_steps % self.recurrence:
            raise RunError(f"--ppo.recurrence {self.recurrence} does not divide --ppo.num-steps {self.num_steps}")
        if min(self.least_real_steps, self.num_envs * self.num_steps // self.recurrence) < self.minibatches:
            raise RunError(
                f"{self.num_envs} environments x {self.num_steps} steps in sequences of {self.recurrence} are too few for "
                f"--ppo.minibatches {self.minibatches}, each of which needs two steps; give fewer, or more --ppo.num-steps"
            )

    @property
    def least_real_steps(self) -> int:
        """Steps of a rollout that are none of a reset, however short episodes are."""
        return self.num_envs * (self.num_steps // 2)

    def optimiser(self, module: nn.Module) -> Optimiser:
        return Optimiser(
            dict(module.named_parameters()),
            learning_rate=self.learning_rate,
            epsilon=self.epsilon,
            max_grad_norm=self.max_grad_norm,
        )


class Ppo(Learner):
    """PPO on whatever the rollout was paid."""

    def __init__(self, envs: Envs, kind: Kind, net: NetConfig, config: PpoConfig, seed: int) -> None:
        self.config = config
        policy = make_net(envs, kind, net, actor_critic(number_of_actions(envs), net.towers), weights_seed(seed))
        self._optimiser = config.optimiser(policy)
        super().__init__(Player(envs, policy, config.num_steps, seed), {}, {"adam": self._optimiser}, seed)

    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        return ppo_update(self.net, self._optimiser, batch, pay, self.config, self._rng("minibatches"))


def actor_critic(actions: int, towers: Literal["shared", "separate"]) -> tuple[TowerPlan, ...]:
    """Logits of a nearly uniform policy (gain 0.01) and a value, from one tower or from two."""
    logits, value = Output("logits", actions, 0.01), Output("value", 1, 1.0)
    if towers == "shared":
        return (TowerPlan("both", (logits, value)),)
    return (TowerPlan("actor", (logits,)), TowerPlan("critic", (value,)))


def ppo_update(
    net: Net, optimiser: Optimiser, batch: Batch, pay: np.ndarray, config: PpoConfig, rng: np.random.Generator
) -> dict[str, float]:
    """All epochs over one batch."""
    # Advantages, and the returns that the critic should have foretold
    advantages = batch_advantages(net, batch, pay, config)
    returns = advantages + batch.values
    targets = Targets.of(batch, advantages, returns)

    means, minibatches = Means(), Minibatches(batch, config.recurrence)
    for _ in range(config.epochs):
        for minibatch in minibatches.epoch(config.minibatches, rng):
            # Loss: `losses.ppo_losses` of these outputs, and its gradient with respect to them
            outputs = minibatch.outputs(net)
            losses, *gradients = ppo_gradients(outputs, targets, minibatch.index, config)

            # Gradient with respect to the weights, and a step along it
            torch.autograd.backward((outputs["logits"], outputs["value"]), gradients)
            means.add(losses | {"gradient_norm": optimiser.step()})

    valid = batch.rollout.valid
    return means.take() | {"explained_variance": explained_variance(batch.values[valid], returns[valid])}


def batch_advantages(net: Net, batch: Batch, pay: np.ndarray, config: PpoConfig) -> np.ndarray:
    """[T, B], with time-outs treated as the config says."""
    rollout = batch.rollout
    terminated = rollout.terminated if config.bootstrap_truncated else rollout.terminated | rollout.truncated
    return gae(
        pay.astype(np.float32),
        batch.values,
        next_values(net, batch),
        terminated,
        rollout.truncated,
        rollout.valid,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
    )
