"""What a machine pays under K assignments at once, from a rollout that was read with the holes left open.

Most steps are idle, so pay is kept for the N entries of the rollout only; `Paid.dense` spreads it over [K, T, B]. The inner
loops run over the assignments, which lie next to each other in memory: an entry costs a few operations on K numbers, whatever T
and B are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.errors import AssignmentError
from srm.evaluate._native import compiled
from srm.evaluate._native.tables import NONE, Array
from srm.evaluate.symbolic import Residual, clash_error
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.machine.terms import number_text

IDLE = NONE
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """d pay / d holes under K assignments, guards held fixed. Few entries depend on many holes, so only the R pairs of an entry and a
    hole that can depend on each other are kept."""

    shape: tuple[int, int, int]  # K, N, H
    entry: Array  # [R]
    hole: Array  # [R]
    value: Floats  # [R, K]

    def dense(self) -> Floats:
        """[K, N, H]."""
        spread = np.zeros(self.shape)
        spread[:, self.entry, self.hole] = self.value.T
        return spread


@dataclass(frozen=True, eq=False)
class Paid:
    """What K assignments pay for the N entries of a rollout; every other step pays 0."""

    steps: int  # T
    envs: int  # B
    step: Array  # [N]
    env: Array  # [N]
    pay: Floats  # [K, N]
    rule: Array  # [K, N] which rule of `machine.rules` fired, or IDLE
    coefficients: Coefficients | None
    contribution: (
        Floats | None
    )  # [K, N] of the rule that fired: its pay, and what its hindsight added to earlier entries

    def dense(self) -> Floats:
        """[K, T, B]."""
        spread = np.zeros((len(self.pay), self.steps, self.envs))
        spread[:, self.step, self.env] = self.pay
        return spread

    def mean_dense(self) -> Floats:
        """The mean over the assignments, [T, B]."""
        spread = np.zeros((self.steps, self.envs))
        spread[self.step, self.env] = self.pay.mean(axis=0)
        return spread


def pay(residual: Residual, assignments: Floats, *, coefficients: bool = False, by_rule: bool = False) -> Paid:
    """Pay under each row of `assignments` [K, H]; with its `coefficients`, and `by_rule` with the contribution of each firing, if asked for."""
    program, tables = residual.program, residual.program.tables
    if assignments.ndim != 2 or assignments.shape[1] != tables.holes:
        raise AssignmentError(
            f"assignments of shape {assignments.shape}, expected [K, {tables.holes}] for {program.machine.name}"
        )
    if not np.isfinite(assignments).all():
        row, hole = np.argwhere(~np.isfinite(assignments))[0]
        raise AssignmentError(f"assignment {row} has {assignments[row, hole]} for ?{program.machine.hole_names[hole]}")
    holes = np.ascontiguousarray(assignments.T, dtype=np.float64)  # [H, K]
    count = len(assignments)
    nodes = np.full((residual.envs, count), tables.start, np.int32)
    moving = np.zeros((residual.envs, tables.dynamic, count))
    for unfinished in residual.past:
        compiled.move_on(program.compiled, unfinished.entries, unfinished.chosen, holes, nodes, moving)
    entries = residual.entries
    paid, gradients, contribution, rule, clash = compiled.pay(
        program.compiled, entries, holes, nodes, moving, coefficients=coefficients, by_rule=by_rule
    )
    if clash[0] >= 0:
        entry, first, second, row = (int(number) for number in clash)
        values = dict(zip(program.machine.hole_names, assignments[row].tolist(), strict=True))
        raise clash_error(program, int(entries.step[entry]), int(entries.env[entry]), first, second, values)
    return Paid(
        residual.steps,
        residual.envs,
        entries.step,
        entries.env,
        paid.T,
        rule.T,
        Coefficients((count, len(entries), tables.holes), *gradients) if gradients else None,
        None if contribution is None else contribution.T,
    )


def assignment_of(
    machine: Machine, values: Mapping[str, float] | None = None, *, outside_constraint: bool = False
) -> Floats:
    """One number for each hole in the machine's order, [H]: the given values, or those written in the machine.

    Values outside their spaces are refused, and those outside the machine's first constraint unless `outside_constraint`
    asks for them.
    """
    # A finite number for each hole
    by_name = machine.values() if values is None else values
    missing = [f"?{name}" for name in machine.hole_names if name not in by_name]
    unknown = [f"?{name}" for name in by_name if name not in machine.hole_names]
    if missing or unknown:
        reasons = [f"no value for {', '.join(missing)}"] * bool(missing) + [
            f"no such hole: {', '.join(unknown)}"
        ] * bool(unknown)
        raise AssignmentError(f"machine {machine.name}: {'; '.join(reasons)}")
    assignment = np.array([by_name[name] for name in machine.hole_names], np.float64)
    if not np.isfinite(assignment).all():
        bad = machine.hole_names[int(np.flatnonzero(~np.isfinite(assignment))[0])]
        raise AssignmentError(f"machine {machine.name}: ?{bad} is {by_name[bad]}, which is not a finite number")

    # Inside its space, and all of them inside the constraint
    for within in machine.spaces:
        if by_name[within.hole] not in within.space:
            raise AssignmentError(
                f"machine {machine.name}: ?{within.hole} is {number_text(by_name[within.hole])}, which breaks {within}; "
                "take a value inside it, or widen the space"
            )
    constraint = machine.constraint()
    if constraint is not None and not outside_constraint:
        broken = broken_atoms(machine, constraint, assignment)
        if broken:
            raise AssignmentError(
                f"machine {machine.name}: the values break {broken[0]}"
                f"{f' and {len(broken) - 1} more' if len(broken) > 1 else ''} of constraint {constraint.name}; "
                "mend them, or put first the constraint that they are to keep"
            )
    return assignment


def linear(machine: Machine, constraint: Constraint | None) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """The spaces and the constraint as `A @ h <= b`, with a flag on rows that are equalities: A [rows, H], b [rows]."""
    rows = machine.rows(constraint)
    a = np.array([[float(row.coefficients.get(name, 0)) for name in machine.hole_names] for row in rows])
    b = np.array([float(row.bound) for row in rows])
    return a.reshape(len(rows), len(machine.holes)), b, np.array([row.equality for row in rows], np.bool_)


def broken_atoms(machine: Machine, constraint: Constraint, assignment: Floats, *, slack: float = 1e-6) -> list[str]:
    """The atoms the assignment breaks by more than rounding, as they are written."""
    a, b, equality = linear(machine, constraint)
    excess = a @ assignment - b
    excess = np.where(equality, np.abs(excess), excess)
    scale = 1 + np.abs(a) @ np.abs(assignment)
    rows = machine.rows(constraint)
    return list(dict.fromkeys(str(rows[i].atom) for i in np.flatnonzero(excess > slack * scale)))
