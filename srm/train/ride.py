"""RIDE: PPO paid in addition for steps that change what is seen, where few steps have led before.

    n samples; phi [n, 128] the embedding of one view

    intrinsic = ||phi(s') - phi(s)|| / sqrt(visits of s' in this episode)
    pay       = clip(pay + weight * intrinsic)

phi is trained by two models alone: one tells the action from phi(s) and phi(s'), the other foretells phi(s') from phi(s) and the
action. Visits are those of the full state (`visits.py`).

What differs from the authors' code: PPO learns the policy (theirs is IMPALA's V-trace), so the two losses are means over
minibatches rather than sums over time; the true last view of an episode is used (theirs takes the next episode's first).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from srm.errors import TaskError
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, ZERO_OR_MORE
from srm.task.worlds import Worlds
from srm.train.cells import CellConvolutions, LinearElu
from srm.train.collect import Played, Player
from srm.train.learner import Learner, Means, weights_seed
from srm.train.nets import Kind, Net, NetConfig
from srm.train.optimise import Optimiser
from srm.train.ppo import PpoConfig, ppo_update, towers
from srm.train.visits import Visits
from srm.trajectory import Rollout

EMBEDDING, HIDDEN = 128, 256


@dataclass(frozen=True)
class RideConfig:
    """What RIDE adds to PPO; the defaults are those of its authors for KeyCorridor."""

    weight: float = 0.1
    """alpha, of the intrinsic reward (the authors: 0.1 for KeyCorridor, 0.5 for ObstructedMaze)"""
    clip: float | None = 1.0
    """largest pay of a step, either way; None: no bound (a machine may pay more than 1)"""
    forward_weight: float = 10.0
    """of the loss of the model that foretells the next view"""
    inverse_weight: float = 0.1
    """of the loss of the model that tells the action"""
    learning_rate: float = 1e-4
    """Adam's step for the embedding and both models"""
    norm: float = 40.0
    """largest norm of their gradient"""
    minibatches: int = 8
    """gradient steps of the models on each rollout, which they see once"""

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--ride.", "weight", "forward_weight", "inverse_weight")
        ABOVE_ZERO.refuse_outside(self, "--ride.", "clip", "learning_rate", "norm")
        ONE_OR_MORE.refuse_outside(self, "--ride.", "minibatches")


# Maths


def intrinsic_reward(change: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """[n] of phi(s') - phi(s) [n, 128] and how often s' was visited [n]."""
    return np.linalg.norm(change, axis=-1) / np.sqrt(visits)


def loss_forward(foretold: Tensor, after: Tensor) -> Tensor:
    """The distance (not its square) from what was foretold to phi(s'), mean over n."""
    return (foretold - after).norm(dim=1).mean()


def loss_inverse(logits: Tensor, actions: Tensor) -> Tensor:
    """Cross-entropy of the actions told from phi(s) and phi(s'), mean over n."""
    return nn.functional.cross_entropy(logits, actions)


# Learning


class RideModel(nn.Module):
    """phi, and the two models that train it."""

    def __init__(self, shape: tuple[int, ...], actions: int, seed: int) -> None:
        super().__init__()
        if len(shape) != 3 or shape[2] != 3:
            raise TaskError(f"RIDE embeds MiniGrid's view [width, height, 3], not {list(shape)}; use --learner ppo")
        self.actions = actions
        # As its authors do, whatever the policy sees: with one-hot cells every view is far from every other, walking about pays
        # 0.05 a step without end, and DoorKey-5x5 is never left (0.00 after 200 k frames).
        self.convolutions = CellConvolutions(shape[0], shape[1], 1, "ids", 1 / 255, later=1)
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
        foretold = self.foretell(torch.cat([before, one_hot], dim=1))
        told = self.inverse(torch.cat([before, after], dim=1))
        return loss_forward(foretold, after), loss_inverse(told, actions)


class Ride(Learner):
    """PPO on the rollout's pay and RIDE's own."""

    def __init__(
        self, worlds: Worlds, kind: Kind, net: NetConfig, ppo: PpoConfig, config: RideConfig, seed: int
    ) -> None:
        self.ppo, self.config = ppo, config
        policy = Net(kind, worlds.view_shape, net, towers(worlds.actions, net.towers), weights_seed(seed))
        self._model = RideModel(worlds.view_shape, worlds.actions, weights_seed(seed))
        optimisers = {
            "adam": ppo.optimiser(policy),
            "adam_model": Optimiser(
                dict(self._model.named_parameters()),
                learning_rate=config.learning_rate,
                epsilon=ppo.epsilon,
                norm=config.norm,
            ),
        }
        player = Player(worlds, policy, ppo.steps, seed)
        super().__init__(player, {"model": self._model}, optimisers, seed, Visits("states"))

    def update(self, rollout: Rollout, pay: np.ndarray) -> dict[str, float]:
        played = self._learn_from(rollout)
        intrinsic = self._intrinsic(played)
        paid = pay + self.config.weight * intrinsic
        if self.config.clip is not None:
            paid = paid.clip(-self.config.clip, self.config.clip)
        losses = ppo_update(self.net, self._optimisers["adam"], played, paid, self.ppo, self._chance("minibatches"))
        return losses | self._train_model(played) | {"intrinsic": float(intrinsic[rollout.real].mean())}

    def _intrinsic(self, played: Played) -> np.ndarray:
        """[T, B], by the embedding as it is."""
        frames, before, after = view_rows(self.net, played)
        distinct, alike = np.unique(np.concatenate([before, after]), return_inverse=True)
        with torch.no_grad(), self._model.convolutions.fixed():
            phi = self._model.embed(frames, distinct).numpy()
        change = phi[alike[len(before) :]] - phi[alike[: len(before)]]
        return intrinsic_reward(change, self._visited.reshape(-1)).reshape(self._visited.shape) * played.rollout.real

    def _train_model(self, played: Played) -> dict[str, float]:
        frames, before, after = view_rows(self.net, played)
        actions = torch.from_numpy(played.rollout.actions.reshape(-1))
        means = Means()
        real = np.flatnonzero(played.rollout.real)
        for index in np.array_split(self._chance("models").permutation(real), self.config.minibatches):
            phi = self._model.embed(frames, np.concatenate([before[index], after[index]]))
            forward, inverse = self._model.losses(phi[: len(index)], phi[len(index) :], actions[index])
            (self.config.forward_weight * forward + self.config.inverse_weight * inverse).backward()
            self._optimisers["adam_model"].step()
            means.add({"loss_forward": forward, "loss_inverse": inverse})
        return means.take()


def view_rows(net: Net, played: Played) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frames with the final ones behind them, and the rows of the true views before and after each step, [T * B]."""
    rollout = played.rollout
    rows = played.rows[..., 0]
    after = rows[1:].copy()
    frames = played.frames
    if len(rollout.final_step):
        after[rollout.final_step, rollout.final_world] = len(frames) + np.arange(len(rollout.final_step))
        frames = np.concatenate([frames, net.encode(rollout.final_views)])
    return frames, rows[:-1].reshape(-1), after.reshape(-1)
