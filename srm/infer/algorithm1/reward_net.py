"""f: how likely an expert would have been to act as was acted, given all it had seen in the episode.

    observations -> trunk -> LSTM -> 64 tanh -> 64 tanh -> A logits -> log-likelihood of the action

For MiniGrid's observations the trunk is that of the policy, or the paper's: convolutions of 16, 32 and 64 filters 2x2. Any other observation is
read as a policy reads it, its numbers normalised by the demonstrations. Where an action is not one of several, what is computed in place of
the logits are the outputs of its distribution (`srm.rl.distributions`). `sequences.py` follows rollouts with it, and cuts out of them what it is trained on.

    S steps of N sequences   R frames, each [D] (an observation as the trunk takes it)   U units of the LSTM, which remembers 2 U numbers
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from srm.domains.cells import Cells
from srm.domains.encodings import cells_of
from srm.domains.spaces import ActionSpace, Choices, ObservationSpace, Spaces
from srm.rl.distributions import Categorical, distribution_of
from srm.rl.minibatches import sample_hashes
from srm.rl.nn.grid_conv import CellConvolutions, Encoding, features
from srm.rl.nn.senses import FrameEncoder, FrameReader
from srm.settings import ABOVE_ZERO, NUMBER, ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Rollout


@dataclass(frozen=True)
class RewardNetConfig:
    """The reward net and how it learns."""

    trunk: Literal["strided", "paper", "plain"] = "strided"
    """the policy's convolutions (3x3, stride 2), or the printed ones (16, 32 and 64 filters 2x2), which cost several times as much; plain: one layer
    on what is no grid of cells, and on a grid taken as numbers"""
    cells: Encoding = "one_hot"
    """how a cell of the observation enters: type, colour and state each as one of many, or as three numbers as printed"""
    logits: Literal["soft_cap", "sigmoid", "free"] = "soft_cap"
    """what bounds the logits: 3 tanh(x / 3), a sigmoid as printed (on whose plateau f hardly learns), or nothing"""
    memory: bool = True
    """whether what was seen earlier in the episode counts"""
    units: int = 64
    """of the LSTM; 64 remember 128 numbers, which is one reading of the printed state of 128, and 128 units are the other"""
    noise: Literal["sequence", "step"] = "sequence"
    """what shares one eps in the discriminator: a sequence, since the paper's text adds the same to all rewards of a trajectory; or each
    step has its own, as in the printed line 6"""
    steps: int = 16
    """gradient steps of a round, of which line 7 prints one"""
    sequences: int = 128
    """sequences of the rollout, and at most as many of the demonstrations, in a gradient step"""
    recurrence: int = 8
    """steps of a sequence"""
    learning_rate: float = 1e-3
    """alpha"""
    soft_weight: float = 0.02
    """of J_soft beside J_adv; much more, and f and the machine agree with each other instead of with the demonstrations"""
    floor: float | None = -2.0
    """least log pi_A inside the discriminator; None as printed: f stops learning what the policy has given up"""

    def __post_init__(self) -> None:
        prefix = "reward-net."  # the end of a flag: it is --imitation.reward-net. too
        ONE_OR_MORE.refuse_outside(self, prefix, "units", "steps", "sequences", "recurrence")
        ABOVE_ZERO.refuse_outside(self, prefix, "learning_rate")
        ZERO_OR_MORE.refuse_outside(self, prefix, "soft_weight")
        NUMBER.refuse_outside(self, prefix, "floor")


class StridedTrunk(nn.Module):
    """MiniGrid's observation through the convolutions of the policy: 32 numbers."""

    def __init__(self, shape: tuple[int, ...], cells: Cells, encoding: Encoding, seed: int) -> None:
        super().__init__()
        self.cells = cells
        self.convolutions = CellConvolutions(cells, shape[0], shape[1], 1, encoding, 1.0)
        self.convolutions.initialise(torch.Generator().manual_seed(seed))
        self.out = self.convolutions.out

    def prepare(self, observations: np.ndarray) -> np.ndarray:
        """Observations [n, ...] as frames [n, D]."""
        return self.cells.encode(observations)

    def forward(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        """The frames [R, D] that `rows` [n] name, as [n, out]."""
        return self.convolutions(frames, rows.astype(np.uint32)[:, None])


class PaperTrunk(nn.Module):
    """MiniGrid's observation through the paper's convolutions: 64 numbers for each place that they end at, 1,024 of a 7x7 observation.

    No pooling is printed; the ReLUs between them are a guess.
    """

    features: Tensor

    def __init__(self, shape: tuple[int, ...], cells: Cells, encoding: Encoding) -> None:
        super().__init__()
        self.shape, self.cells = shape, cells
        self.register_buffer("features", features(cells, encoding, 1.0), persistent=False)
        self.first = nn.Conv2d(self.features.shape[1], 16, 2)
        self.second = nn.Conv2d(16, 32, 2)
        self.third = nn.Conv2d(32, 64, 2)
        self.out = 64 * (shape[0] - 3) * (shape[1] - 3)

    def prepare(self, observations: np.ndarray) -> np.ndarray:
        return self.cells.encode(observations)

    def forward(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        contents = self.features[torch.from_numpy(frames[rows]).long()]  # [n, cells, channels]
        x = contents.view(len(rows), *self.shape[:2], -1).permute(0, 3, 1, 2)
        for layer in (self.first, self.second, self.third):
            x = torch.relu(layer(x))
        return x.flatten(1)


class PlainTrunk(nn.Module):
    """Any observation as 64 numbers."""

    out = 64

    def __init__(self, space: ObservationSpace, pictures: bool) -> None:
        super().__init__()
        self.encoder = FrameEncoder(space, cells=False, pictures=pictures, normalize=True)
        self.reader = FrameReader(self.encoder)
        self.layer = nn.Linear(self.reader.out, 64)

    def prepare(self, observations: np.ndarray) -> np.ndarray:
        return self.encoder.encode(observations)

    def forward(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        return torch.tanh(self.layer(self.reader(frames, rows[:, None])))


def _trunk(space: ObservationSpace, config: RewardNetConfig, seed: int) -> StridedTrunk | PaperTrunk | PlainTrunk:
    cells = cells_of(space.shape) if space.parts[0].kind == "cells" and not space.structured else None
    if config.trunk == "plain" or cells is None:
        return PlainTrunk(space, pictures=config.trunk != "plain")
    if config.trunk == "paper":
        return PaperTrunk(space.shape, cells, config.cells)
    return StridedTrunk(space.shape, cells, config.cells, seed)


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations as a trunk takes them. Grids look alike (of 8,192 observations of DoorKey-8x8 900 differ): what is alike is looked at once."""

    frames: np.ndarray  # [R, D]
    alike: np.ndarray | None  # [R] equal where frames are; None: floats and pixels hardly ever repeat


class RewardNet(nn.Module):
    """f_theta. Not `normalised`, it gives each action a number of its own, as GAIL's discriminator does."""

    def __init__(self, spaces: Spaces, config: RewardNetConfig, seed: int, normalised: bool = True) -> None:
        super().__init__()
        self.config, self.normalised = config, normalised
        self.policy = distribution_of(spaces.actions)
        self._several = isinstance(self.policy, Categorical)  # one of several actions: each has a logit
        outputs = self.policy.outputs(spread=1.0)
        self._sizes = {output.name: output.size for output in outputs}
        # Any other action is an input of its own where the number that it gets need not be a likelihood.
        beside = 0 if normalised or self._several else _encoded_size(spaces.actions)
        size = 1 if beside else sum(self._sizes.values())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.trunk = _trunk(spaces.observations, config, seed)
            self.lstm = nn.LSTMCell(self.trunk.out, config.units)
            self.head = nn.Sequential(
                nn.Linear(config.units + beside, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, size)
            )
        self._spaces, self._beside = spaces, beside

    def watch(self, rollout: Rollout) -> None:
        """Normalises the numbers of observations by those of a rollout."""
        if isinstance(self.trunk, PlainTrunk):
            self.trunk.encoder.watch(rollout.observations[:-1][rollout.valid])

    def prepare(self, observations: np.ndarray) -> Observations:
        """Of observations [n, ...]."""
        frames = self.trunk.prepare(observations)
        plain = isinstance(self.trunk, PlainTrunk)
        return Observations(frames, None if plain else sample_hashes(frames, np.arange(len(frames))[:, None]))

    def forward(
        self, observations: Observations, rows: np.ndarray, episode_start: Tensor, memory: Tensor, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Of the actions [S, N] or [S, N, A] that were taken, as their distribution reads them: log-likelihoods [S, N]; and the memory
        [S + 1, N, 2 U] before each step and after the last.

        `rows` [S * N] of the observations are seen, step by step; where `episode_start` [S, N] what was remembered is forgotten.
        """
        # See: what looks alike is looked at once
        steps, count = episode_start.shape
        if observations.alike is None:
            encoded = self.trunk(observations.frames, rows).view(steps, count, -1)
        else:
            _, first, alike = np.unique(observations.alike[rows], return_index=True, return_inverse=True)
            distinct = self.trunk(observations.frames, rows[first])
            encoded = distinct.index_select(0, torch.from_numpy(alike)).view(steps, count, -1)

        # Remember
        kept = (~episode_start).float()[..., None] * self.config.memory
        hidden, memories = [], [memory]
        for t in range(steps):
            h, c = (memories[-1] * kept[t]).split(self.config.units, dim=1)
            h, c = self.lstm(encoded[t], (h, c))
            hidden.append(h)
            memories.append(torch.cat([h, c], dim=1))

        # Judge
        judged = self._judge(torch.stack(hidden).flatten(0, 1), actions.flatten(0, 1))
        return judged.view(steps, count), torch.stack(memories)

    def _judge(self, hidden: Tensor, actions: Tensor) -> Tensor:
        """[n] of what is remembered [n, U] and the actions that were taken."""
        if self._beside:
            return self.head(torch.cat([hidden, _encoded(self._spaces.actions, actions)], dim=1)).squeeze(1)
        outputs = self.head(hidden)
        if self.config.logits == "sigmoid":
            outputs = torch.sigmoid(outputs)
        elif self.config.logits == "soft_cap":
            outputs = 3 * torch.tanh(outputs / 3)
        if self._several:
            likelihoods = torch.log_softmax(outputs, dim=-1) if self.normalised else outputs
            return likelihoods.gather(1, actions[:, None]).squeeze(1)
        parts = dict(zip(self._sizes, outputs.split(list(self._sizes.values()), dim=1), strict=True))
        if "log_std" in parts:
            parts["log_std"] = parts["log_std"].clamp(-3, 2)  # a demonstration repeated exactly has no limit otherwise
        log_prob, _ = self.policy.judge(parts, actions)
        return log_prob


def _encoded_size(space: ActionSpace) -> int:
    return sum(space.counts) if isinstance(space, Choices) else math.prod(space.shape)


def _encoded(space: ActionSpace, actions: Tensor) -> Tensor:
    """[n, size]: choices as one-hot, numbers as they are."""
    if not isinstance(space, Choices):
        return actions
    return torch.cat([one_hot(actions[:, i], count) for i, count in enumerate(space.counts)], dim=1).float()
