"""Whole numbers for the holes whose space asks for them, as near to an assignment as the constraint allows.

Inference moves through real numbers. What it writes into a machine is found by branch and bound: project; where a hole is not
whole, forbid the numbers between the two whole ones around it, and project onto either side. A machine has few such holes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srm.errors import AssignmentError
from srm.infer.project import Floats, Polytope
from srm.machine.model import Machine

NEARLY = 1e-7  # what a projection onto a whole number may miss it by


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
        found = _nearest(half, z, whole, within)
        if found is not None:
            best, within = found, float(((found - z) ** 2).sum())
    return best
