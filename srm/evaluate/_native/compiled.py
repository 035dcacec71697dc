"""Calls into the compiled evaluator (walk.c and pay.c): numpy arrays in, numpy arrays out, nothing else.

C rather than a just-in-time compiler: a Numba version of the same two functions took 60 s to compile at first use (two busy cores)
and 2 to 11 ms to read a rollout of 128 x 64 steps, where C takes 0.1 to 0.5 ms.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from srm.evaluate._native.tables import NONE, Array, Tables
from srm.extension import extension

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
    "env": np.int32,
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
        *((name, ctypes.c_int64) for name in ("steps", "envs", "occurrences", "attributes", "signals")),
        *((name, ctypes.c_void_p) for name in ("step", "env", "event", "attribute", "signal", "over", "valid")),
    ]


class _Grown(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_int64), ("room", ctypes.c_int64)]


class _Memory(ctypes.Structure):
    _fields_ = [(name, _Grown) for name in ENTRY_TYPES]


class _Entries(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ENTRY_TYPES]


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(extension("srm.evaluate._native._compiled").__file__)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.srm_walk.argtypes = [pointer] * 8
    library.srm_step.argtypes = [pointer, pointer, number, *[pointer] * 5]
    library.srm_pay.argtypes = [*[pointer] * 3, *[number] * 2, *[pointer] * 9]
    library.srm_rows.argtypes, library.srm_rows.restype = [pointer, pointer, number, pointer], number
    library.srm_release.argtypes, library.srm_release.restype = [pointer], None
    return library


def _at(array: Array | None) -> int | None:
    """Where the numbers of an array are; it must be contiguous."""
    return None if array is None else extension("srm.evaluate._native._compiled").address(array)


class CompiledTables:
    """The tables of a machine as the compiled code takes them. Keeps the arrays alive that it points into."""

    def __init__(self, tables: Tables) -> None:
        arrays = {name: np.ascontiguousarray(getattr(tables, name)) for name in Tables._fields if name not in SCALARS}
        self.arrays = arrays
        self.structure = _Tables(
            **{name: int(getattr(tables, name)) for name in SCALARS},
            **{name: _at(array) for name, array in arrays.items()},
        )


class Entries:
    """What is left of a rollout, in the memory of the compiled code. Lists of lists are one array and the offsets where each list
    begins (`*_from`). Most of it is only ever read by compiled code, so an array is copied out when it is asked for by name.

        step, env             [N] grouped by env
        first                   [N] an episode began since the env's last entry
        candidate_from          [N + 1]
        rule                    [M]
        coefficient_from        [M] where the candidate's coefficients begin: open comparisons, then pay
        sure                    [M] the guard holds whatever the holes are
        truth_from, truth       [M] if not sure: what is known of each operation of its guard
        coefficients
        repay_from              [M + 1]; repay_entry, repay_change, repay_coefficient_from: what hindsight changes
        effect_from             [N + 1]; effect_counter, effect_kind: what happens to the dynamic counters
    """

    def __init__(self) -> None:
        self.memory, self.structure = _Memory(), _Entries()
        # Not __del__, which at the end of Python finds modules that are gone, and says so
        weakref.finalize(self, _library().srm_release, ctypes.byref(self.memory))

    def __len__(self) -> int:
        return int(self.memory.step.length)

    def array(self, name: str) -> Array:
        grown, kind = getattr(self.memory, name), ENTRY_TYPES[name]
        size = grown.length * np.dtype(kind).itemsize
        return np.frombuffer(ctypes.string_at(grown.data, size), kind) if size else np.zeros(0, kind)

    @cached_property
    def step(self) -> Array:
        return self.array("step")

    @cached_property
    def env(self) -> Array:
        return self.array("env")


def walk(
    tables: CompiledTables, happened: Mapping[str, Array], nodes: Array, counts: Array
) -> tuple[Entries, Array, Array]:
    """The entries of a rollout, the step [B] at which the episode under way at its end began (0: or before), and (step, env,
    rule, rule) of two rules that surely hold together or -1.

    `nodes` [B] and `counts` [B, C] are moved on in place.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in happened.items()}
    steps, envs = arrays["over"].shape
    given = _Happened(
        steps,
        envs,
        len(arrays["step"]),
        arrays["attribute"].shape[1],
        arrays["signal"].shape[2],
        **{name: _at(array) for name, array in arrays.items()},
    )
    entries, begun, clash = Entries(), np.zeros(envs, np.int32), np.empty(4, np.int64)
    failed = _library().srm_walk(
        ctypes.byref(tables.structure),
        ctypes.byref(given),
        *map(_at, (nodes, counts, begun)),
        ctypes.byref(entries.memory),
        ctypes.byref(entries.structure),
        _at(clash),
    )
    if failed:
        raise MemoryError("reading a rollout")
    return entries, begun, clash


