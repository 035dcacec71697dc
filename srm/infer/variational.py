"""What Algorithm 1 and the baselines return besides a machine: q summarised, and how often each hole was paid.

    S draws of q, each brought inside the constraint   H holes

The spread is the width of the variational q, no error bar. `tidy` brings any assignment inside the constraint with few decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from srm.errors import AssignmentError
from srm.evaluate import batched, symbolic
from srm.infer.belief import Belief
from srm.infer.project import TIGHT, Floats, Polytope
from srm.infer.whole import pin, whole_holes
from srm.machine.holes import Constraint
from srm.machine.model import Machine

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 2000
DECIMALS = 4  # of the values written into a machine


@dataclass(frozen=True)
class HolePosterior:
    """What is believed of one hole, and how often the pay of a step depended on it."""

    name: str
    value: float
    spread: float
    quantiles: tuple[float, ...]  # at QUANTILES
    demonstrated: int  # steps of the demonstrations
    played: int  # steps of the policy's play at the end

    @property
    def exercised(self) -> bool:
        return self.demonstrated + self.played > 0


@dataclass(frozen=True)
class Posterior:
    holes: tuple[HolePosterior, ...]
    margin: float | None  # of the atom nearest to being broken; None without a constraint

    @property
    def unexercised(self) -> tuple[str, ...]:
        return tuple(hole.name for hole in self.holes if not hole.exercised)


def posterior(
    machine: Machine,
    constraint: Constraint | None,
    belief: Belief,
    demonstrated: Sequence[int],
    played: Sequence[int],
    chance: np.random.Generator,
) -> Posterior:
    """Draws from q, each brought inside the constraint, summarised hole by hole, with the steps [H] that exercised each."""
    polytope = Polytope.of(machine, constraint)
    draws = belief.mean + belief.spread * chance.standard_normal((DRAWS, len(machine.holes)))
    shown = np.array([polytope.project(row) for row in draws]).reshape(draws.shape)
    values = tidy(polytope, belief.mode, whole_holes(machine))
    quantiles = np.quantile(shown, QUANTILES, axis=0) if len(machine.holes) else np.zeros((len(QUANTILES), 0))
    holes = tuple(
        HolePosterior(
            name,
            float(values[i]),
            float(round(shown[:, i].std(), DECIMALS)),
            tuple(float(q) for q in quantiles[:, i]),
            demonstrated[i],
            played[i],
        )
        for i, name in enumerate(machine.hole_names)
    )
    margin = float(-polytope.excess(values).max()) if len(polytope.a) else None
    return Posterior(holes, margin)


def exercised(residual: symbolic.Residual, assignment: Floats) -> list[int]:
    """On how many steps the pay depends on each hole, [H]."""
    paid = batched.pay(residual, assignment[None], coefficients=True)
    assert paid.coefficients is not None
    counts: list[int] = (paid.coefficients.dense()[0] != 0).sum(axis=0).tolist()
    return counts


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
