"""Calls into the compiled evaluator (walk.c and pay.c): numpy arrays in, numpy arrays out, nothing else.

C rather than a just-in-time compiler: a Numba version of the same two functions took 60 s to compile at first use (two busy cores)
and 2 to 11 ms to read a rollout of 128 x 64 steps, where C takes 0.6 ms.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from srm.errors import SrmError
from srm.evaluate.tables import Array, Tables

SCALARS = (
    "start",
    "every_step",
    "dynamic_node",
    "dynamic",
    "holes",
    "nodes",
    "rules",
    "counters",
    "events",
    "longest_guard",
)
ENTRY_TYPES: Mapping[str, type] = {
    "step": np.int32,
    "world": np.int32,
    "first": np.bool_,
    "candidate_from": np.int32,
    "rule": np.int32,
    "coefficient_from": np.int32,
    "sure": np.bool_,
    "truth_from": np.int32,
    "truth": np.uint8,
    "coefficients": np.float64,
    "repay_from": np.int32,
    "repay_entry": np.int32,
    "repay_change": np.int32,
    "repay_coefficient_from": np.int32,
    "effect_from": np.int32,
    "effect_counter": np.int32,
    "effect_kind": np.uint8,
}


class _Tables(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in SCALARS),
        *((name, ctypes.c_void_p) for name in Tables._fields if name not in SCALARS),
    ]


class _Happened(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("steps", "worlds", "occurrences", "attributes", "signals")),
        *((name, ctypes.c_void_p) for name in ("step", "world", "event", "attribute", "signal", "over", "real")),
    ]


class _Grown(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_int64), ("room", ctypes.c_int64)]


class _Found(ctypes.Structure):
    _fields_ = [(name, _Grown) for name in ENTRY_TYPES]


class _Entries(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ENTRY_TYPES]


@cache
def _library() -> ctypes.CDLL:
    spec = find_spec("srm.evaluate._compiled")
    if spec is None or spec.origin is None:
        raise SrmError(
            "the compiled evaluator is missing; install the package (`make setup`, or `pip install .`), which builds it"
        )
    library = ctypes.CDLL(spec.origin)
    library.srm_release.restype = None
    return library


class CompiledTables:
    """The tables of a machine as the compiled code takes them. Keeps the arrays alive that it points into."""

    def __init__(self, tables: Tables) -> None:
        arrays = {name: np.ascontiguousarray(getattr(tables, name)) for name in Tables._fields if name not in SCALARS}
        self.arrays = arrays
        self.structure = _Tables(
            **{name: int(getattr(tables, name)) for name in SCALARS},
            **{name: array.ctypes.data for name, array in arrays.items()},
        )


def walk(
    tables: CompiledTables, happened: Mapping[str, Array], nodes: Array, counts: Array
) -> tuple[dict[str, Array], Array]:
    """The entries of a rollout, and (step, world, rule, rule) of two rules that surely hold together or -1.

    `nodes` [B] and `counts` [B, C] are moved on in place.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in happened.items()}
    steps, worlds = arrays["over"].shape
    given = _Happened(
        steps,
        worlds,
        len(arrays["step"]),
        arrays["attribute"].shape[1],
        arrays["signal"].shape[2],
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    found, clash = _Found(), np.full(4, -1, np.int64)
    try:
        failed = _library().srm_walk(
            ctypes.byref(tables.structure),
            ctypes.byref(given),
            _at(nodes),
            _at(counts),
            ctypes.byref(found),
            _at(clash),
        )
        if failed:
            raise MemoryError("reading a rollout")
        return {name: _copied(getattr(found, name), kind) for name, kind in ENTRY_TYPES.items()}, clash
    finally:
        _library().srm_release(ctypes.byref(found))


def _copied(grown: Any, kind: type) -> Array:
    size = grown.length * np.dtype(kind).itemsize
    return np.frombuffer(ctypes.string_at(grown.data, size), kind) if size else np.zeros(0, kind)


def pay(
    tables: CompiledTables,
    entries: Mapping[str, Array],
    holes: Array,
    nodes: Array,
    moving: Array,
    paid: Array,
    slopes: Array | None,
) -> tuple[Array, Array]:
    """Fills `paid` [N, K] and `slopes` [N, H, K]; moves `nodes` [B, K] and `moving` [B, D, K] on.

    Returns the rule that fired [N, K], and (entry, rule, rule, assignment) of two rules that hold together or -1.
    """
    count, total = paid.shape
    arrays: dict[str, Array] = {
        name: np.ascontiguousarray(entries[name], dtype=kind) for name, kind in ENTRY_TYPES.items()
    }
    given = _Entries(**{name: array.ctypes.data for name, array in arrays.items()})
    fired, clash = np.empty((count, total), np.int32), np.full(4, -1, np.int64)
    failed = _library().srm_pay(
        ctypes.byref(tables.structure),
        ctypes.byref(given),
        ctypes.c_int64(count),
        ctypes.c_int64(total),
        _at(holes),
        _at(nodes),
        _at(moving),
        _at(paid),
        None if slopes is None else _at(slopes),
        _at(fired),
        _at(clash),
    )
    if failed:
        raise MemoryError("paying a rollout")
    return fired, clash


def _at(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
