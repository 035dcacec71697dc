"""The innermost loops of the policy's convolutions, compiled once and cached beside this file.

    codes  [R, cells]     uint8   frames: what stands in each cell
    rows   [N, L]         uint32  which frames a sample sees, newest first
    table  [CODES, L * 9, 32]     what a code adds to an output when it stands under a tap in the frame of that lag
    taps   [Q, 3]         uint32  (tap, output position, cell): every place where the kernel of the convolution covers

A first convolution over cells with few possible contents needs no multiplication: the products of each content with each
weight are a table, and a sample is a sum of rows of it. A row is FILTERS numbers, so a sum of rows is a few vector
instructions; LLVM does not find them by itself (it cannot know that rows do not overlap: 7.7 ms), hence the two intrinsics.
1,024 samples of four 7x7 frames take 1.3 ms forward, ELU included, and 1.4 ms backward. PyTorch needs 6.6 ms for the first
(3.7 to gather bytes and make floats of them, 1.7 for the convolution, 1.3 for ELU) and 2.5 ms for the second (one core, AVX2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

FILTERS = 32
CODES = 199  # 11 types x 6 colours x 3 states, and BLANK: the episode had not begun yet
BLANK = CODES - 1
TAPS = 9
_LAG = TAPS * FILTERS  # numbers of a table between two lags


def _row(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """The address of FILTERS numbers of a flat array, as one vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), ir.VectorType(ir.FloatType(), FILTERS).as_pointer())


@intrinsic
def _copy_row(typing: Any, to: Any, at: Any, source: Any, row: Any) -> Any:
    """to[at : at + FILTERS] = source[row : row + FILTERS]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        value = builder.load(_row(context, builder, kinds[2], arguments[2], arguments[3]), align=4)
        builder.store(value, _row(context, builder, kinds[0], arguments[0], arguments[1]), align=4)
        return context.get_dummy_value()

    return types.void(to, at, source, row), generate


@intrinsic
def _add_rows(typing: Any, to: Any, at: Any, source: Any, rows: Any) -> Any:
    """to[at : at + FILTERS] += the sum over r in `rows` (a tuple of offsets) of source[r : r + FILTERS]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        target = _row(context, builder, kinds[0], arguments[0], arguments[1])
        total = builder.load(target, align=4)
        for index in range(len(rows)):
            offset = builder.extract_value(arguments[3], index)
            value = builder.load(_row(context, builder, kinds[2], arguments[2], offset), align=4)
            total = builder.fadd(total, value)
        builder.store(total, target, align=4)
        return context.get_dummy_value()

    return types.void(to, at, source, rows), generate


# PyTorch's ELU takes 1.3 ms for the 524,288 numbers after the first convolution, this one 0.35: exp by a polynomial of
# degree 6 on [-ln2/2, ln2/2], exact to 2e-7. Contraction only: reassociation would undo the rounding by `_ROUND`.
_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
_LOG2E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693145752), np.float32(1.42860677e-6)
_C2, _C3, _C4, _C5, _C6 = (np.float32(1 / f) for f in (2, 6, 24, 120, 720))
_ONE, _ZERO, _LEAST = np.float32(1), np.float32(0), np.float32(-80)


@njit(cache=True, fastmath={"contract"})
def elu(x):
    """x > 0 ? x : exp(x) - 1, in place, flat."""
    for i in range(len(x)):
        value = x[i]
        low = np.float32(max(min(value, _ZERO), _LEAST))
        rounded = np.float32(low * _LOG2E + _ROUND)
        whole = rounded - _ROUND
        rest = low - whole * _LN2_HIGH - whole * _LN2_LOW
        power = (((((_C6 * rest + _C5) * rest + _C4) * rest + _C3) * rest + _C2) * rest + _ONE) * rest + _ONE
        bits = np.int32(np.int32(np.float32(rounded).view(np.int32) + np.int32(127)) << np.int32(23))
        x[i] = value if value > _ZERO else power * np.int32(bits).view(np.float32) - _ONE


