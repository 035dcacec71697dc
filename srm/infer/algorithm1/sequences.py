"""f along rollouts, and along sequences cut out of them.

f is trained on sequences of 8 steps that begin with the memory it had there when the round began.

    T steps   B envs   S steps of N sequences   U units of the LSTM, which remembers 2 U numbers
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from srm.infer.algorithm1.reward_net import Observations, RewardNet, RewardNetConfig
from srm.trajectory import Mask, Rollout


@dataclass(frozen=True, eq=False)
class NetRollout:
    """A rollout as the net takes it, and f along it with the weights it has."""

    observations: Observations  # of T * B steps, step by step
    actions: Tensor  # [T, B] or [T, B, A], as their distribution reads them
    episode_start: Tensor  # [T, B]
    valid: Tensor  # [T, B]
    memory: Tensor  # [T + 1, B, 2 U] before each step, and after the last
    f: Tensor  # [T, B] log-likelihood of each action


@torch.no_grad()
def follow(
    net: RewardNet,
    rollout: Rollout,
    first: Mask,
    memory: Tensor | None = None,
    observations: Observations | None = None,
) -> NetRollout:
    """f along a whole rollout.

    `first` [B] says which envs begin an episode with it, `memory` [B, 2 U] what f remembers of the others; `observations` spares
    preparing them again.
    """
    steps, envs = rollout.valid.shape
    if observations is None:
        observations = net.prepare(rollout.observations[:-1].reshape(steps * envs, *rollout.observations.shape[2:]))
    if memory is None:
        memory = torch.zeros(envs, 2 * net.config.units)
    fresh = rollout.fresh()[:-1]
    fresh[0] = first
    episode_start, actions = torch.from_numpy(fresh), torch.from_numpy(net.policy.targets(rollout.actions))
    f, memories = net(observations, np.arange(steps * envs), episode_start, memory, actions)
    return NetRollout(observations, actions, episode_start, torch.from_numpy(rollout.valid), memories, f)


class Follower:
    """f along consecutive rollouts of the same envs, in which an episode may take several."""

    def __init__(self, net: RewardNet) -> None:
        self._net = net
        self._memory: Tensor | None = None  # [B, 2 U] after the last rollout
        self._between = np.zeros(0, np.bool_)  # [B] whether it left the env between two episodes

    def follow(self, rollout: Rollout, observations: Observations | None = None) -> NetRollout:
        """With the weights that f has now."""
        first = self._between if len(self._between) == rollout.envs else np.ones(rollout.envs, np.bool_)
        return follow(self._net, rollout, first, self._memory, observations)

    def advance(self, rollout: Rollout, followed: NetRollout) -> None:
        """The next rollout goes on from here."""
        self._memory = followed.memory[-1]
        self._between = rollout.terminated[-1] | rollout.truncated[-1] | ~rollout.valid[-1]


@dataclass(frozen=True, eq=False)
class Sequences:
    """N sequences of up to S steps out of a rollout; steps beyond the end of a sequence are not valid."""

    index: Tensor  # [S, N] into the rollout's T * B steps
    actions: Tensor  # [S, N] or [S, N, A]
    episode_start: Tensor  # [S, N]
    valid: Tensor  # [S, N]
    memory: Tensor  # [N, 2 U]

    def of(self, array: np.ndarray) -> Tensor:
        """What an array [T, B] has at these steps, [S, N]."""
        return torch.from_numpy(array.astype(np.float32)).flatten()[self.index]


def forward_sequences(net: RewardNet, *sides: tuple[Observations, Sequences]) -> list[Tensor]:
    """f of the actions that were taken, [S, N] of each side, with a gradient. In one pass: small ones cost nearly as much."""
    frames = np.concatenate([observations.frames for observations, _ in sides])
    before = np.cumsum([0, *(len(observations.frames) for observations, _ in sides)])
    hashes = [observations.alike for observations, _ in sides if observations.alike is not None]
    alike = np.concatenate(hashes) if hashes else None
    index = torch.cat([parts.index + int(offset) for (_, parts), offset in zip(sides, before[:-1], strict=True)], dim=1)
    episode_start = torch.cat([parts.episode_start for _, parts in sides], dim=1)
    memory = torch.cat([parts.memory for _, parts in sides])
    actions = torch.cat([parts.actions for _, parts in sides], dim=1)
    likelihoods, _ = net(Observations(frames, alike), index.flatten().numpy(), episode_start, memory, actions)
    return list(likelihoods.split([parts.index.shape[1] for _, parts in sides], dim=1))


def draw_sequences(followed: NetRollout, config: RewardNetConfig, rng: np.random.Generator) -> Sequences:
    """Sequences that tile every env, cut at steps that differ from draw to draw, and of these as many as are asked for.

    A few demonstrations are followed whole at every gradient step. Drawing 128 sequences out of their 160 steps would cost six times
    as much and say nothing more.
    """
    offset = int(rng.integers(config.recurrence))
    first = np.unique(np.arange(offset - config.recurrence, len(followed.actions), config.recurrence).clip(0))
    end = np.append(first[1:], len(followed.actions))  # the first tile is as short as the offset says
    shows = np.add.reduceat(followed.valid.numpy().astype(np.int64), first, axis=0) > 0  # [tiles, B]
    tile, env = np.nonzero(shows)
    if len(tile) > config.sequences:
        some = rng.choice(len(tile), config.sequences, replace=False)
        tile, env = tile[some], env[some]
    return cut_sequences(followed, first[tile], end[tile], env, config.recurrence)


def cut_sequences(followed: NetRollout, first: np.ndarray, end: np.ndarray, env: np.ndarray, length: int) -> Sequences:
    """The sequences from step `first` [N] to before `end` [N] of envs `env` [N]; none is longer than `length`."""
    steps, envs = followed.valid.shape
    t = first + np.arange(length)[:, None]  # [S, N]
    index = torch.from_numpy(np.minimum(t, steps - 1) * envs + env)
    return Sequences(
        index,
        followed.actions.flatten(0, 1)[index],
        followed.episode_start.flatten()[index],
        followed.valid.flatten()[index] & torch.from_numpy(t < end),
        followed.memory[torch.from_numpy(first), torch.from_numpy(env)],
    )
