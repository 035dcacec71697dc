"""What Algorithm 1 and the baselines return besides a machine: q summarised, and how often each hole was paid.

    S draws of q, each brought inside the constraint   H holes

The spread is the width of the variational q, no error bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from srm.evaluate import batched, symbolic
from srm.infer.belief import Belief
from srm.infer.project import Floats, Polytope
from srm.infer.rounding import DECIMALS, tidy, whole_holes
from srm.machine.holes import Constraint
from srm.machine.model import Machine

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 2000


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
class VariationalSummary:
    """What q says of a machine's holes."""

    holes: tuple[HolePosterior, ...]
    margin: float | None  # of the atom nearest to being broken; None without a constraint

    @property
    def unexercised(self) -> tuple[str, ...]:
        return tuple(hole.name for hole in self.holes if not hole.exercised)


def summarise_q(
    machine: Machine,
    constraint: Constraint | None,
    belief: Belief,
    demonstrated: Sequence[int],
    played: Sequence[int],
    rng: np.random.Generator,
) -> VariationalSummary:
    """Draws from q, each brought inside the constraint, summarised hole by hole, with the steps [H] that exercised each."""
    polytope = Polytope.of(machine, constraint)
    draws = belief.mean + belief.spread * rng.standard_normal((DRAWS, len(machine.holes)))
    allowed = np.array([polytope.project(row) for row in draws]).reshape(draws.shape)
    values = tidy(polytope, belief.mode, whole_holes(machine))
    quantiles = np.quantile(allowed, QUANTILES, axis=0) if len(machine.holes) else np.zeros((len(QUANTILES), 0))
    holes = tuple(
        HolePosterior(
            name,
            float(values[i]),
            float(round(allowed[:, i].std(), DECIMALS)),
            tuple(float(q) for q in quantiles[:, i]),
            demonstrated[i],
            played[i],
        )
        for i, name in enumerate(machine.hole_names)
    )
    margin = float(-polytope.excess(values).max()) if len(polytope.a) else None
    return VariationalSummary(holes, margin)


def exercised(residual: symbolic.Residual, assignment: Floats) -> list[int]:
    """On how many steps the pay depends on each hole, [H]."""
    paid = batched.pay(residual, assignment[None], coefficients=True)
    assert paid.coefficients is not None
    counts: list[int] = (paid.coefficients.dense()[0] != 0).sum(axis=0).tolist()
    return counts
