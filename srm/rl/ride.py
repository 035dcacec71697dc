"""RIDE: PPO paid in addition for steps that change what is seen, where few steps have led before.

    n samples; phi [n, 128] the embedding of one observation

    intrinsic = ||phi(s') - phi(s)|| / sqrt(visits of s' in this episode)
    pay       = clip(pay + weight * intrinsic)

phi is trained by two models alone: one predicts the action from phi(s) and phi(s'), the other phi(s') from phi(s) and the action. Visits are those of the full state (`visits.py`).

What differs from the authors' code: PPO learns the policy (theirs is IMPALA's V-trace), so the two losses are means over
minibatches rather than sums over time; the true last observation of an episode is used (theirs takes the next episode's first).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.encodings import cells_of
from srm.domains.envs import Envs
from srm.domains.spaces import ObservationSpace, describe
from srm.errors import TaskError
from srm.rl.learner import Learner, Means, number_of_actions, weights_seed
from srm.rl.nn.grid_conv import CellConvolutions, LinearElu
from srm.rl.nn.nets import Kind, Net, NetConfig, make_net
from srm.rl.optimise import Optimiser
from srm.rl.ppo import PpoConfig, actor_critic, ppo_update
from srm.rl.rollout import Batch, Player
from srm.rl.visits import Visits
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, ZERO_OR_MORE

EMBEDDING, HIDDEN = 128, 256


@dataclass(frozen=True)
class RideConfig:
    """What RIDE adds to PPO; the defaults are those of its authors for KeyCorridor."""

    weight: float = 0.1
    """alpha, of the intrinsic reward (the authors: 0.1 for KeyCorridor, 0.5 for ObstructedMaze)"""
    clip: float | None = 1.0
    """largest pay of a step, either way; None: no bound (a machine may pay more than 1)"""
    forward_weight: float = 10.0
    """of the loss of the model that predicts the next observation"""
    inverse_weight: float = 0.1
    """of the loss of the model that predicts the action"""
    learning_rate: float = 1e-4
    """Adam's step for the embedding and both models"""
    max_grad_norm: float = 40.0
    """largest norm of their gradient"""
    minibatches: int = 8
    """gradient steps of the models on each rollout, which they see once"""

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--ride.", "weight", "forward_weight", "inverse_weight")
        ABOVE_ZERO.refuse_outside(self, "--ride.", "clip", "learning_rate", "max_grad_norm")
        ONE_OR_MORE.refuse_outside(self, "--ride.", "minibatches")


# Maths


