"""Assignments that keep a constraint and know nothing else: what a learnt assignment has to beat.

uniform   drawn uniformly from what the constraint and the spaces allow; holes without a space stay in a box around 0
penalty   a random point moved by gradients of J_con alone until the constraint holds, as in the paper's appendix
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from srm.errors import AssignmentError
from srm.infer.algorithm1.objectives import loss_con
from srm.infer.project import Floats, Polytope
from srm.infer.rounding import tidied
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.seeding import stream

How = Literal["uniform", "penalty"]
BOX = 1.0  # no hole is further from 0: a cone has no uniform distribution
STEPS_PER_HOLE = 200  # of the walk: the correlation of successive points of it falls within some tens


def filled(machine: Machine, constraint: Constraint | None, how: How, which: int) -> Machine:
    """The machine with assignment number `which` of those that can be drawn."""
    polytope = Polytope.of(machine, constraint)
    rng = stream(which, f"{how} holes")
    count = len(machine.holes)
    if how == "uniform":
        drawn = uniform(polytope, count, rng, [hole.space is None for hole in machine.holes])
    else:
        drawn = by_penalty(polytope, count, rng)
    values = tidied(machine, constraint, drawn)
    return machine.concretize(dict(zip(machine.hole_names, values.tolist(), strict=True)))


def uniform(polytope: Polytope, holes: int, rng: np.random.Generator, boxed: Sequence[bool] | None = None) -> Floats:
    """Hit and run: from a point well inside, again and again to a uniform point of a random line through it.

    The holes that are `boxed` (all, if it is not said) stay within the box.
    """
    sides = np.eye(holes)[np.ones(holes, np.bool_) if boxed is None else np.array(boxed, np.bool_)]
    a, b = polytope.bounds
    a, b = np.concatenate([a, sides, -sides]), np.concatenate([b, np.full(2 * len(sides), BOX)])
    point = _middle(a, b)
    for _ in range(STEPS_PER_HOLE * holes):
        along = rng.standard_normal(holes)
        approach, room = a @ along, b - a @ point
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = room / approach
        most, least = reach[approach > 0].min(), reach[approach < 0].max()
        point = point + rng.uniform(least, most) * along
    return point


def _middle(a: Floats, b: Floats) -> Floats:
    """The centre of the largest ball inside {h : a h <= b}."""
    from scipy.optimize import linprog

    holes = a.shape[1]
    wide = np.column_stack([a, np.linalg.norm(a, axis=1)])
    solution = linprog([*np.zeros(holes), -1.0], A_ub=wide, b_ub=b, bounds=[(None, None)] * holes + [(0, None)])
    if not solution.success:
        raise AssignmentError(
            f"the constraint allows nothing with every hole between {-BOX:g} and {BOX:g}, where uniform values are drawn; "
            "write the spaces of the holes, or take --holes penalty"
        )
    if solution.x[-1] < 1e-6:
        raise AssignmentError(
            "the constraint pins a hole to one value, so nothing can be drawn uniformly from it; take --holes penalty"
        )
    middle: Floats = solution.x[:-1]
    return middle


def by_penalty(polytope: Polytope, holes: int, rng: np.random.Generator) -> Floats:
    """Adam on J_con from a standard normal point; what is then still broken by a hair is brought inside exactly."""
    mean = torch.from_numpy(rng.standard_normal(holes)).requires_grad_()
    a, b = map(torch.from_numpy, polytope.bounds)
    adam = torch.optim.Adam([mean], lr=1e-2)
    for _ in range(5000):
        if bool((polytope.excess(mean.detach().numpy()) <= 1e-3).all()):
            break
        adam.zero_grad()
        loss_con(mean, a, b).backward()
        adam.step()
    return polytope.project(mean.detach().numpy())
