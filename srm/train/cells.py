"""Convolutions over a grid of cells, each of which holds one of a few things.

    views  [..., width, height, 3] uint8   type, colour and state of each cell
    codes  [..., cells] uint8              the three as one number
    rows   [N, L]                          the frames of each sample, newest first (see `frames.py`)
    x      [N, positions * 32]             channels last

Three 3x3 convolutions of stride 2 with 32 filters and ELU, padded as TensorFlow's 'SAME': 7x7 -> 4x4 -> 2x2 -> 1x1. The first is a
sum of rows of a table (`kernels.py`). The other two are one matrix product per output position over the cells that its
window really covers: the windows at the border are smaller, and 31 % of the padded products are left out. A step of 1,024
samples takes 8 ms; through `torch.nn.Conv2d` in its best layout 28 ms (one core). `tests/train/test_cells.py` keeps both equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.errors import TaskError
from srm.train import kernels
from srm.train.kernels import BLANK, CODES, FILTERS, TAPS

TYPES, COLOURS, STATES = 11, 6, 3
Encoding = Literal["one_hot", "ids"]


def encode(views: np.ndarray) -> np.ndarray:
    """Codes [..., cells] of MiniGrid's views [..., width, height, 3]."""
    kind, colour, state = views[..., 0], views[..., 1], views[..., 2]
    if kind.max(initial=0) >= TYPES or colour.max(initial=0) >= COLOURS or state.max(initial=0) >= STATES:
        raise TaskError(
            f"a view holds ({kind.max()}, {colour.max()}, {state.max()}); the cell networks read MiniGrid's partial view, "
            f"whose types, colours and states are below {TYPES}, {COLOURS} and {STATES}; for other views use --net mlp, and --reward-net.trunk plain where a reward net learns"
        )
    codes = kind * np.uint8(COLOURS * STATES) + colour * np.uint8(STATES) + state
    return codes.reshape(*codes.shape[:-2], -1)


