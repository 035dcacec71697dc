"""Observations of any space as frames, and what a network first makes of them.

    observations [..., *shape]   as the environment has them, with fields or without
    frames       [..., D]        float32; or bytes, if there is a picture: its pixels, then the floats of everything else

A frame has what a network needs, prepared once: numbers to mean 0 and spread 1 by running estimates (which are part of the network and
saved with it), whole numbers that are one of several as one-hot, pictures as they are. A grid of cells has frames of its own
(`srm.domains.cells`).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.cells import Cells
from srm.domains.encodings import cells_of
from srm.domains.spaces import ObservationPart, ObservationSpace
from srm.errors import TaskError
from srm.rl.nn.grid_conv import blank_frame

FARTHEST = 10.0  # spreads from the mean; what is farther counts as that far
FEW = 1e-4  # observations that the first mean, 0, and the first spread, 1, count for
NATURE = (
    (32, 8, 4),
    (64, 4, 2),
    (64, 3, 1),
)  # filters, size and stride of the convolutions for pictures, as DQN's in Nature
SMALL = ((32, 3, 2), (64, 3, 2), (64, 3, 1))  # and for pictures that those do not fit on
LEAST_FOR_NATURE = 36


class RunningMoments(nn.Module):
    """Mean and variance [D] of all vectors seen so far (Chan et al.: those of a batch are merged at once)."""

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.tensor(FEW, dtype=torch.float64))

    def add(self, vectors: np.ndarray) -> None:
        """[n, D]."""
        if len(vectors) == 0:
            return
        mean, variance, count = self.mean.numpy(), self.variance.numpy(), float(self.count)
        own, total = vectors.mean(axis=0, dtype=np.float64), count + len(vectors)
        apart = own - mean
        squares = variance * count + vectors.var(axis=0, dtype=np.float64) * len(vectors)
        variance[:] = (squares + apart**2 * count * len(vectors) / total) / total
        mean += apart * len(vectors) / total
        self.count.fill_(total)

    def normalize(self, vectors: np.ndarray) -> np.ndarray:
        """[..., D] float32."""
        scale = 1 / np.sqrt(self.variance.numpy() + 1e-8)
        return np.clip((vectors - self.mean.numpy()) * scale, -FARTHEST, FARTHEST).astype(np.float32)


class FrameEncoder(nn.Module):
    """Observations of a space as frames. `cells`: as codes of a grid. `pictures`: with room for pixels; else these are numbers too."""

    def __init__(self, space: ObservationSpace, *, cells: bool, pictures: bool, normalize: bool) -> None:
        super().__init__()
        self.space = space
        self.cells: Cells | None = cells_of(space.shape) if cells else None
        self.pictures = tuple(part for part in space.parts if pictures and part.kind == "image")
        self._one_of = tuple(part for part in space.parts if part.kind == "one_of")
        others = (*self.pictures, *self._one_of)
        self._numbers = tuple(part for part in space.parts if part not in others)
        size = sum(math.prod(part.shape) for part in self._numbers)
        self.moments = RunningMoments(size) if normalize and size and self.cells is None else None
        self.vector = size + sum(sum(part.counts) for part in self._one_of)
        self.pixels = sum(math.prod(part.shape) for part in self.pictures)

    @property
    def repeats(self) -> bool:
        """Whether frames are often equal to each other, so that looking for such pays."""
        return self.cells is not None

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Observations [..., *shape] as frames [..., D]."""
        if self.cells is not None:
            return self.cells.encode(observations)
        leading = observations.shape[: observations.ndim - len(self.space.shape)]
        numbers = self._number_vectors(observations, leading)
        if self.moments is not None:
            numbers = self.moments.normalize(numbers)
        floats = [numbers.astype(np.float32, copy=False)]
        floats += [_one_hot(part, self.space.array_of(part.name, observations), leading) for part in self._one_of]
        vector = floats[0] if len(floats) == 1 else np.concatenate(floats, axis=-1)
        if not self.pictures:
            return vector
        arrays = [self.space.array_of(part.name, observations).reshape(*leading, -1) for part in self.pictures]
        return np.concatenate([*arrays, np.ascontiguousarray(vector).view(np.uint8)], axis=-1)

    def _number_vectors(self, observations: np.ndarray, leading: tuple[int, ...]) -> np.ndarray:
        arrays = [self.space.array_of(part.name, observations).reshape(*leading, -1) for part in self._numbers]
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate(arrays, axis=-1) if arrays else np.zeros((*leading, 0), np.float32)

    def watch(self, observations: np.ndarray) -> None:
        """Observations [n, *shape] that the estimates of mean and spread are to count."""
        if self.moments is not None:
            self.moments.add(self._number_vectors(observations, observations.shape[:1]))

    def blank(self) -> np.ndarray:
        """The frame [D] of a step before the episode began."""
        if self.cells is not None:
            return blank_frame(math.prod(self.space.shape[:2]))
        return np.zeros(self.pixels + 4 * self.vector, np.uint8) if self.pictures else np.zeros(self.vector, np.float32)


