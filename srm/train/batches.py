"""A rollout cut into minibatches.

    n   samples of a minibatch = S steps of N sequences, step by step; index [S * N] counts t * B + b

With memory and S = 1 the stored memory is an input and no gradient flows through time; with longer sequences it flows from
each step to those before it in the sequence, which begins with the stored memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from srm.train.collect import Played
from srm.train.nets import Seen


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples to learn from at once. The net sees all of them; the loss is that of the real ones."""

    seen: Seen
    index: Tensor  # [real samples] into the rollout's T * B steps
    kept: Tensor | None  # [real samples] which of the net's outputs those are; None: all, in order

    def keep(self, said: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The net's outputs for the real samples."""
        return {name: output if self.kept is None else output[self.kept] for name, output in said.items()}


def minibatches(played: Played, count: int, recurrence: int, chance: np.random.Generator) -> Iterator[Batch]:
    """Every real step once, in `count` minibatches of nearly equal size."""
    steps, worlds = played.rollout.actions.shape
    real = played.rollout.real
    if recurrence == 1:
        sequences = np.flatnonzero(real)
    else:
        start = np.arange(0, steps, recurrence)
        sequences = (start[:, None] * worlds + np.arange(worlds)).reshape(-1)
    along = np.arange(recurrence)[:, None] * worlds
    rows = played.rows.reshape(-1, played.rows.shape[2])
    memory = torch.from_numpy(played.memory.reshape((steps + 1) * worlds, played.memory.shape[2]))
    begins = torch.from_numpy(played.begins.reshape(-1))
    for first in np.array_split(chance.permutation(sequences), count):
        index = (first + along).reshape(-1)
        there = torch.from_numpy(index)
        seen = Seen(played.frames, rows[index], memory[first], begins[there].view(recurrence, -1))
        if recurrence == 1:
            yield Batch(seen, there, None)
        else:
            kept = torch.from_numpy(np.flatnonzero(real.reshape(-1)[index]))
            yield Batch(seen, there[kept], kept)
