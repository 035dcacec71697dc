"""What is known of the holes before any demonstration: uniform on the constraint's polytope within the assignment spaces.

    H holes   D = H + 1 coordinates: the holes and the idle constant c   K points   J inequalities

A sampler moves along lines, so the prior answers one geometric question exactly: how far a line can be followed before it leaves
the polytope (`chords`). Equalities, written or implied (two atoms that pin a hole), leave fewer free directions; a direction is
brought into the span of those that are left. A whole-number hole is rounded before the machine sees it: its coordinate moves
freely between the half numbers around it, and atoms that read it are asked of the rounded value (`inside`). A hole that an equality
ties to a whole number is moved along with the rounding (`lift`), so that the equality holds of what the machine sees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from srm.errors import AssignmentError
from srm.evaluate.batched import linear
from srm.infer.project import Polytope
from srm.infer.rounding import pin, whole_holes
from srm.machine.holes import DEFAULT_SPACE, Constraint, Space
from srm.machine.model import Machine

Floats = npt.NDArray[np.float64]
IDLE_SPACE = Space(-10.0, 10.0)  # of c, which lines pay up with log-probabilities: wide enough never to bind
THIN = 1e-6  # an inequality with less room than this everywhere is an equality


@dataclass(frozen=True, eq=False)
class Prior:
    """Uniform on {x : a x <= b, e x = f}; the last coordinate is c."""

    a: Floats  # [J, D] inequalities that every point keeps
    b: Floats  # [J]
    checked_a: Floats  # [.., D] inequalities that depend on a whole-number hole: kept by the rounded point
    checked_b: Floats
    free: Floats  # [D, D] projector onto the directions that the equalities leave
    whole: npt.NDArray[np.bool_]  # [D]
    lift: Floats  # [D, D] how each coordinate moves when a whole-number hole is rounded by 1
    centre: Floats  # [D] a point with room on every side

    @staticmethod
    def of(machine: Machine, constraint: Constraint | None) -> Prior:
        """Refuses a constraint that has no assignment in common with the spaces."""
        whole = np.array([space.whole for space in spaces(machine)] + [False])
        a, b, e, f = _rows(machine, constraint)
        lift = np.zeros((len(whole),) * 2)
        lift[np.ix_(~whole, whole)] = np.linalg.pinv(e[:, ~whole]) @ e[:, whole]
        tied = whole | (np.abs(lift) > 1e-9).any(axis=1)  # depends on a rounding
        checked, same = (a[:, tied] != 0).any(axis=1), (e[:, whole] != 0).any(axis=1)
        wide_a, wide_b = _box(machine, 0.5 * (whole + np.abs(lift).sum(axis=1)))
        wide = (wide_a[:, tied] != 0).any(axis=1)
        return Prior(
            np.concatenate([a[~checked], wide_a[wide]]),
            np.concatenate([b[~checked], wide_b[wide]]),
            np.concatenate([a[checked], e[same], -e[same]]),
            np.concatenate([b[checked], f[same], -f[same]]),
            np.eye(len(whole)) - np.linalg.pinv(e) @ e,
            whole,
            lift,
            _start(a, b, e, f, machine, constraint),
        )

    @property
    def dimensions(self) -> int:
        return len(self.centre)

    def rounded(self, x: Floats) -> Floats:
        """The points [K, D] as the machine sees them: whole-number holes rounded."""
        if not self.whole.any():
            return x
        nearest = np.where(self.whole, np.round(x), x)
        return nearest + (x - nearest) @ self.lift.T

    def inside(self, rounded: Floats) -> npt.NDArray[np.bool_]:
        """Whether the atoms that depend on whole-number holes are kept, [K]."""
        return np.all(rounded @ self.checked_a.T <= self.checked_b + 1e-9, axis=1)

    def chords(self, x: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """The interval of t within which x + t * direction keeps every inequality: low [K] <= 0 <= high [K]."""
        room = np.maximum(self.b - x @ self.a.T, 0.0)  # [K, J]
        approach = direction @ self.a.T  # [K, J] how fast each bound comes nearer
        with np.errstate(divide="ignore", invalid="ignore"):
            t = room / approach
        high = np.where(approach > 1e-14, t, np.inf).min(axis=1)
        low = np.where(approach < -1e-14, t, -np.inf).max(axis=1)
        return low, high


def spaces(machine: Machine) -> tuple[Space, ...]:
    """Where each hole may lie: its declared space, or the default."""
    return tuple(hole.space or DEFAULT_SPACE for hole in machine.holes)


def _box(machine: Machine, margin: Floats) -> tuple[Floats, Floats]:
    """The spaces, wider by a margin [D] on both sides, as inequalities."""
    listed = (*spaces(machine), IDLE_SPACE)
    eye = np.eye(len(listed))
    high, low = np.array([space.high for space in listed]), np.array([space.low for space in listed])
    return np.concatenate([eye, -eye]), np.concatenate([high + margin, margin - low])


def _rows(machine: Machine, constraint: Constraint | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Inequalities a x <= b and equalities e x = f, written or implied, of spaces and constraint; no two equalities say the same."""
    listed, bounds, equality = linear(machine, constraint)
    listed = np.pad(listed, ((0, 0), (0, 1)))
    box_a, box_b = _box(machine, np.zeros(listed.shape[1]))
    a, b = np.concatenate([box_a, listed[~equality]]), np.concatenate([box_b, bounds[~equality]])
    e, f = _independent(listed[equality], bounds[equality], machine, constraint)
    _, room = _centre(a, b, e, f, machine, constraint)
    if room < THIN:  # some inequalities are equalities in disguise
        thin = np.array([_most_room(a, b, e, f, row) < THIN for row in range(len(a))])
        e, f = _independent(np.concatenate([e, a[thin]]), np.concatenate([f, b[thin]]), machine, constraint)
        a, b = a[~thin], b[~thin]
    return a, b, e, f