class Gradients(NamedTuple):
    """d pay / d holes, for the R pairs of an entry and a hole that the entry's pay can depend on."""

    entry: Array  # [R]
    hole: Array  # [R]
    value: Array  # [R, K]


def pay(
    tables: CompiledTables,
    entries: Entries,
    holes: Array,
    nodes: Array,
    moving: Array,
    *,
    coefficients: bool,
    by_rule: bool,
) -> tuple[Array, Gradients | None, Array | None, Array, Array]:
    """Pay [N, K], its gradients and the contribution of each firing [N, K] if asked for, the rule that fired [N, K], and (entry, rule, rule,
    assignment) of two rules that hold together or -1. Moves `nodes` [B, K] and `moving` [B, D, K] on."""
    shape = len(entries), holes.shape[1]
    paid, fired = np.zeros(shape), np.empty(shape, np.int32)
    rows, gradients = _rows(tables, entries, holes.shape) if coefficients else (None, None)
    value = gradients.value if gradients else None
    contribution = np.zeros(shape) if by_rule else None
    clash = _pay(tables, entries, None, holes, nodes, moving, paid, rows, value, contribution, fired)
    return paid, gradients, contribution, fired, clash


def _rows(tables: CompiledTables, entries: Entries, shape: tuple[int, ...]) -> tuple[Array, Gradients]:
    holes, count = shape
    rows = np.empty((len(entries), holes), np.int32)
    pairs = _library().srm_rows(
        ctypes.byref(tables.structure), ctypes.byref(entries.structure), len(entries), _at(rows)
    )
    entry, hole = np.nonzero(rows >= 0)
    return rows, Gradients(entry, hole, np.zeros((pairs, count)))


def move_on(tables: CompiledTables, entries: Entries, chosen: Array, holes: Array, nodes: Array, moving: Array) -> None:
    """Moves `nodes` [B, K] and `moving` [B, D, K] on along the chosen entries [n], which have been paid before."""
    _pay(tables, entries, chosen, holes, nodes, moving, None, None, None, None, None)


def _pay(
    tables: CompiledTables,
    entries: Entries,
    chosen: Array | None,
    holes: Array,
    nodes: Array,
    moving: Array,
    paid: Array | None,
    rows: Array | None,
    gradients: Array | None,
    contribution: Array | None,
    fired: Array | None,
) -> Array:
    clash = np.empty(4, np.int64)
    failed = _library().srm_pay(
        ctypes.byref(tables.structure),
        ctypes.byref(entries.structure),
        _at(chosen),
        len(entries) if chosen is None else len(chosen),
        holes.shape[1],
        *map(_at, (holes, nodes, moving, paid, rows, gradients, contribution, fired, clash)),
    )
    if failed:
        raise MemoryError("paying a rollout")
    return clash


class CompiledStep:
    """One step after another of B envs, each with the machine at S places at once, under one assignment.

    Everything that does not change from step to step is pointed at once: what ctypes costs is then 2 microseconds a step.
    """

    def __init__(self, tables: CompiledTables, envs: int, places: int = 1) -> None:
        counters = tables.structure.counters
        self.nodes = np.full((envs, places), tables.structure.start, np.int32)
        self.counts = np.zeros((envs, places, counters), np.int32)
        self.pay, self.rule = np.zeros((envs, places)), np.full((envs, places), NONE, np.int32)
        self.valid, self.clash = np.ones(envs, np.bool_), np.empty(4, np.int64)
        self._tables, self._step = tables, _library().srm_step
        self._address = extension("srm.evaluate._native._compiled").address
        self._given = _Happened(steps=1, envs=envs, valid=_at(self.valid))
        arrays = (self.nodes, self.counts, self.pay, self.rule, self.clash)
        self._arguments = (
            ctypes.addressof(tables.structure),
            ctypes.addressof(self._given),
            places,
            *map(_at, arrays),
        )

    def __call__(self, env: Array, event: Array, attribute: Array, signal: Array) -> None:
        """What happened at the step, sorted: [N] int32, [N] int32, [N, attributes] int32, [B, signals] float64, all contiguous."""
        given, address = self._given, self._address
        given.occurrences, given.attributes, given.signals = len(env), attribute.shape[-1], signal.shape[-1]
        given.signal = address(signal)
        if len(env):
            given.env, given.event, given.attribute = address(env), address(event), address(attribute)
        if self._step(*self._arguments):
            raise MemoryError("paying a step")