def features(encoding: Encoding, scale: float) -> Tensor:
    """What each code means as input of a convolution, [CODES, channels]; nothing for BLANK."""
    code = torch.arange(CODES - 1)
    parts = (code // (COLOURS * STATES), code // STATES % COLOURS, code % STATES)
    if encoding == "ids":
        known = torch.stack(parts, dim=1) * scale
    else:
        sizes = (TYPES, COLOURS, STATES)
        known = torch.cat([nn.functional.one_hot(part, size) for part, size in zip(parts, sizes, strict=True)], dim=1)
    return torch.cat([known.float(), torch.zeros(1, known.shape[1])])


@dataclass(frozen=True)
class Window:
    """What one output position of a convolution covers."""

    taps: tuple[int, ...]  # of the 3x3 kernel
    cells: tuple[int, ...]  # of the input, one for each tap


def windows(width: int, height: int) -> tuple[tuple[Window, ...], tuple[int, int]]:
    """The windows of a 3x3 convolution of stride 2 padded as 'SAME', in order of position, and the size of its output."""
    out = (math.ceil(width / 2), math.ceil(height / 2))
    before = [max(2 * (o - 1) + 3 - size, 0) // 2 for o, size in zip(out, (width, height), strict=True)]
    found = []
    for i in range(out[0]):
        for j in range(out[1]):
            covered = [
                (3 * a + b, (2 * i - before[0] + a) * height + 2 * j - before[1] + b)
                for a in range(3)
                for b in range(3)
                if 0 <= 2 * i - before[0] + a < width and 0 <= 2 * j - before[1] + b < height
            ]
            found.append(Window(*map(tuple, zip(*covered, strict=True))))
    return tuple(found), out


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


class _LookUp(torch.autograd.Function):
    """ELU of the first convolution, laid out for the next: [N, len(cells) * 32]."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, bias: Tensor, codes: np.ndarray, rows: np.ndarray, to: LookUp) -> Tensor:
        y = torch.empty(len(rows), len(to.cells) * FILTERS)
        kernels.look_up(codes, rows, _flat(table), _flat(bias), to.taps, to.cells, _flat(y))
        ctx.save_for_backward(y)
        ctx.seen, ctx.shape = (codes, rows, to), table.shape
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        codes, rows, to = ctx.seen
        of_table, of_bias = torch.zeros(ctx.shape), torch.zeros(FILTERS)
        kernels.look_up_backward(
            codes, rows, _flat(gradient.contiguous()), _flat(y), to.taps, to.cells, _flat(of_table), _flat(of_bias)
        )
        return of_table, of_bias, None, None, None


@dataclass(frozen=True, eq=False)
class LookUp:
    """Where the first convolution reads and writes."""

    taps: np.ndarray  # [Q, 3] uint32: tap, position, cell
    cells: np.ndarray  # the positions in the order in which the next layer reads them


class _Windows(torch.autograd.Function):
    """ELU of a later convolution: laid [N, cells of all windows * 32] -> [N, positions * 32]; weight [TAPS, 32, 32]."""

    @staticmethod
    def forward(ctx: Any, laid: Tensor, weight: Tensor, bias: Tensor, layer: Later) -> Tensor:
        matrices = layer.matrices(weight)
        y = torch.empty(len(laid), len(layer.windows) * FILTERS)
        for (at, of, _), matrix in zip(layer.products, matrices, strict=True):
            torch.addmm(bias, laid[:, of], matrix, out=y[:, at])
        kernels.elu(_flat(y))
        ctx.save_for_backward(laid, y, *matrices)
        ctx.layer = layer
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        laid, y, *matrices = ctx.saved_tensors
        gradient = _before_elu(gradient, y)
        of_laid, of_weight = torch.empty_like(laid), torch.zeros(TAPS, FILTERS, FILTERS)
        for (at, of, taps), matrix in zip(ctx.layer.products, matrices, strict=True):
            torch.mm(gradient[:, at], matrix.t(), out=of_laid[:, of])
            of_weight[taps] += torch.mm(laid[:, of].t(), gradient[:, at]).view(-1, FILTERS, FILTERS)
        return of_laid, of_weight, gradient.view(-1, FILTERS).sum(0), None


class Later:
    """Where a convolution after the first reads and writes. Inputs are laid out window after window, so that each is one
    matrix; `products` are (columns of the output, columns laid out, taps)."""

    def __init__(self, width: int, height: int) -> None:
        self.windows, self.out = windows(width, height)
        self.inputs = width * height
        self.cells = np.array([cell for window in self.windows for cell in window.cells], np.intp)
        self.products, begin = [], 0
        for position, window in enumerate(self.windows):
            end = begin + len(window.cells) * FILTERS
            at = slice(position * FILTERS, (position + 1) * FILTERS)
            self.products.append((at, slice(begin, end), torch.tensor(window.taps)))
            begin = end
        self._as_is = self.cells.tolist() == list(range(self.inputs))
        self.fixed: list[Tensor] | None = None

    def matrices(self, weight: Tensor) -> list[Tensor]:
        """The weights of each window, [its cells * 32, 32]."""
        if self.fixed is not None:
            return self.fixed
        return [weight[taps].view(-1, FILTERS) for _, _, taps in self.products]

    def spread(self, x: Tensor) -> Tensor:
        """x [N, cells * 32] laid out window after window."""
        return x if self._as_is else _apply(_Spread, x, self.cells, self.inputs)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cells: np.ndarray, inputs: int) -> Tensor:
        laid = torch.empty(len(x), len(cells) * FILTERS)
        kernels.spread(_flat(x), cells, inputs, _flat(laid))
        ctx.cells, ctx.inputs = cells, inputs
        return laid

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        of_x = torch.zeros(len(gradient), ctx.inputs * FILTERS)
        kernels.spread_backward(_flat(gradient.contiguous()), ctx.cells, ctx.inputs, _flat(of_x))
        return of_x, None, None


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
    """A look-up convolution and `later` more; with two more, 32 numbers for each sample of a 7x7 view."""

    def __init__(
        self, width: int, height: int, lags: int, encoding: Encoding, scale: float = 1 / 255, later: int = 2
    ) -> None:
        super().__init__()
        self.lags = lags
        self.features: Tensor
        first, size = windows(width, height)
        taps = [(tap, p, cell) for p, w in enumerate(first) for tap, cell in zip(w.taps, w.cells, strict=True)]
        self._later: list[Later] = []
        for _ in range(later):
            self._later.append(Later(*size))
            size = self._later[-1].out
        cells = self._later[0].cells if later else np.arange(len(first))
        self._look_up = LookUp(np.array(taps, np.uint32), cells)
        self.out = size[0] * size[1] * FILTERS
        self.register_buffer("features", features(encoding, scale), persistent=False)
        self.first = nn.Parameter(torch.empty(self.features.shape[1], lags * TAPS, FILTERS))
        self.later = nn.ParameterList(torch.empty(TAPS, FILTERS, FILTERS) for _ in range(later))
        self.biases = nn.Parameter(torch.zeros(1 + later, FILTERS))
        self._table: Tensor | None = None

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal with gain sqrt(2), as a matrix from everything a filter sees to the filters."""
        for weight in (self.first, *self.later):
            matrix = torch.empty(FILTERS, weight.numel() // FILTERS)
            nn.init.orthogonal_(matrix, gain=math.sqrt(2), generator=generator)
            with torch.no_grad():
                weight.copy_(matrix.t().reshape(weight.shape))

    def forward(self, codes: np.ndarray, rows: np.ndarray) -> Tensor:
        """codes [R, cells]; rows [N, lags] uint32."""
        x = _apply(_LookUp, self._current_table(), self.biases[0], codes, rows, self._look_up)
        for index, (layer, weight, bias) in enumerate(zip(self._later, self.later, self.biases[1:], strict=True)):
            x = _apply(_Windows, x if index == 0 else layer.spread(x), weight, bias, layer)
        return x

    def _current_table(self) -> Tensor:
        """[CODES, lags * TAPS * 32]."""
        return self.features @ self.first.flatten(1) if self._table is None else self._table

    @contextmanager
    def fixed(self) -> Iterator[None]:
        """While the weights stay as they are, what follows from them alone is computed once: it costs as much as acting.

        (Not by the weights' version: a fused Adam step leaves it as it was.)
        """
        with torch.no_grad():
            self._table = self._current_table()
            for layer, weight in zip(self._later, self.later, strict=True):
                layer.fixed = layer.matrices(weight)
            try:
                yield
            finally:
                self._table = None
                for layer in self._later:
                    layer.fixed = None


def blank_frame(cells: int) -> np.ndarray:
    """The frame of a step before the episode began: it adds nothing to any output."""
    return np.full(cells, BLANK, np.uint8)
