"""A rollout dealt out in minibatches.

    n   samples of a minibatch = S steps of N sequences, step by step; index [n] counts t * B + b

With memory and S = 1 the stored memory is an input and no gradient flows through time; with longer sequences it flows from
each step to those before it in the sequence, which begins with the stored memory.

Grids look alike: of 8,192 steps of DoorKey-8x8 about 5,400 differ in their last four frames, and 900 in the last one. What is
alike is looked at once. Without memory, alike steps are dealt into the same minibatch, where the net sees them as one sample
with several losses: the same gradient for two thirds of the work. With memory only the convolutions are shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
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


class Deck:
    """The steps of one rollout, to be dealt once an epoch."""

    def __init__(self, played: Played, recurrence: int) -> None:
        steps, worlds = played.rollout.actions.shape
        self._played, self._recurrence, self._worlds = played, recurrence, worlds
        self._rows = played.rows[:steps].reshape(steps * worlds, -1)
        self._memory = torch.from_numpy(played.memory.reshape((steps + 1) * worlds, played.memory.shape[2]))
        self._begins = torch.from_numpy(played.begins.reshape(-1))
        self._real = played.rollout.real.reshape(-1)
        self._look = looks(played.frames, self._rows)  # [T * B]

    def deal(self, count: int, chance: np.random.Generator) -> Iterator[Batch]:
        """Every real step once, in `count` minibatches of nearly equal size."""
        if self._recurrence > 1 or self._memory.shape[1]:
            yield from self._deal_sequences(count, chance)
        else:
            yield from self._deal_alike(count, chance)

    def _deal_alike(self, count: int, chance: np.random.Generator) -> Iterator[Batch]:
        real = np.flatnonzero(self._real)
        _, first, group = np.unique(self._look[real], return_index=True, return_inverse=True)
        place = chance.permutation(len(first))[group]  # of each step's group in this epoch
        order = np.argsort(place, kind="stable")
        for part in np.array_split(order, count):  # a group across the border is looked at twice
            index, groups = real[part], place[part]
            distinct = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
            alike = np.repeat(np.arange(len(distinct)), np.diff(np.append(distinct, len(part))))
            yield self._batch(index, index[distinct], torch.from_numpy(alike))

    def _deal_sequences(self, count: int, chance: np.random.Generator) -> Iterator[Batch]:
        length, worlds = self._recurrence, self._worlds
        if length == 1:
            starts = np.flatnonzero(self._real)
        else:
            starts = np.arange(len(self._real)).reshape(-1, length, worlds)[:, 0].reshape(-1)
        along = np.arange(length)[:, None] * worlds
        for part in np.array_split(chance.permutation(starts), count):
            index = (part + along).reshape(-1)
            _, distinct, alike = np.unique(self._look[index], return_index=True, return_inverse=True)
            yield self._batch(index, index[distinct], torch.from_numpy(alike))

    def _batch(self, index: np.ndarray, distinct: np.ndarray, alike: Tensor) -> Batch:
        sequences = len(index) // self._recurrence
        there = torch.from_numpy(index)
        memory = self._memory[there[:sequences]]
        begins = self._begins[there].view(self._recurrence, sequences)
        seen = Seen(self._played.frames, self._rows[distinct], memory, begins, alike)
        if self._recurrence == 1:
            return Batch(seen, there, None)
        kept = torch.from_numpy(np.flatnonzero(self._real[index]))
        return Batch(seen, there[kept], kept)


def looks(frames: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """[n] uint64, equal where all frames of `rows` [n, L] are (up to collisions of 64-bit hashes)."""
    return _hash_rows(_hash_rows(np.ascontiguousarray(frames).view(np.uint8).astype(np.uint64))[rows])


@njit(cache=True)
def _hash_rows(numbers):
    """FNV-1a with 64-bit numbers instead of bytes, and the high half mixed in at last."""
    out = np.empty(len(numbers), np.uint64)
    for n in range(len(numbers)):
        value = np.uint64(14695981039346656037)
        for number in numbers[n]:
            value = (value ^ number) * np.uint64(1099511628211)
            value ^= value >> np.uint64(29)
        out[n] = value
    return out
