"""The projection onto a constraint: inside, nearest, and with the right slope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srm.errors import AssignmentError
from srm.infer.project import Polytope
from srm.infer.rounding import DECIMALS, tidy
from srm.machine.language.parse import find_machine, parse

NAMES = ("doorkey", "keycorridor", "obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3")


def polytope(name: str, constraint: str | None = None) -> Polytope:
    machine = find_machine(name)
    return Polytope.of(machine, machine.constraint(constraint))


def test_the_nearest_point_by_hand() -> None:
    machine = parse("machine m\nholes ?a ?b\nstart s\n  go // ?a + ?b\nconstraint\n  ?a <= ?b\n")
    allowed = Polytope.of(machine, machine.constraint())
    assert allowed.project(np.array([3.0, 1.0])).tolist() == pytest.approx([2, 2])  # onto the line a = b
    assert allowed.project(np.array([1.0, 3.0])).tolist() == [1, 3]  # already inside
    points, slopes = allowed.project_all(np.array([[3.0, 1.0], [1.0, 3.0]]))
    assert points.tolist() == [pytest.approx([2, 2]), [1, 3]]
    assert slopes[0].tolist() == [pytest.approx([0.5, 0.5])] * 2  # both move by half of either
    assert slopes[1].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_inside_and_no_allowed_point_is_nearer(name: str) -> None:
    allowed, rng = polytope(name), np.random.default_rng(0)
    holes = allowed.a.shape[1]
    points, _ = allowed.project_all(rng.normal(size=(200, holes)))
    assert allowed.excess(points).max() < 1e-9
    for z in rng.normal(size=(20, holes)):
        distance = np.linalg.norm(allowed.project(z) - z)
        assert (np.linalg.norm(points - z, axis=1) >= distance - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_small_moves(name: str) -> None:
    allowed, rng = polytope(name), np.random.default_rng(1)
    holes = allowed.a.shape[1]
    for z in rng.normal(size=(10, holes)):
        points, slopes = allowed.project_all(z[None])
        for j in range(holes):
            moved = allowed.project(z + 1e-7 * np.eye(holes)[j])
            assert (moved - points[0]) / 1e-7 == pytest.approx(slopes[0][:, j], abs=1e-4)


@given(st.lists(st.floats(-5, 5), min_size=5, max_size=5))
def test_what_is_written_has_few_decimals_and_keeps_the_constraint(z: list[float]) -> None:
    allowed = polytope("doorkey")
    written = tidy(allowed, allowed.project(np.array(z)))
    assert allowed.excess(written).max() <= 0
    assert (np.round(written, DECIMALS) == written).all()
    assert np.abs(written - allowed.project(np.array(z))).max() < 10.0**-DECIMALS * 20


def test_an_equality_is_kept_exactly_enough() -> None:
    allowed = polytope("obstructedmaze_3", "signs_printed")  # ?close at most and at least 0
    assert abs(allowed.project(np.ones(12))[2]) < 1e-12


def test_holes_are_coupled_through_atoms_and_through_each_other() -> None:
    text = "machine m\nholes ?a ?b ?c ?d ?e\nstart s\n  go // ?a + ?b + ?c + ?d + ?e\nconstraint\n"
    machine = parse(text + "  ?a <= ?b\n  ?b <= ?c\n  ?d >= 0\n")
    allowed, each = Polytope.of(machine, machine.constraint()), np.eye(5, dtype=np.bool_)
    assert allowed.coupled(each[0]).tolist() == [True, True, True, False, False]
    assert allowed.coupled(each[3]).tolist() == each[3].tolist()
    assert allowed.coupled(each[4]).tolist() == each[4].tolist()
    assert not Polytope.of(machine, None).coupled(each[0])[1:].any()


def test_a_constraint_that_nothing_meets_is_refused() -> None:
    machine = parse("machine m\nholes ?a\nstart s\n  go // ?a\nconstraint\n  ?a >= 1\n  ?a <= 0\n")
    with pytest.raises(AssignmentError, match="cannot be met"):
        Polytope.of(machine, machine.constraint())


def test_without_a_constraint_everything_is_allowed() -> None:
    allowed = Polytope.of(find_machine("doorkey"), None)
    assert allowed.project(np.arange(5.0)).tolist() == [0, 1, 2, 3, 4]
