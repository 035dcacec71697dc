"""A batch in minibatches.

    n   samples of a minibatch = S steps of N sequences, step by step; index [n] counts t * B + b

With memory and S = 1 the stored memory is an input and no gradient flows through time; with longer sequences it flows from
each step to those before it in the sequence, which begins with the stored memory.

Samples repeat themselves: of 8,192 steps of DoorKey-8x8 about 5,400 differ in their last four frames, and 900 in the last one. So
they are deduplicated: the net computes equal samples once. Without memory, equal steps go into the same minibatch, where the net
sees them as one sample with several losses: the same gradient for two thirds of the work. With memory only the convolutions are
shared. Observations of floats or pixels hardly ever repeat, and nobody looks whether they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from torch import Tensor

from srm.rl.nn.nets import Net, NetInput
from srm.rl.rollout import Batch


@dataclass(frozen=True, eq=False)
class Minibatch:
    """Samples to learn from at once. The net sees all of them; the loss is that of the real ones."""

    inputs: NetInput
    index: Tensor  # [real samples] into the rollout's T * B steps
    valid: Tensor | None  # [real samples] which of the net's outputs those are; None: all, in order

    def outputs(self, net: Net) -> dict[str, Tensor]:
        """What the net computes of the real samples, with a gradient."""
        outputs, _ = net(self.inputs)
        return outputs if self.valid is None else {name: output[self.valid] for name, output in outputs.items()}


class Minibatches:
    """The steps of one batch, to be drawn anew in every epoch."""

    def __init__(self, batch: Batch, recurrence: int) -> None:
        num_steps, num_envs = batch.rollout.valid.shape
        self._frames, self._recurrence, self._num_envs = batch.frames, recurrence, num_envs
        self._rows = batch.rows[:num_steps].reshape(num_steps * num_envs, -1)
        self._memory = torch.from_numpy(batch.memory.reshape((num_steps + 1) * num_envs, batch.memory.shape[2]))
        self._episode_start = torch.from_numpy(batch.episode_start.reshape(-1))
        self._valid = batch.rollout.valid.reshape(-1)
        self._hash = sample_hashes(batch.frames, self._rows) if batch.repeats else None  # [T * B]

    def epoch(self, count: int, rng: np.random.Generator) -> Iterator[Minibatch]:
        """Every real step once, in `count` minibatches of nearly equal size."""
        if self._recurrence > 1 or self._memory.shape[1]:
            yield from self._epoch_of_sequences(count, rng)
        else:
            yield from self._epoch_of_steps(count, rng)

    def _epoch_of_steps(self, count: int, rng: np.random.Generator) -> Iterator[Minibatch]:
        valid = np.flatnonzero(self._valid)
        if self._hash is None:
            for index in np.array_split(rng.permutation(valid), count):
                yield self._minibatch(index, index, None)
            return
        _, first, group = np.unique(self._hash[valid], return_index=True, return_inverse=True)
        place = rng.permutation(len(first))[group]  # of each step's group of equal samples in this epoch
        order = np.argsort(place, kind="stable")
        for part in np.array_split(order, count):  # a group across the border is computed twice
            index, groups = valid[part], place[part]
            distinct = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
            inverse = np.repeat(np.arange(len(distinct)), np.diff(np.append(distinct, len(part))))
            yield self._minibatch(index, index[distinct], torch.from_numpy(inverse))

    def _epoch_of_sequences(self, count: int, rng: np.random.Generator) -> Iterator[Minibatch]:
        length, num_envs = self._recurrence, self._num_envs
        if length == 1:
            starts = np.flatnonzero(self._valid)
        else:
            starts = np.arange(len(self._valid)).reshape(-1, length, num_envs)[:, 0].reshape(-1)
        along = np.arange(length)[:, None] * num_envs
        for part in np.array_split(rng.permutation(starts), count):
            index = (part + along).reshape(-1)
            if self._hash is None:
                yield self._minibatch(index, index, None)
                continue
            _, distinct, inverse = np.unique(self._hash[index], return_index=True, return_inverse=True)
            yield self._minibatch(index, index[distinct], torch.from_numpy(inverse))

    def _minibatch(self, index: np.ndarray, distinct: np.ndarray, inverse: Tensor | None) -> Minibatch:
        num_sequences = len(index) // self._recurrence
        samples = torch.from_numpy(index)
        memory = self._memory[samples[:num_sequences]]
        episode_start = self._episode_start[samples].view(self._recurrence, num_sequences)
        inputs = NetInput(self._frames, self._rows[distinct], memory, episode_start, inverse)
        if self._recurrence == 1:
            return Minibatch(inputs, samples, None)
        valid = torch.from_numpy(np.flatnonzero(self._valid[index]))
        return Minibatch(inputs, samples[valid], valid)


def sample_hashes(frames: np.ndarray, rows: np.ndarray) -> np.ndarray:
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
