"""What is known of the holes before any demonstration: uniform on the constraint's polytope within the assignment spaces.

    H holes   D = H + 1 coordinates: the holes and the idle constant c   K points   J inequalities

A sampler moves along lines, so the prior answers one geometric question exactly: how far a line can be followed before it leaves
the polytope (`chords`). Equalities, written or implied (two atoms that pin a hole), leave fewer free directions; a direction is
brought into the span of those that are left. A whole-number hole is rounded before the machine sees it: its coordinate moves
freely between the half numbers around it, and atoms that read it are asked of the rounded value (`inside`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import quadprog

from srm.errors import AssignmentError
from srm.evaluate.batched import linear
from srm.machine.model import DEFAULT_SPACE, Constraint, Machine, Space

Floats = npt.NDArray[np.float64]
IDLE_SPACE = Space(-10.0, 10.0)  # of c, which lines pay up with log-probabilities: wide enough never to bind
THIN = 1e-7  # an inequality with less room than this everywhere is an equality


@dataclass(frozen=True, eq=False)
class Prior:
    """Uniform on {x : a x <= b, e x = f}; the last coordinate is c."""

    a: Floats  # [J, D] inequalities that every point keeps
    b: Floats  # [J]
    checked_a: Floats  # [.., D] inequalities that read a whole-number hole: kept by the rounded point
    checked_b: Floats
    free: Floats  # [D, D] projector onto the directions that the equalities leave
    whole: npt.NDArray[np.bool_]  # [D]
    centre: Floats  # [D] a point with room on every side

    @staticmethod
    def of(machine: Machine, constraint: Constraint | None) -> Prior:
        """Refuses a constraint that has no assignment in common with the spaces."""
        whole = np.array([space.whole for space in spaces(machine)] + [False])
        a, b, equality = linear(machine, constraint)
        a = np.pad(a, ((0, 0), (0, 1)))
        box_a, box_b = _box(machine)
        reads_whole = (a[:, whole] != 0).any(axis=1)
        kept = ~equality & ~reads_whole
        inequalities = np.concatenate([box_a, a[kept]]), np.concatenate([box_b, b[kept]])
        equalities = a[equality], b[equality]
        centre, room = _centre(*inequalities, *equalities, machine, constraint)
        if room < THIN:  # some inequalities are equalities in disguise
            thin = np.array([_most_room(*inequalities, *equalities, row) < THIN for row in range(len(inequalities[0]))])
            equalities = (
                np.concatenate([equalities[0], inequalities[0][thin]]),
                np.concatenate([equalities[1], inequalities[1][thin]]),
            )
            inequalities = inequalities[0][~thin], inequalities[1][~thin]
            centre, _ = _centre(*inequalities, *equalities, machine, constraint)
        free = np.eye(a.shape[1]) - np.linalg.pinv(equalities[0]) @ equalities[0]
        return Prior(*inequalities, a[~equality & reads_whole], b[~equality & reads_whole], free, whole, centre)

    @property
    def dimensions(self) -> int:
        return len(self.centre)

    def shown(self, x: Floats) -> Floats:
        """The points [K, D] as the machine sees them: whole-number holes rounded."""
        return np.where(self.whole, np.round(x), x) if self.whole.any() else x

    def inside(self, shown: Floats) -> npt.NDArray[np.bool_]:
        """Whether the atoms that read whole-number holes are kept, [K]."""
        return np.all(shown @ self.checked_a.T <= self.checked_b + 1e-9, axis=1)

    def chords(self, x: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """The interval of t within which x + t * direction keeps every inequality: low [K] <= 0 <= high [K]."""
        room = np.maximum(self.b - x @ self.a.T, 0.0)  # [K, J]
        slope = direction @ self.a.T
        with np.errstate(divide="ignore", invalid="ignore"):
            t = room / slope
        high = np.where(slope > 1e-14, t, np.inf).min(axis=1)
        low = np.where(slope < -1e-14, t, -np.inf).max(axis=1)
        return low, high


def spaces(machine: Machine) -> tuple[Space, ...]:
    """Where each hole may lie: its declared space, or the default."""
    return tuple(hole.space or DEFAULT_SPACE for hole in machine.holes)


def _box(machine: Machine) -> tuple[Floats, Floats]:
    """The spaces as inequalities; a whole number's are wider by the half that rounds to its ends."""
    listed = (*spaces(machine), IDLE_SPACE)
    margin = np.array([0.5 * space.whole for space in listed])
    eye = np.eye(len(listed))
    high, low = np.array([space.high for space in listed]), np.array([space.low for space in listed])
    return np.concatenate([eye, -eye]), np.concatenate([high + margin, margin - low])


def _centre(
    a: Floats, b: Floats, e: Floats, f: Floats, machine: Machine, constraint: Constraint | None
) -> tuple[Floats, float]:
    """A point as deep inside as a small quadratic term allows, and its distance to the nearest face.

    max r - tiny (|x|^2 + r^2) / 2 subject to a x + |a| r <= b and e x = f: quadprog's active set in some 50 microseconds.
    """
    dimensions = a.shape[1]
    tiny = 1e-6
    norms = np.linalg.norm(a, axis=1)
    rows = np.concatenate([np.pad(e, ((0, 0), (0, 1))), np.column_stack([a, norms])])
    rows = np.concatenate([rows, np.append(np.zeros(dimensions), -1.0)[None]])  # r >= 0
    bounds = np.concatenate([f, b, [0.0]])
    try:
        solved = quadprog.solve_qp(
            tiny * np.eye(dimensions + 1), np.append(np.zeros(dimensions), 1.0), -rows.T.copy(), -bounds, len(e)
        )[0]
    except ValueError:
        name = f"constraint {constraint.name}" if constraint else "the constraint"
        raise AssignmentError(
            f"machine {machine.name}: {name} allows nothing within the holes' assignment spaces "
            f"({DEFAULT_SPACE} where none is declared); widen a space (`holes ?name in LOW .. HIGH`), "
            "or change the atom that leaves it (`srm check` shows which)"
        ) from None
    return solved[:-1], float(solved[-1])


def _most_room(a: Floats, b: Floats, e: Floats, f: Floats, row: int) -> float:
    """How far a row can be from its bound inside the polytope."""
    tiny = 1e-6
    solved = quadprog.solve_qp(
        tiny * np.eye(a.shape[1]), -a[row], -np.concatenate([e, a]).T.copy(), -np.concatenate([f, b]), len(e)
    )[0]
    return float(b[row] - a[row] @ solved)