def _independent(e: Floats, f: Floats, machine: Machine, constraint: Constraint | None) -> tuple[Floats, Floats]:
    """The same equalities without those that follow from others, which a solver may take for a contradiction."""
    u, sizes, v = np.linalg.svd(e, full_matrices=False)
    kept = sizes > 1e-9 * sizes.max(initial=0.0)
    rows = v[kept]
    bounds = (u[:, kept].T @ f) / sizes[kept]
    if np.abs(e @ (rows.T @ bounds) - f).max(initial=0.0) > 1e-6:
        raise _empty(machine, constraint)
    return rows, bounds


def _start(a: Floats, b: Floats, e: Floats, f: Floats, machine: Machine, constraint: Constraint | None) -> Floats:
    """A point with room on every side, whose whole-number holes are whole numbers."""
    centre, _ = _centre(a, b, e, f, machine, constraint)
    whole = whole_holes(machine)
    if not whole:
        return centre
    pinned = pin(Polytope.of(machine, constraint), centre[:-1], whole)
    rows = np.eye(len(centre))[list(whole)]
    e, f = _independent(np.concatenate([e, rows]), np.concatenate([f, pinned.b[: len(whole)]]), machine, constraint)
    free = np.delete(a, list(whole), axis=1).any(axis=1)  # the others keep the whole numbers, or leave no room to them
    return _centre(a[free], b[free], e, f, machine, constraint)[0]


def _centre(
    a: Floats, b: Floats, e: Floats, f: Floats, machine: Machine, constraint: Constraint | None
) -> tuple[Floats, float]:
    """A point as far from every face as can be, and its distance to the nearest: max r subject to a x + |a| r <= b and e x = f."""
    rows = np.column_stack([a, np.linalg.norm(a, axis=1)])
    goal = np.append(np.zeros(a.shape[1]), -1.0)
    solved = linprog(goal, rows, b, np.pad(e, ((0, 0), (0, 1))), f, bounds=(None, None))
    if solved.x is None or solved.x[-1] < -THIN:
        raise _empty(machine, constraint)
    return solved.x[:-1], float(solved.x[-1])


def _empty(machine: Machine, constraint: Constraint | None) -> AssignmentError:
    name = f"constraint {constraint.name}" if constraint else "the constraint"
    return AssignmentError(
        f"machine {machine.name}: {name} allows nothing within the holes' assignment spaces "
        f"({DEFAULT_SPACE} where none is declared); widen a space (`holes ?name in LOW .. HIGH`), "
        "or change the atom that leaves it (`srm check` shows which)"
    )


def _most_room(a: Floats, b: Floats, e: Floats, f: Floats, row: int) -> float:
    """How far a row can be from its bound inside the polytope."""
    return float(b[row] - linprog(a[row], a, b, e, f, bounds=(None, None)).fun)