def _one_hot(part: ObservationPart, array: np.ndarray, leading: tuple[int, ...]) -> np.ndarray:
    """[..., sum of counts]."""
    values = array.reshape(*leading, -1) - np.array(part.starts)
    if (values < 0).any() or (values >= np.array(part.counts)).any():
        where = f" in {part.name}" if part.name else ""
        raise TaskError(
            f"an observation{where} holds {array.reshape(-1)[:8]}, outside of its own space; mend the environment"
        )
    first = np.cumsum([0, *part.counts[:-1]])
    hot = np.zeros((*leading, sum(part.counts)), np.float32)
    np.put_along_axis(hot, values + first, 1, axis=-1)
    return hot


class FrameReader(nn.Module):
    """Frames as the vectors that layers of a network take: pictures through convolutions, everything else as it is."""

    def __init__(self, encoder: FrameEncoder) -> None:
        super().__init__()
        self._vector, self._shapes = encoder.vector, [part.shape for part in encoder.pictures]
        self.convolutions = nn.ModuleList([_convolutions(shape) for shape in self._shapes])
        with torch.no_grad():
            sizes = [
                convolve(torch.zeros(1, *_channels_first(shape))).shape[1]
                for convolve, shape in zip(self.convolutions, self._shapes, strict=True)
            ]
        self.out = encoder.vector + sum(sizes)

    def forward(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        """The frames [R, D] that `rows` [n, 1] name, as [n, out]."""
        picked = frames[rows[:, 0]]
        if not self._shapes:
            return torch.from_numpy(picked)
        parts, begin = [], 0
        for convolve, shape in zip(self.convolutions, self._shapes, strict=True):
            size = math.prod(shape)
            pixels = torch.from_numpy(picked[:, begin : begin + size]).view(-1, *_as_stored(shape))
            parts.append(convolve((pixels if _channels_lead(shape) else pixels.permute(0, 3, 1, 2)).float() / 255))
            begin += size
        if self._vector:
            parts.append(torch.from_numpy(np.ascontiguousarray(picked[:, begin:]).view(np.float32)))
        return torch.cat(parts, dim=1)


def _channels_lead(shape: tuple[int, ...]) -> bool:
    """Whether a picture [C, H, W] has its channels first; one of two axes has a single channel."""
    return len(shape) == 2 or shape[0] < shape[2]


def _as_stored(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *shape) if len(shape) == 2 else shape


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    stored = _as_stored(shape)
    return stored if _channels_lead(shape) else (stored[2], *stored[:2])


def _convolutions(shape: tuple[int, ...]) -> nn.Sequential:
    channels, height, width = _channels_first(shape)
    fits = min(height, width) >= LEAST_FOR_NATURE
    layers: list[nn.Module] = []
    for filters, size, stride in NATURE if fits else SMALL:
        layers += [nn.Conv2d(channels, filters, size, stride, padding=0 if fits else 1), nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers, nn.Flatten())
