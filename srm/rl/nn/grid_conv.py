"""Convolutions over a grid of cells, each of which holds one of a few things.

    codes  [R, cells] uint8       frames: what stands in each cell, as one number (`srm.domains.cells`)
    rows   [N, L]                 the frames of each sample, newest first (see `frames.py`)
    x      [N, positions * 32]    channels last

Three 3x3 convolutions of stride 2 with 32 filters and ELU, padded as TensorFlow's 'SAME': 7x7 -> 4x4 -> 2x2 -> 1x1. The first is a
sum of rows of a table; the other two are products over the cells that a window really covers: windows at the border are smaller,
and 31 % of the padded products are left out. All loops are in `kernels.py`; `tests/rl/test_grid_conv.py` keeps them equal to
`torch.nn.Conv2d`, which takes three times as long in its best layout (one core).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.cells import BLANK, Cells
from srm.rl.nn import kernels
from srm.rl.nn.kernels import FILTERS, TAPS

Encoding = Literal["one_hot", "ids"]


def features(cells: Cells, encoding: Encoding, scale: float) -> Tensor:
    """What each code means as input of a convolution, [codes, features]; nothing for BLANK."""
    meanings = torch.from_numpy(cells.meanings)
    if encoding == "ids":
        known = meanings * scale
    else:
        channels = zip(meanings.T, cells.sizes, strict=True)
        known = torch.cat([nn.functional.one_hot(values, size) for values, size in channels], dim=1)
    return torch.cat([torch.zeros(1, known.shape[1]), known.float()])


@dataclass(frozen=True)
class Window:
    """What one output position of a convolution covers."""

    taps: tuple[int, ...]  # of the 3x3 kernel
    cells: tuple[int, ...]  # of the input, one for each tap


def windows(width: int, height: int) -> tuple[tuple[Window, ...], tuple[int, int]]:
    """The windows of a 3x3 convolution of stride 2 padded as 'SAME', in order of position, and the size of its output."""
    out = (math.ceil(width / 2), math.ceil(height / 2))
    before = [max(2 * (o - 1) + 3 - size, 0) // 2 for o, size in zip(out, (width, height), strict=True)]
    covers = []
    for i in range(out[0]):
        for j in range(out[1]):
            covered = [
                (3 * a + b, (2 * i - before[0] + a) * height + 2 * j - before[1] + b)
                for a in range(3)
                for b in range(3)
                if 0 <= 2 * i - before[0] + a < width and 0 <= 2 * j - before[1] + b < height
            ]
            covers.append(Window(*map(tuple, zip(*covered, strict=True))))
    return tuple(covers), out


def _flat(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy().reshape(-1)


def _before_elu(gradient: Tensor, y: Tensor) -> Tensor:
    out = torch.empty_like(y)
    kernels.elu_backward(_flat(gradient.contiguous()), _flat(y), _flat(out))
    return out


class _Forgetful:
    """Where a forward pass without a backward one puts what the latter would need."""

    def save_for_backward(self, *_: Tensor) -> None:
        pass


def _apply(function: Any, *arguments: Any) -> Tensor:
    """`function.apply`, or when nobody wants a gradient its forward pass alone: a tenth of the time of acting less."""
    return function.apply(*arguments) if torch.is_grad_enabled() else function.forward(_Forgetful(), *arguments)


@dataclass(frozen=True, eq=False)
class Layer:
    """Where a convolution reads and writes."""

    taps: np.ndarray  # [Q, 3] uint32: tap, position, cell
    positions: int

    @staticmethod
    def of(covers: tuple[Window, ...]) -> Layer:
        taps = [(tap, p, cell) for p, w in enumerate(covers) for tap, cell in zip(w.taps, w.cells, strict=True)]
        return Layer(np.array(taps, np.uint32), len(covers))


@dataclass(frozen=True, eq=False)
class Weights:
    """Of all convolutions, as the kernels read them."""

    table: np.ndarray  # flat [codes, lags * TAPS * 32]
    biases: np.ndarray  # [1 + later, 32]
    later: tuple[np.ndarray, ...]  # flat [TAPS, 32, 32] each

    @staticmethod
    def of(table: Tensor, biases: Tensor, later: Iterable[Tensor]) -> Weights:
        return Weights(_flat(table), biases.detach().numpy(), tuple(map(_flat, later)))

    def convolve(self, codes: np.ndarray, rows: np.ndarray, layers: Sequence[Layer]) -> list[Tensor]:
        """What each convolution computes, [N, positions * 32]."""
        first, *others = layers
        outputs = [torch.empty(len(rows), layer.positions * FILTERS) for layer in layers]
        kernels.look_up(codes, rows, self.table, self.biases[0], first.taps, _flat(outputs[0]))
        for (x, y), layer, weight, bias in zip(pairwise(outputs), others, self.later, self.biases[1:], strict=True):
            kernels.convolve(x.numpy(), weight, bias, layer.taps, _flat(y))
        return outputs


class _Convolve(torch.autograd.Function):
    """ELU of all convolutions, one after the other."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        biases: Tensor,
        codes: np.ndarray,
        rows: np.ndarray,
        layers: Sequence[Layer],
        *later: Tensor,
    ) -> Tensor:
        outputs = Weights.of(table, biases, later).convolve(codes, rows, layers)
        ctx.save_for_backward(*later, *outputs)
        ctx.inputs, ctx.shape = (codes, rows, layers), table.shape
        return outputs[-1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        codes, rows, (first, *others) = ctx.inputs
        later, outputs = ctx.saved_tensors[: len(others)], ctx.saved_tensors[len(others) :]
        of_table, of_biases = torch.zeros(ctx.shape), torch.zeros(1 + len(others), FILTERS)
        of_later = [torch.zeros_like(weight) for weight in later]
        of_y = gradient.clone(memory_format=torch.contiguous_format)  # it is written over

        # From the last convolution back to the second
        for index in reversed(range(len(others))):
            x, y, transpose = outputs[index], outputs[index + 1], later[index].transpose(1, 2).contiguous()
            of_x = torch.zeros_like(x)
            kernels.convolve_backward(
                _flat(of_y),
                _flat(y),
                x.numpy(),
                _flat(transpose),
                others[index].taps,
                _flat(of_x),
                _flat(of_later[index]),
                _flat(of_biases[index + 1]),
            )
            of_y = of_x

        # The first, which is looked up
        kernels.look_up_backward(
            codes, rows, _flat(of_y), _flat(outputs[0]), first.taps, _flat(of_table), _flat(of_biases[0])
        )
        return of_table, of_biases, None, None, None, *of_later


class _LinearElu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = torch.addmm(bias, x, weight.t())
        kernels.elu(_flat(y))
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight, y = ctx.saved_tensors
        gradient = _before_elu(gradient, y)
        return gradient @ weight, gradient.t() @ x, gradient.sum(0)


class LinearElu(nn.Linear):
    """A fully connected layer and ELU."""

    def forward(self, x: Tensor) -> Tensor:
        return _apply(_LinearElu, x, self.weight, self.bias)


class CellConvolutions(nn.Module):
    """A look-up convolution and `later` more; with two more, 32 numbers for each sample of a 7x7 observation."""

    def __init__(
        self,
        cells: Cells,
        width: int,
        height: int,
        lags: int,
        encoding: Encoding,
        scale: float = 1 / 255,
        later: int = 2,
    ) -> None:
        super().__init__()
        self.cells, self.lags = cells, lags
        self.features: Tensor
        self._layers = []
        for _ in range(1 + later):
            covers, (width, height) = windows(width, height)
            self._layers.append(Layer.of(covers))
        self.out = width * height * FILTERS
        self.register_buffer("features", features(cells, encoding, scale), persistent=False)
        self.first = nn.Parameter(torch.empty(self.features.shape[1], lags * TAPS, FILTERS))
        self.later = nn.ParameterList(torch.empty(TAPS, FILTERS, FILTERS) for _ in range(later))
        self.biases = nn.Parameter(torch.zeros(1 + later, FILTERS))
        self._fixed: Weights | None = None

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal with gain sqrt(2), as a matrix from everything a filter sees to the filters."""
        for weight in (self.first, *self.later):
            matrix = torch.empty(FILTERS, weight.numel() // FILTERS)
            nn.init.orthogonal_(matrix, gain=math.sqrt(2), generator=generator)
            with torch.no_grad():
                weight.copy_(matrix.t().reshape(weight.shape))

    def forward(self, codes: np.ndarray, rows: np.ndarray) -> Tensor:
        """codes [R, cells]; rows [N, lags] uint32."""
        if self._fixed is not None:
            return self._fixed.convolve(codes, rows, self._layers)[-1]
        table = self._table(int(codes.max()) + 1)
        return _apply(_Convolve, table, self.biases, codes, rows, self._layers, *self.later)

    def _table(self, codes: int) -> Tensor:
        """[codes, lags * TAPS * 32]."""
        return self.features[:codes] @ self.first.flatten(1)

    @contextmanager
    def fixed(self) -> Iterator[None]:
        """While the weights stay as they are, and no gradient is wanted, the table that follows from them is computed once: it costs
        as much as acting.

        (Not by the weights' version: a fused Adam step leaves it as it was.)
        """
        with torch.no_grad():
            self._fixed = Weights.of(self._table(self.cells.codes), self.biases, self.later)
            try:
                yield
            finally:
                self._fixed = None


def blank_frame(cells: int) -> np.ndarray:
    """The frame of a step before the episode began: it adds nothing to any output."""
    return np.full(cells, BLANK, np.uint8)