@njit(cache=True, fastmath={"contract"})
def elu_backward(gradient, y, of_x):
    """of_x = gradient times the derivative of ELU where it gave y, flat."""
    for i in range(len(gradient)):
        of_x[i] = gradient[i] * (_ONE if y[i] > _ZERO else y[i] + _ONE)


@njit(cache=True)
def look_up(codes, rows, table, bias, taps, cells, out):
    """out[n, j] = ELU of the first convolution at position cells[j]; `table` and `out` [N, len(cells), 32] are flat."""
    lags, positions = rows.shape[1], cells.max() + 1
    code = np.intp(lags * _LAG)  # numbers of the table between two codes
    at = np.empty(positions * FILTERS, np.float32)  # one sample stays in the nearest cache until it is done
    for n in range(len(rows)):
        for p in range(positions):
            _copy_row(at, np.intp(p * FILTERS), bias, np.intp(0))
        frame = rows[n]
        for q in range(len(taps)):
            base, cell = np.intp(taps[q, 0]) * FILTERS, taps[q, 2]
            to = np.intp(taps[q, 1]) * FILTERS
            k = 0
            while k + 4 <= lags:  # four lags at a time halve the traffic
                a = base + code * codes[frame[k], cell]
                b = base + _LAG + code * codes[frame[k + 1], cell]
                c = base + 2 * _LAG + code * codes[frame[k + 2], cell]
                d = base + 3 * _LAG + code * codes[frame[k + 3], cell]
                _add_rows(at, to, table, (a, b, c, d))
                base += 4 * _LAG
                k += 4
            while k < lags:
                _add_rows(at, to, table, (base + code * codes[frame[k], cell],))
                base += _LAG
                k += 1
        elu(at)
        for j in range(len(cells)):
            _copy_row(out, np.intp(n * len(cells) + j) * FILTERS, at, np.intp(cells[j]) * FILTERS)


@njit(cache=True)
def look_up_backward(codes, rows, gradient, y, taps, cells, of_table, of_bias):
    """Adds to `of_table` and `of_bias` what `gradient` owes to them; it and y are as `out` of `look_up`."""
    lags, positions, width = rows.shape[1], cells.max() + 1, len(cells)
    code = np.intp(lags * _LAG)
    at = np.empty(positions * FILTERS, np.float32)
    said = np.empty(positions * FILTERS, np.float32)
    for n in range(len(rows)):
        at[:] = _ZERO
        for j in range(width):
            source, to = np.intp(n * width + j) * FILTERS, np.intp(cells[j]) * FILTERS
            _add_rows(at, to, gradient, (source,))
            _copy_row(said, to, y, source)
        elu_backward(at, said, at)
        for p in range(positions):
            _add_rows(of_bias, np.intp(0), at, (np.intp(p * FILTERS),))
        for k in range(lags):
            frame, base = codes[rows[n, k]], np.intp(k * _LAG)
            for q in range(len(taps)):
                to = base + np.intp(taps[q, 0]) * FILTERS + code * frame[taps[q, 2]]
                _add_rows(of_table, to, at, (np.intp(taps[q, 1]) * FILTERS,))


@njit(cache=True)
def spread(x, cells, inputs, out):
    """out[n, j] = x[n, cells[j]], rows of 32; both flat. `inputs` is how many rows x has for each n."""
    width = len(cells)
    for n in range(len(out) // (width * FILTERS)):
        for j in range(width):
            to = np.intp(n * width + j) * FILTERS
            _copy_row(out, to, x, np.intp(n * inputs + cells[j]) * FILTERS)


@njit(cache=True)
def spread_backward(gradient, cells, inputs, of_x):
    """of_x[n, cells[j]] += gradient[n, j], rows of 32; both flat, `of_x` zero at first."""
    width = len(cells)
    for n in range(len(gradient) // (width * FILTERS)):
        for j in range(width):
            to = np.intp(n * inputs + cells[j]) * FILTERS
            _add_rows(of_x, to, gradient, (np.intp(n * width + j) * FILTERS,))
