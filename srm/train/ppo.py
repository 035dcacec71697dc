"""Proximal policy optimisation: its settings, and the learner. Its losses are in `losses.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from srm.errors import RunError
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, SHARE, SHARE_ABOVE_ZERO, ZERO_OR_MORE
from srm.task.worlds import Worlds
from srm.train.batches import Deck
from srm.train.collect import Played, Player, values_after
from srm.train.learner import Learner, Means, weights_seed
from srm.train.losses import Lesson, ppo_slopes
from srm.train.nets import Kind, Net, NetConfig, Output, TowerPlan
from srm.train.optimise import Optimiser
from srm.train.returns import advantages, explained_variance
from srm.trajectory import Rollout


@dataclass(frozen=True)
class PpoConfig:
    """How PPO learns."""

    worlds: int = 32
    """B, worlds played side by side (AGAC's code plays one, torch-ac 16; 64 take half as many frames again to the same return)"""
    steps: int = 128
    """T, steps of each world in a rollout"""
    epochs: int = 4
    """times that each rollout is learnt from"""
    minibatches: int = 4
    """gradient steps of each epoch"""
    learning_rate: float = 5e-4
    """Adam's step"""
    discount: float = 0.99
    """gamma: what a pay of 1 is worth one step earlier"""
    mix: float = 0.95
    """lambda of the generalised advantage: 0 trusts the critic, 1 the pay"""
    clip: float = 0.2
    """how far the probability of an action may move before its gradient is cut off"""
    value_clip: float | None = 0.2
    """the same for the critic; None: no bound"""
    advantage_floor: float = 1e-2
    """added to the spread that advantages are divided by; so much keeps a policy that is never paid from learning noise (the papers: 1e-8)"""
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
        ONE_OR_MORE.refuse_outside(self, "--ppo.", "worlds", "steps", "epochs", "minibatches", "recurrence")
        ABOVE_ZERO.refuse_outside(
            self, "--ppo.", "learning_rate", "clip", "value_clip", "advantage_floor", "norm", "epsilon"
        )
        ZERO_OR_MORE.refuse_outside(self, "--ppo.", "value_weight", "entropy_weight")
        SHARE_ABOVE_ZERO.refuse_outside(self, "--ppo.", "discount")
        SHARE.refuse_outside(self, "--ppo.", "mix")
        if self.steps % self.recurrence:
            raise RunError(f"--ppo.recurrence {self.recurrence} does not divide --ppo.steps {self.steps}")
        if min(self.surely_real, self.worlds * self.steps // self.recurrence) < self.minibatches:
            raise RunError(
                f"{self.worlds} worlds x {self.steps} steps in sequences of {self.recurrence} are too few for "
                f"--ppo.minibatches {self.minibatches}, each of which needs two steps; give fewer, or more --ppo.steps"
            )

    @property
    def surely_real(self) -> int:
        """Steps of a rollout that are none of a reset, however short episodes are."""
        return self.worlds * (self.steps // 2)

    def optimiser(self, module: nn.Module) -> Optimiser:
        return Optimiser(
            dict(module.named_parameters()), learning_rate=self.learning_rate, epsilon=self.epsilon, norm=self.norm
        )


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
    deck = Deck(played, config.recurrence)
    for _ in range(config.epochs):
        for batch in deck.deal(config.minibatches, chance):
            said = batch.keep(net(batch.seen)[0])
            losses, *slopes = ppo_slopes(said, lesson, batch.index, config)
            torch.autograd.backward((said["logits"], said["value"]), slopes)
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
