"""Numbers fit to be written into a machine: few decimals, whole numbers where a space asks for them, inside the constraint.

Inference moves through real numbers. Whole numbers as near to an assignment as the constraint allows are found by branch and bound:
project; where a hole is not whole, forbid the numbers between the two whole ones around it, and project onto either side. A machine
has few such holes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srm.errors import AssignmentError
from srm.infer.project import TIGHT, Floats, Polytope
from srm.machine.holes import Constraint
from srm.machine.model import Machine

DECIMALS = 4
NEARLY = 1e-7  # what a projection onto a whole number may miss it by


def tidied(machine: Machine, constraint: Constraint | None, assignment: Floats) -> Floats:
    """The assignment [H] as it is written into the machine."""
    return tidy(Polytope.of(machine, constraint), assignment, whole_holes(machine))


def tidy(polytope: Polytope, assignment: Floats, whole: Sequence[int] = ()) -> Floats:
    """The assignment with few decimals (none at the holes that are `whole`), and still inside the constraint.

    The mode often lies on a bound, where rounding would break an atom. So it is first brought inside a polytope that is smaller by
    what rounding can do; where that is empty, or rounding breaks an equality, the numbers keep all their decimals.
    """
    pinned = pin(polytope, assignment, whole) if whole else polytope
    rounding = 0.5 * 10.0**-DECIMALS * np.delete(np.abs(pinned.a), list(whole), axis=1).sum(axis=1)
    rounding[: pinned.equalities] = 0
    smaller = Polytope(pinned.a, pinned.b - rounding, pinned.equalities)
    unrounded = pinned.project(assignment)
    unrounded[list(whole)] = np.round(unrounded[list(whole)])
    try:
        rounded: Floats = np.round(smaller.project(assignment), DECIMALS) + 0.0
    except AssignmentError:
        return unrounded
    return rounded if (polytope.excess(rounded) <= TIGHT).all() else unrounded


def whole_holes(machine: Machine) -> tuple[int, ...]:
    """Which holes are whole numbers."""
    return tuple(i for i, hole in enumerate(machine.holes) if hole.space is not None and hole.space.whole)


def pin(polytope: Polytope, assignment: Floats, whole: Sequence[int]) -> Polytope:
    """The polytope with these holes held at whole numbers, those of its point nearest to the assignment [H]."""
    point = _nearest(polytope, assignment, np.array(whole), np.inf)
    if point is None:
        raise AssignmentError("the constraint leaves no whole numbers for the holes that ask for them; widen a space")
    rows = np.eye(len(assignment))[list(whole)]
    b = np.concatenate([np.round(point[list(whole)]), polytope.b])
    return Polytope(np.concatenate([rows, polytope.a]), b, len(rows) + polytope.equalities)


def _nearest(polytope: Polytope, z: Floats, whole: np.ndarray, within: float) -> Floats | None:
    """The point [H] nearest to z [H] with whole numbers at `whole`; None if there is none nearer than `within`."""
    try:
        point = polytope.project(z)
    except AssignmentError:
        return None
    if ((point - z) ** 2).sum() >= within:
        return None
    off = np.abs(point[whole] - np.round(point[whole]))
    if off.max() <= NEARLY:
        return point
    hole = whole[off.argmax()]
    row = np.eye(len(z))[hole]
    best = None
    for side, bound in ((row, np.floor(point[hole])), (-row, -np.ceil(point[hole]))):
        half = Polytope(np.vstack([polytope.a, side]), np.append(polytope.b, bound), polytope.equalities)
        candidate = _nearest(half, z, whole, within)
        if candidate is not None:
            best, within = candidate, float(((candidate - z) ** 2).sum())
    return best
