"""The nearest assignment that a constraint allows: min |h - z|^2 subject to A h <= b (some rows equalities).

A quadratic program of at most some 20 unknowns, solved exactly by quadprog's active set method in about 20 microseconds. Where the
constraint has no interior (an equality, or two atoms that pin a hole) it is solved all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import quadprog

from srm.errors import AssignmentError
from srm.evaluate.batched import linear
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.trajectory import Mask

Floats = npt.NDArray[np.float64]
TIGHT = 1e-9  # an atom this close to its bound is met with equality


@dataclass(frozen=True, eq=False)
class Polytope:
    """{h : A h <= b}, with the equalities first."""

    a: Floats  # [rows, H]
    b: Floats  # [rows]
    equalities: int
    _jacobians: dict[frozenset[int], Floats] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(machine: Machine, constraint: Constraint | None) -> Polytope:
        a, b, equality = linear(machine, constraint)
        order = np.argsort(~equality, kind="stable")
        polytope = Polytope(a[order], b[order], int(equality.sum()))
        polytope.project(np.zeros(len(machine.holes)))  # refuses a constraint that nothing meets
        return polytope

    def project(self, z: Floats) -> Floats:
        """The nearest point [H] to z [H]."""
        return self._solve(z)[0]

    def project_all(self, z: Floats) -> tuple[Floats, Floats]:
        """The nearest points [K, H] to z [K, H], and how each moves with its z: Jacobians [K, H, H]."""
        points, jacobians = np.empty_like(z), np.empty((*z.shape, z.shape[1]))
        for k, row in enumerate(z):
            points[k], active = self._solve(row)
            jacobians[k] = self._jacobian(frozenset(active.tolist()))
        return points, jacobians

    def _jacobian(self, active: frozenset[int]) -> Floats:
        """Moving along an active bound is free, moving into it is not: the projector onto the null space of those rows."""
        if active not in self._jacobians:  # few sets occur, and a pseudo-inverse takes longer than a projection
            rows = self.a[sorted(active)]
            self._jacobians[active] = np.eye(self.a.shape[1]) - np.linalg.pinv(rows) @ rows
        return self._jacobians[active]

    def coupled(self, holes: Mask) -> Mask:
        """These holes [H] and all whose move can move one of them: holes of one atom are coupled, and so is what they are coupled with."""
        reached = holes.copy()
        rows = self.a != 0
        while True:
            further = reached | rows[(rows & reached).any(axis=1)].any(axis=0)
            if (further == reached).all():
                return reached
            reached = further

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """A and b of the same set by inequalities alone: an equality is two of them."""
        equal = slice(self.equalities)
        return np.concatenate([self.a, -self.a[equal]]), np.concatenate([self.b, -self.b[equal]])

    def excess(self, h: Floats) -> Floats:
        """By how much each row is broken, [..., rows]; at most 0 where it is kept."""
        over: Floats = h @ self.a.T - self.b
        over[..., : self.equalities] = np.abs(over[..., : self.equalities])
        return over

    def _solve(self, z: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
        if len(self.a) == 0:
            return z.copy(), np.zeros(0, np.int64)
        try:
            point, *_, active = quadprog.solve_qp(np.eye(len(z)), z, -self.a.T.copy(), -self.b, self.equalities)
        except ValueError as error:
            raise AssignmentError(
                f"the constraint cannot be met ({error}); `srm check` shows which atoms contradict each other"
            ) from None
        return point, active[active > 0].astype(np.int64) - 1
