"""Whole numbers are found for the holes that ask for them, as near as the constraint allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srm.errors import AssignmentError
from srm.infer.baselines.random_holes import filled
from srm.infer.project import Polytope
from srm.infer.rounding import pin, tidy, whole_holes
from srm.machine.holes import Constraint
from srm.machine.language.parse import parse
from srm.machine.model import Machine


def machine_of(holes: str, *atoms: str) -> Machine:
    return parse("\n  ".join([f"machine m\nholes {holes}\nstart s\nconstraint", *atoms]))


GRID = machine_of("?n in 0 .. 4 whole ?x in -1 .. 1 ?m in -3 .. 3 whole", "2 * ?n + 3 * ?m <= 4", "?x >= ?n - ?m - 2")


@given(st.lists(st.floats(-6, 6), min_size=3, max_size=3).map(np.array))
def test_the_nearest_of_all_whole_numbers_is_found(z: np.ndarray) -> None:
    polytope = Polytope.of(GRID, GRID.constraint())
    found = pin(polytope, z, whole_holes(GRID)).project(z)
    best = np.inf
    for n in range(5):
        for m in range(-3, 4):
            low = max(-1, n - m - 2)
            if 2 * n + 3 * m <= 4 and low <= 1:
                best = min(best, (n - z[0]) ** 2 + (np.clip(z[1], low, 1) - z[1]) ** 2 + (m - z[2]) ** 2)
    assert ((found - z) ** 2).sum() == pytest.approx(best, abs=1e-6)


def test_what_is_written_is_whole_to_the_last_digit() -> None:
    values = tidy(Polytope.of(GRID, GRID.constraint()), np.array([1.7, 0.123456, 0.3]), whole_holes(GRID))
    assert values.tolist() == [2.0, 0.1235, 0.0]


def test_a_constraint_between_two_whole_numbers_is_refused() -> None:
    machine = machine_of("?n in 0 .. 5 whole", "?n >= 1.2", "?n <= 1.8")
    with pytest.raises(AssignmentError, match="no whole numbers"):
        pin(Polytope.of(machine, machine.constraint()), np.zeros(1), whole_holes(machine))


SPACED = machine_of("?n in 2 .. 5 whole ?x in 3 .. 4 ?free", "?free <= ?x")


@pytest.mark.parametrize("constraint", [None, SPACED.constraint()])
def test_uniform_holes_fill_their_spaces_beyond_the_box(constraint: Constraint | None) -> None:
    drawn = [filled(SPACED, constraint, "uniform", which).values() for which in range(12)]
    assert {values["n"] for values in drawn} == {2, 3, 4, 5}
    assert all(3 <= values["x"] <= 4 and abs(values["free"]) <= 1 for values in drawn)
    assert len({values["x"] for values in drawn}) == 12


def test_the_penalty_leads_into_the_spaces() -> None:
    values = filled(SPACED, SPACED.constraint(), "penalty", 0).values()
    assert values["n"] == 2
    assert 3 <= values["x"] <= 4
