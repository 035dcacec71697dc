"""The innermost loops of the policy's convolutions, compiled once and cached beside this file.

    codes  [R, cells]     uint8   frames: what stands in each cell
    rows   [N, L]         uint32  which frames a sample sees, newest first
    table  [codes, L * 9, 32]     what a code adds to an output when it stands under a tap in the frame of that lag
    taps   [Q, 3]         uint32  (tap, output position, cell): every place that the kernel of a convolution covers

A first convolution over cells with few possible contents needs no multiplication: the products of each content with each
weight are a table, and a sample is a sum of rows of it. A row is FILTERS numbers, so a sum of rows is a few vector
instructions; LLVM does not find them by itself (it cannot know that rows do not overlap: 7.7 ms), hence the intrinsics.
1,024 samples of four 7x7 frames take 1.3 ms forward, ELU included, and 1.4 ms backward. PyTorch needs 6.6 ms for the first
(3.7 to gather bytes and make floats of them, 1.7 for the convolution, 1.3 for ELU) and 2.5 ms for the second (one core, AVX2).

The other convolutions are products with 32 x 32 matrices, one for each tap, of samples that stay in the nearest cache: 35 billion
products a second, not quite what a good BLAS has, but nothing is spent on laying out windows or on calls, of which a pass had
thirty: 64 samples take 0.06 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

FILTERS = 32
TAPS = 9
_LAG = TAPS * FILTERS  # numbers of a table between two lags
_SQUARE = FILTERS * FILTERS
_VECTOR = ir.VectorType(ir.FloatType(), FILTERS)
BLOCK = 32  # samples whose numbers fit the nearest cache while one tap after the other is worked through


def _row(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """The address of FILTERS numbers of a flat array, as one vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


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