def intrinsic_reward(change: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """[n] of phi(s') - phi(s) [n, 128] and how often s' was visited [n]."""
    return np.linalg.norm(change, axis=-1) / np.sqrt(visits)


def total_pay(config: RideConfig, pay: np.ndarray, intrinsic: np.ndarray) -> np.ndarray:
    """What the policy learns from."""
    total = pay + config.weight * intrinsic
    return total if config.clip is None else total.clip(-config.clip, config.clip)


def loss_forward(prediction: Tensor, after: Tensor) -> Tensor:
    """The distance (not its square) from the prediction to phi(s'), mean over n."""
    return (prediction - after).norm(dim=1).mean()


def loss_inverse(logits: Tensor, actions: Tensor) -> Tensor:
    """Cross-entropy of the actions predicted from phi(s) and phi(s'), mean over n."""
    return nn.functional.cross_entropy(logits, actions)


# Learning


class RideModel(nn.Module):
    """phi, and the two models that train it."""

    def __init__(self, space: ObservationSpace, actions: int, seed: int) -> None:
        super().__init__()
        shape, cells = space.shape, cells_of(space.shape)
        if cells is None or space.parts[0].kind != "cells":
            raise TaskError(
                "RIDE embeds a grid of cells, as MiniGrid's observation [width, height, 3] is, "
                f"not {describe(space.dtype, shape)}; use --learner ppo"
            )
        self.actions = actions
        # As its authors do, whatever the policy sees: with one-hot cells every observation is far from every other, walking about pays
        # 0.05 a step without end, and DoorKey-5x5 is never left (0.00 after 200 k frames).
        self.convolutions = CellConvolutions(cells, shape[0], shape[1], 1, "ids", 1 / 255, later=1)
        self.last = LinearElu(self.convolutions.out, EMBEDDING)
        self.inverse = nn.Sequential(nn.Linear(2 * EMBEDDING, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, actions))
        self.foretell = nn.Sequential(nn.Linear(EMBEDDING + actions, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, EMBEDDING))
        generator = torch.Generator().manual_seed(seed)
        self.convolutions.initialise(generator)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, gain=nn.init.calculate_gain("relu"), generator=generator)
                nn.init.zeros_(module.bias)

    def embed(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        """phi [n, 128] of the frames at `rows` [n]."""
        return self.last(self.convolutions(frames, rows[:, None]))

    def losses(self, before: Tensor, after: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """(forward, inverse); gradients reach phi through both of its arguments in both."""
        one_hot = nn.functional.one_hot(actions, self.actions).float()
        prediction = self.foretell(torch.cat([before, one_hot], dim=1))
        logits = self.inverse(torch.cat([before, after], dim=1))
        return loss_forward(prediction, after), loss_inverse(logits, actions)


class Ride(Learner):
    """PPO on the rollout's pay and RIDE's own."""

    def __init__(self, envs: Envs, kind: Kind, net: NetConfig, ppo: PpoConfig, config: RideConfig, seed: int) -> None:
        self.ppo, self.config = ppo, config
        policy = make_net(envs, kind, net, actor_critic(envs.action_space, net), weights_seed(seed))
        self._model = RideModel(envs.observation_space, number_of_actions(envs, "ride"), weights_seed(seed))
        optimisers = {
            "adam": ppo.optimiser(policy),
            "adam_model": Optimiser(
                dict(self._model.named_parameters()),
                learning_rate=config.learning_rate,
                epsilon=ppo.epsilon,
                max_grad_norm=config.max_grad_norm,
            ),
        }
        player = Player(envs, policy, ppo.num_steps, seed)
        super().__init__(player, {"model": self._model}, optimisers, seed, Visits("states"))

    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        intrinsic = self.intrinsic(batch)
        pay = total_pay(self.config, pay, intrinsic)
        losses = ppo_update(self.net, self._optimisers["adam"], batch, pay, self.ppo, self._rng("minibatches"))
        return losses | self._train_model(batch) | {"intrinsic": float(intrinsic[batch.rollout.valid].mean())}

    def intrinsic(self, batch: Batch) -> np.ndarray:
        """[T, B], by the embedding as it is."""
        assert batch.visits is not None, "collect() of this learner counts them"
        frames, before, after = observation_rows(self.net, batch)
        distinct, inverse = np.unique(np.concatenate([before, after]), return_inverse=True)
        with torch.no_grad(), self._model.convolutions.fixed():
            phi = self._model.embed(frames, distinct).numpy()
        change = phi[inverse[len(before) :]] - phi[inverse[: len(before)]]
        reward = intrinsic_reward(change, batch.visits.reshape(-1))
        return reward.reshape(batch.visits.shape) * batch.rollout.valid

    def _train_model(self, batch: Batch) -> dict[str, float]:
        frames, before, after = observation_rows(self.net, batch)
        actions = torch.from_numpy(batch.policy.targets(batch.rollout.actions).reshape(-1))
        valid = np.flatnonzero(batch.rollout.valid)
        means = Means()
        for index in np.array_split(self._rng("models").permutation(valid), self.config.minibatches):
            phi = self._model.embed(frames, np.concatenate([before[index], after[index]]))
            forward, inverse = self._model.losses(phi[: len(index)], phi[len(index) :], actions[index])
            (self.config.forward_weight * forward + self.config.inverse_weight * inverse).backward()
            self._optimisers["adam_model"].step()
            means.add({"loss_forward": forward, "loss_inverse": inverse})
        return means.take()


def observation_rows(net: Net, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frames with the final ones behind them, and the rows of the true observations before and after each step, [T * B]."""
    rollout = batch.rollout
    rows = batch.rows[..., 0]
    after = rows[1:].copy()
    frames = batch.frames
    if len(rollout.final_step):
        after[rollout.final_step, rollout.final_env] = len(frames) + np.arange(len(rollout.final_step))
        frames = np.concatenate([frames, net.encode(rollout.final_observations)])
    return frames, rows[:-1].reshape(-1), after.reshape(-1)
