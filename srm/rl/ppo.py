"""Proximal policy optimisation on a page: its settings, the learner, and one update of it.

    batch = ppo.collect()               T steps of B envs (`rollout.py`)
    ppo.update(batch, pay)              advantages -> epochs of minibatches -> loss -> gradient -> optimiser step

The loss is written out in `losses.py`; `gradients.py` has its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import nn

from srm.domains.envs import Envs
from srm.domains.spaces import ActionSpace
from srm.errors import RunError
from srm.rl.advantages import explained_variance, gae
from srm.rl.distributions import Output, distribution_of
from srm.rl.gradients import backward, ppo_gradients
from srm.rl.learner import Learner, Means, weights_seed
from srm.rl.losses import Targets
from srm.rl.minibatches import Minibatches
from srm.rl.nn.nets import Kind, Net, NetConfig, TowerPlan, make_net
from srm.rl.optimise import Optimiser
from srm.rl.rollout import Batch, Player, next_values
from srm.rl.scale import PayScale
from srm.settings import ABOVE_ZERO, AT_MOST_A_MILLION, ONE_OR_MORE, SHARE, SHARE_ABOVE_ZERO, ZERO_OR_MORE, usual


@dataclass(frozen=True)
class PpoConfig:
    """How PPO learns."""

    num_envs: int = usual(32, vectors=8)
    """B, environments played side by side; 8 for vectors unless given (AGAC's code plays one, torch-ac 16; 64 take half as many frames again to the same return)"""
    num_steps: int = usual(128, vectors=256)
    """T, steps of each environment in a rollout; 256 for vectors unless given"""
    epochs: int = usual(4, box=10)
    """times that each rollout is learnt from; 10 with continuous actions unless given"""
    minibatches: int = usual(4)
    """gradient steps of each epoch; for vectors unless given as many as have 64 steps each"""
    learning_rate: float = usual(5e-4, vectors=3e-4)
    """Adam's step; 3e-4 for vectors unless given"""
    discount: float = 0.99
    """gamma: what a pay of 1 is worth one step earlier"""
    gae_lambda: float = 0.95
    """lambda of the generalised advantage: 0 trusts the critic, 1 the pay"""
    clip_coef: float = 0.2
    """how far the probability of an action may move before its gradient is cut off"""
    value_clip: float | None = usual(0.2, vectors=None, pictures=None)
    """the same for the critic; None: no bound, as for all but grids of cells unless given"""
    advantage_floor: float = 1e-2
    """added to the spread that advantages are divided by; so much keeps a policy that is never paid from learning noise (the papers: 1e-8)"""
    value_weight: float = 0.5
    """of the critic's loss, which is half the squared error"""
    entropy_weight: float = usual(0.01, box=0.0)
    """of the policy's entropy; 0 with continuous actions unless given"""
    max_grad_norm: float = 0.5
    """largest norm of a gradient"""
    epsilon: float = 1e-5
    """Adam's"""
    bootstrap_truncated: bool = True
    """count what could have come after a time-out, by the critic's value; the papers' code does not"""
    scale_pay: bool | None = None
    """divide pay by the running spread of its discounted sum; unless given for all but grids of cells; AGAC and RIDE never do"""
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
        policy = make_net(envs, kind, net, actor_critic(envs.action_space, net), weights_seed(seed))
        self._optimiser = config.optimiser(policy)
        self._scale = PayScale(config.discount) if config.scale_pay else None
        modules = {} if self._scale is None else {"pay_scale": self._scale}
        super().__init__(Player(envs, policy, config.num_steps, seed), modules, {"adam": self._optimiser}, seed)

    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        if self._scale is not None:
            pay = self._scale.scale(batch.rollout, pay)
        losses = ppo_update(self.net, self._optimiser, batch, pay, self.config, self._rng("minibatches"))
        self.net.watch(batch.rollout)
        return losses


def actor_critic(space: ActionSpace, config: NetConfig) -> tuple[TowerPlan, ...]:
    """The outputs of a nearly uniform policy (gain 0.01) and a value, from one tower or from two."""
    policy, value = distribution_of(space).outputs(config.spread), Output("value", 1, 1.0, scalar=True)
    if config.towers == "separate":
        return (TowerPlan("actor", policy), TowerPlan("critic", (value,)))
    return (TowerPlan("both", (*policy, value)),)


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
            losses, gradients = ppo_gradients(net.policy, outputs, targets, minibatch.index, config)

            # Gradient with respect to the weights, and a step along it
            backward(outputs, gradients)
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
