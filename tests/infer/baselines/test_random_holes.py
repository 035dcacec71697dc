from __future__ import annotations

import numpy as np
import pytest

from srm.errors import AssignmentError
from srm.infer.baselines.random_holes import by_penalty, filled, uniform
from srm.infer.project import Polytope
from srm.machine.language.parse import find_machine, library, parse

HOLED = [name for name in library() if not find_machine(name).is_concrete]


@pytest.mark.parametrize("how", ["uniform", "penalty"])
@pytest.mark.parametrize("name", HOLED)
def test_random_holes_keep_the_constraint_and_differ_from_draw_to_draw(name: str, how: str) -> None:
    machine = find_machine(name)
    constraint = machine.constraint()
    drawn = [filled(machine, constraint, how, which) for which in (0, 1, 2, 0)]  # type: ignore[arg-type]
    polytope = Polytope.of(machine, constraint)
    values = [np.array(list(one.values().values())) for one in drawn]
    assert all((polytope.excess(one) <= 0).all() for one in values)
    assert np.ptp(values[:3], axis=0).max() > 0.1
    assert values[0].tolist() == values[3].tolist()


def test_uniform_draws_have_the_moments_of_a_triangle() -> None:
    """0 <= a <= b <= 1: uniform on a triangle, with means 1/3 and 2/3, variances 1/18 and covariance 1/36."""
    machine = parse("machine m\nholes ?a ?b\nstart s\nconstraint c\n  0 <= ?a\n  ?a <= ?b\n")
    polytope, rng = Polytope.of(machine, machine.constraint()), np.random.default_rng(0)
    drawn = np.array([uniform(polytope, 2, rng) for _ in range(400)])
    assert drawn.mean(axis=0) == pytest.approx([1 / 3, 2 / 3], abs=0.05)
    assert np.cov(drawn.T) == pytest.approx(np.array([[1 / 18, 1 / 36], [1 / 36, 1 / 18]]), abs=0.015)


def test_the_penalty_moves_a_point_no_further_than_it_must() -> None:
    """From a point that already keeps the constraint J_con has no gradient."""
    machine = parse("machine m\nholes ?a\nstart s\nconstraint c\n  ?a <= 100\n")
    polytope = Polytope.of(machine, machine.constraint())
    assert by_penalty(polytope, 1, np.random.default_rng(3)) == pytest.approx(
        np.random.default_rng(3).standard_normal(1)
    )


def test_a_constraint_without_room_cannot_be_drawn_from_uniformly() -> None:
    machine = parse("machine m\nholes ?a ?b\nstart s\nconstraint c\n  ?a <= 0\n  0 <= ?a\n")
    polytope = Polytope.of(machine, machine.constraint())
    with pytest.raises(AssignmentError, match="pins a hole to one value"):
        uniform(polytope, 2, np.random.default_rng(0))
    assert by_penalty(polytope, 2, np.random.default_rng(0))[0] == pytest.approx(0)


def test_a_constraint_beyond_the_box_of_uniform_values_is_told() -> None:
    machine = parse("machine m\nholes ?a ?b\nstart s\nconstraint c\n  2 <= ?a\n")
    polytope = Polytope.of(machine, machine.constraint())
    with pytest.raises(
        AssignmentError, match="nothing with every hole between -1 and 1, where uniform values are drawn"
    ):
        uniform(polytope, 2, np.random.default_rng(0))
    assert by_penalty(polytope, 2, np.random.default_rng(0))[0] == pytest.approx(2, abs=1e-2)


@pytest.mark.parametrize("which", range(4))
def test_an_equality_is_kept_from_both_sides(which: int) -> None:
    machine = parse("machine m\nholes ?a ?b\nstart s\nconstraint c\n  ?a + ?b = 0.5\n")
    with pytest.raises(AssignmentError, match="take --holes penalty"):
        filled(machine, machine.constraint(), "uniform", which)
    values = filled(machine, machine.constraint(), "penalty", which).values()
    assert values["a"] + values["b"] == pytest.approx(0.5, abs=1e-9)
