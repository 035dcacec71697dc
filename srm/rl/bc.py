"""Behavioural cloning: the likelihood of the demonstrated actions, and nothing else. The floor that every other learner must beat.

It plays like any learner, so that its curve stands beside theirs, but what the play was paid is not read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from srm.domains.envs import Envs
from srm.rl.learner import Learner, Means, weights_seed
from srm.rl.nn.nets import Kind, NetConfig, NetInput, make_net
from srm.rl.ppo import PpoConfig, actor_critic
from srm.rl.rollout import Batch, Player, batch_of
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
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
        envs: Envs,
        kind: Kind,
        net: NetConfig,
        ppo: PpoConfig,
        config: CloneConfig,
        demonstrations: Rollout,
        seed: int,
    ) -> None:
        self.config = config
        policy = make_net(envs, kind, net, actor_critic(envs.action_space, net), weights_seed(seed))
        policy.watch(demonstrations)  # the only observations that are ever learnt from
        self._optimiser = ppo.optimiser(policy)

        # All demonstrations at once, as sequences that begin with their episodes: memory runs along them, with its gradient.
        demos = batch_of(policy, demonstrations)
        rows, memory = demos.rows[:-1].reshape(-1, policy.lags), torch.from_numpy(demos.memory[0])
        self._inputs = NetInput(demos.frames, rows, memory, torch.from_numpy(demos.episode_start[:-1]))
        self._valid = torch.from_numpy(np.flatnonzero(demonstrations.valid.reshape(-1)))
        self._actions = torch.from_numpy(policy.policy.targets(demonstrations.actions)).flatten(0, 1)[self._valid]
        super().__init__(Player(envs, policy, ppo.num_steps, seed), {}, {"adam": self._optimiser}, seed)

    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        means = Means()
        for _ in range(self.config.steps):
            outputs, _ = self.net(self._inputs)
            seen = {name: output[self._valid] for name, output in outputs.items()}
            log_prob, entropies = self.net.policy.judge(seen, self._actions)
            loss, entropy = -log_prob.mean(), entropies.mean()
            (loss - self.config.entropy_weight * entropy).backward()
            means.add({"loss_clone": loss, "entropy": entropy, "gradient_norm": self._optimiser.step()})
        return means.take()