def _product(rows: int) -> Any:
    """`rows` rows of a matrix product, which stay in registers while their terms are summed."""

    @intrinsic
    def add(typing: Any, to: Any, at: Any, next_to: Any, a: Any, of: Any, next_a: Any, along: Any, b: Any, row: Any, next_b: Any, terms: Any) -> Any:  # fmt: skip
        """to[at + i * next_to] += the sum over k < terms of a[of + i * next_a + k * along] * b[row + k * next_b], for i < rows.

        Places of `to` and `b` are those of FILTERS numbers, places of `a` of one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            to, at, next_to, a, of, next_a, along, b, row, next_b, terms = (
                context.cast(builder, value, kind, types.intp) if isinstance(kind, types.Integer) else value
                for value, kind in zip(arguments, kinds, strict=True)
            )
            numbers = context.make_array(kinds[3])(context, builder, a).data

            def offset(start: Any, step: Any, count: Any) -> Any:
                return builder.add(start, builder.mul(step, count))

            index = [ir.Constant(at.type, i) for i in range(rows)]
            sums_at = [_row(context, builder, kinds[0], to, offset(at, next_to, i)) for i in index]
            sums = [cgutils.alloca_once_value(builder, builder.load(at_row, align=4)) for at_row in sums_at]
            with cgutils.for_range(builder, terms) as loop:
                factor = builder.load(_row(context, builder, kinds[7], b, offset(row, next_b, loop.index)), align=4)
                first = offset(of, along, loop.index)
                for i, total in zip(index, sums, strict=True):
                    number = builder.load(builder.gep(numbers, [offset(first, next_a, i)]))
                    product = builder.fmul(_everywhere(builder, number), factor, flags=("contract",))
                    builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
            for at_row, total in zip(sums_at, sums, strict=True):
                builder.store(builder.load(total), at_row, align=4)
            return context.get_dummy_value()

        return types.void(to, at, next_to, a, of, next_a, along, b, row, next_b, terms), generate

    return add


def _everywhere(builder: Any, number: Any) -> Any:
    """A vector of FILTERS times the same number."""
    unknown = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(unknown, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, unknown, ir.Constant(ir.VectorType(ir.IntType(32), FILTERS), [0] * FILTERS))


# Two rows are eight of the sixteen vector registers of AVX2, and as many sums as its multipliers need to be kept busy.
_product_1, _product_2 = _product(1), _product(2)


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
def look_up(codes, rows, table, bias, taps, out):
    """out = ELU of the first convolution; `table` and `out` [N, positions, 32] are flat."""
    lags, positions = rows.shape[1], len(out) // (len(rows) * FILTERS)
    code = np.intp(lags * _LAG)  # numbers of the table between two codes
    for n in range(len(rows)):
        at = out[n * positions * FILTERS : (n + 1) * positions * FILTERS]
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


@njit(cache=True)
def look_up_backward(codes, rows, gradient, y, taps, of_table, of_bias):
    """Adds to `of_table` and `of_bias` what `gradient` owes to them; it and y are as `out` of `look_up`."""
    lags, size = rows.shape[1], len(y) // len(rows)
    code = np.intp(lags * _LAG)
    at = np.empty(size, np.float32)
    for n in range(len(rows)):
        elu_backward(gradient[n * size : (n + 1) * size], y[n * size : (n + 1) * size], at)
        for p in range(size // FILTERS):
            _add_rows(of_bias, np.intp(0), at, (np.intp(p * FILTERS),))
        for k in range(lags):
            frame, base = codes[rows[n, k]], np.intp(k * _LAG)
            for q in range(len(taps)):
                to = base + np.intp(taps[q, 0]) * FILTERS + code * frame[taps[q, 2]]
                _add_rows(of_table, to, at, (np.intp(taps[q, 1]) * FILTERS,))


@njit(cache=True)
def convolve(x, weight, bias, taps, out):
    """out [N, positions, 32] = ELU of a convolution of x [N, cells, 32] by weight [TAPS, 32, 32]; out and weight are flat."""
    cells, width = np.intp(x.shape[1]), np.intp(len(out) // len(x))
    for begin in range(0, len(x), BLOCK):
        end = min(begin + BLOCK, len(x))
        for row in range(begin * width, end * width, FILTERS):
            _copy_row(out, np.intp(row), bias, np.intp(0))
        for q in range(len(taps)):
            of, to, at = np.intp(taps[q, 0]) * _SQUARE, np.intp(taps[q, 1]) * FILTERS, np.intp(taps[q, 2]) * FILTERS
            _products(out, to + begin * width, width, x, at + begin * cells, cells, weight, of, end - begin)
        elu(out[begin * width : end * width])


@njit(cache=True)
def convolve_backward(gradient, y, x, transpose, taps, of_x, of_weight, of_bias):
    """Adds to `of_x`, `of_weight` and `of_bias` what `gradient` owes to them, of a convolution whose weight has this `transpose`.

    `gradient` and y are as `out` of `convolve`, all are flat but x, and gradient is overwritten by that before ELU.
    """
    cells, width = np.intp(x.shape[1]), np.intp(len(y) // len(x))
    elu_backward(gradient, y, gradient)
    for row in range(0, len(gradient), FILTERS):
        _add_rows(of_bias, np.intp(0), gradient, (np.intp(row),))
    for begin in range(0, len(x), BLOCK):
        count = np.intp(min(BLOCK, len(x) - begin))
        for q in range(len(taps)):
            of = np.intp(taps[q, 0]) * _SQUARE
            of_y = np.intp(taps[q, 1]) * FILTERS + begin * width
            at = np.intp(taps[q, 2]) * FILTERS + begin * cells
            _products(of_x, at, cells, gradient, of_y, width, transpose, of, count)
            for i in range(0, FILTERS, 2):
                _product_2(of_weight, of + i * FILTERS, FILTERS, x, at + i, 1, cells, gradient, of_y, width, count)


@njit(cache=True)
def _products(to, at, width, x, of, stride, matrix, begin, count):
    """to[n] += x[n] @ matrix for `count` n, two at a time; rows of 32 numbers, each so many numbers from the next."""
    for n in range(0, count - 1, 2):
        _product_2(to, at + n * width, width, x, of + n * stride, stride, 1, matrix, begin, FILTERS, FILTERS)
    if count % 2:
        n = count - 1
        _product_1(to, at + n * width, width, x, of + n * stride, stride, 1, matrix, begin, FILTERS, FILTERS)
