"""f: how likely an expert would have been to act as was acted, given all it had seen in the episode.

    views [T, B, ...] -> trunk -> LSTM (64 + 64 numbers of memory) -> 64 tanh -> 64 tanh -> A logits -> log-likelihood of the action

For MiniGrid's views the trunk is the paper's: convolutions of 16, 32 and 64 filters 2x2 (with the max-pool after the first that the
usual MiniGrid network has, which makes 64 numbers of a view); any other view is taken as plain numbers. It is trained on sequences
of 8 steps that begin with the memory the net had there when the round began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, one_hot

from srm.trajectory import Mask, Rollout

TYPES, COLOURS, STATES = 11, 6, 3
MEMORY = 64


@dataclass(frozen=True)
class RewardNetConfig:
    """The reward net and how it learns."""

    cells: Literal["one_hot", "ids"] = "one_hot"
    """how a cell of the view enters: type, colour and state each as one of many, or as three numbers as printed"""
    logits: Literal["soft_cap", "sigmoid", "free"] = "soft_cap"
    """what bounds the logits: 3 tanh(x / 3), a sigmoid as printed (on whose plateau f hardly learns), or nothing"""
    steps: int = 16
    """gradient steps of a round"""
    sequences: int = 128
    """sequences of rollout and as many of demonstrations in a gradient step"""
    recurrence: int = 8
    """steps of a sequence"""
    learning_rate: float = 1e-3
    """alpha"""
    soft_weight: float = 0.02
    """of J_soft beside J_adv; much more, and f and the machine agree with each other instead of with the demonstrations"""
    floor: float | None = -2.0
    """least log pi_A inside the discriminator; None as printed: f stops learning what the policy has given up"""


class CellTrunk(nn.Module):
    """MiniGrid's view [n, 7, 7, 3] as 64 numbers."""

    out = 64

    def __init__(self, cells: Literal["one_hot", "ids"]) -> None:
        super().__init__()
        self.cells = cells
        channels = TYPES + COLOURS + STATES if cells == "one_hot" else 3
        self.first = nn.Conv2d(channels, 16, 2)
        self.second = nn.Conv2d(16, 32, 2)
        self.third = nn.Conv2d(32, 64, 2)

    def prepare(self, views: np.ndarray) -> Tensor:
        """Views [n, 7, 7, 3] uint8 as the convolutions take them, [n, channels, 7, 7]."""
        cells = torch.from_numpy(np.ascontiguousarray(views)).long()
        if self.cells == "ids":
            return cells.float().permute(0, 3, 1, 2).contiguous()
        parts = [one_hot(cells[..., i], size) for i, size in enumerate((TYPES, COLOURS, STATES))]
        return torch.cat(parts, dim=-1).float().permute(0, 3, 1, 2).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        x = max_pool2d(torch.relu(self.first(x)), 2)
        return torch.relu(self.third(torch.relu(self.second(x)))).flatten(1)


class PlainTrunk(nn.Module):
    """Any view as 64 numbers."""

    out = 64

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, 64)

    def prepare(self, views: np.ndarray) -> Tensor:
        return torch.from_numpy(views.reshape(len(views), -1).astype(np.float32))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x))


class RewardNet(nn.Module):
    """f_theta."""

    def __init__(self, view_shape: tuple[int, ...], actions: int, config: RewardNetConfig, seed: int) -> None:
        super().__init__()
        self.config, self.actions = config, actions
        cells = len(view_shape) == 3 and view_shape[2] == 3
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.trunk = CellTrunk(config.cells) if cells else PlainTrunk(math.prod(view_shape))
            self.lstm = nn.LSTMCell(self.trunk.out, MEMORY)
            self.head = nn.Sequential(
                nn.Linear(MEMORY, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions)
            )

    def forward(self, x: Tensor, begins: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Log-likelihoods of all actions [S, N, A] along S steps of N sequences, and the memory [S + 1, N, 128] around them.

        `x` [S * N, ...] are prepared views step by step; where `begins` [S, N] what was remembered is forgotten.
        """
        steps, count = begins.shape
        seen = self.trunk(x).view(steps, count, -1)
        kept = (~begins).float()[..., None]
        hidden, memories = [], [memory]
        for t in range(steps):
            h, c = (memories[-1] * kept[t]).split(MEMORY, dim=1)
            h, c = self.lstm(seen[t], (h, c))
            hidden.append(h)
            memories.append(torch.cat([h, c], dim=1))
        logits = self.head(torch.stack(hidden).flatten(0, 1)).view(steps, count, -1)
        if self.config.logits == "sigmoid":
            logits = torch.sigmoid(logits)
        elif self.config.logits == "soft_cap":
            logits = 3 * torch.tanh(logits / 3)
        return torch.log_softmax(logits, dim=-1), torch.stack(memories)


@dataclass(frozen=True, eq=False)
class Seen:
    """A rollout as f sees it, and what f makes of it with the weights it has."""

    x: Tensor  # [T * B, ...] prepared views, step by step
    actions: Tensor  # [T, B]
    begins: Tensor  # [T, B]
    real: Tensor  # [T, B]
    memory: Tensor  # [T + 1, B, 128] before each step, and after the last
    f: Tensor  # [T, B] log-likelihood of each action


def begins_of(rollout: Rollout, first: Mask) -> Mask:
    """[T, B]: an episode begins with this step; `first` [B] says so of the first row."""
    fresh: Mask = rollout.fresh()[:-1]
    fresh[0] = first
    return fresh


@torch.no_grad()
def look(
    net: RewardNet, rollout: Rollout, first: Mask, memory: Tensor | None = None, prepared: Tensor | None = None
) -> Seen:
    """f along a whole rollout. `memory` [B, 128] is that of the worlds before it; none: all begin anew."""
    steps, worlds = rollout.actions.shape
    x = (
        prepared
        if prepared is not None
        else net.trunk.prepare(rollout.views[:-1].reshape(steps * worlds, *rollout.views.shape[2:]))
    )
    begins = torch.from_numpy(begins_of(rollout, first))
    actions = torch.from_numpy(rollout.actions)
    if memory is None:
        memory = torch.zeros(worlds, 2 * MEMORY)
    said, memories = net(x, begins, memory)
    f = said.gather(2, actions[..., None]).squeeze(2)
    return Seen(x, actions, begins, torch.from_numpy(rollout.real), memories, f)


@dataclass(frozen=True, eq=False)
class Sequences:
    """N sequences of S steps out of a rollout; steps beyond its end are not real."""

    x: Tensor  # [S * N, ...]
    index: Tensor  # [S, N] into the rollout's T * B steps
    actions: Tensor  # [S, N]
    begins: Tensor  # [S, N]
    weight: Tensor  # [S, N] 1 for real steps
    memory: Tensor  # [N, 128]


def cut(seen: Seen, first: np.ndarray, world: np.ndarray, length: int) -> Sequences:
    """The sequences that begin at steps `first` [N] of worlds `world` [N]."""
    steps, worlds = seen.actions.shape
    t = first + np.arange(length)[:, None]  # [S, N]
    inside = torch.from_numpy(t < steps)
    index = torch.from_numpy(np.minimum(t, steps - 1) * worlds + world)
    flat = index.flatten()
    return Sequences(
        seen.x[flat],
        index,
        seen.actions.flatten()[index],
        seen.begins.flatten()[index],
        (seen.real.flatten()[index] & inside).float(),
        seen.memory[torch.from_numpy(first), torch.from_numpy(world)],
    )
