"""Behavioural cloning: the likelihood of the demonstrated actions, and nothing else. The floor that every other learner must beat.

It plays like any learner, so that its curve stands beside theirs, but what the play was paid is not read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.task.worlds import Worlds
from srm.train.collect import Player, foreign
from srm.train.learner import Learner, Means, weights_seed
from srm.train.nets import Kind, Net, NetConfig, Seen
from srm.train.ppo import PpoConfig, towers
from srm.trajectory import Rollout


@dataclass(frozen=True)
class CloneConfig:
    """What behavioural cloning does in a round; its step and the bound on its gradient are PPO's."""

    steps: int = 32
    """gradient steps of a round, each on all demonstrations"""
    entropy_weight: float = 0.01
    """of the policy's entropy: some hundred demonstrated steps can be learnt by heart"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--bc.", "steps")
        ZERO_OR_MORE.refuse_outside(self, "--bc.", "entropy_weight")


class Clone(Learner):
    """Learns to act as in the demonstrations."""

    def __init__(
        self,
        worlds: Worlds,
        kind: Kind,
        net: NetConfig,
        ppo: PpoConfig,
        config: CloneConfig,
        demonstrated: Rollout,
        seed: int,
    ) -> None:
        self.config = config
        policy = Net(kind, worlds.view_shape, net, towers(worlds.actions, net.towers), weights_seed(seed))
        self._optimiser = ppo.optimiser(policy)
        shown = foreign(policy, demonstrated)
        rows, real = shown.rows[:-1].reshape(-1, policy.lags), demonstrated.real.reshape(-1)
        # All demonstrations at once, as sequences that begin with their episodes: memory runs along them, with its gradient.
        self._seen = Seen(shown.frames, rows, torch.from_numpy(shown.memory[0]), torch.from_numpy(shown.begins[:-1]))
        self._real = torch.from_numpy(np.flatnonzero(real))
        self._actions = torch.from_numpy(demonstrated.actions.reshape(-1))[self._real]
        super().__init__(Player(worlds, policy, ppo.steps, seed), {}, {"adam": self._optimiser}, seed)

    def update(self, rollout: Rollout, pay: np.ndarray) -> dict[str, float]:
        self._learn_from(rollout)
        means = Means()
        for _ in range(self.config.steps):
            logits = self.net(self._seen)[0]["logits"][self._real]
            loss = cross_entropy(logits, self._actions)
            log_probs = torch.log_softmax(logits, dim=1)
            entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
            (loss - self.config.entropy_weight * entropy).backward()
            means.add({"loss_clone": loss, "entropy": entropy, "gradient_norm": self._optimiser.step()})
        return means.take()
