"""Assignments: what is refused and by which name, constraints as matrices, and pay as it is kept."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import AssignmentError
from srm.evaluate import batched, symbolic
from srm.evaluate.batched import IDLE, assignment_of, broken_atoms, linear
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous
from srm.machine.holes import Constraint
from srm.machine.language.parse import find_machine, parse
from tests.evaluate.scripts import events_of

HANDSET = {"goal": 1.0, "unlock": 0.5, "close": -0.5, "pick": 0.1, "drop": -0.2}
DOORKEY = ("pick_up_key yellow (1, 2)", "unlock_door yellow (4, 4)", "close_door yellow (4, 4)", "reach_goal (6, 6)")


def residual_of(machine_name: str = "doorkey", script: tuple[str, ...] = DOORKEY) -> symbolic.Residual:
    program = Program(find_machine(machine_name), MINIGRID_WORDS)
    over = np.zeros((len(script), 1), np.bool_)
    return symbolic.read(program, events_of(script), over, ~over)[0]


# One assignment


def test_an_assignment_is_in_the_order_of_the_machine() -> None:
    backwards = dict(reversed(HANDSET.items()))
    assert assignment_of(find_machine("doorkey"), backwards).tolist() == [1.0, 0.5, -0.5, 0.1, -0.2]
    assert assignment_of(find_machine("doorkey_handset")).tolist() == [1.0, 0.5, -0.5, 0.1, -0.2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (None, r"no value for \?goal, \?unlock, \?close, \?pick, \?drop"),
        ({"goal": 1.0}, r"no value for \?unlock, \?close, \?pick, \?drop"),
        ({**HANDSET, "gold": 1.0}, r"no such hole: \?gold"),
        ({**HANDSET, "pick": float("nan")}, r"\?pick is nan, which is not a finite number"),
        ({**HANDSET, "goal": float("inf")}, r"\?goal is inf, which is not a finite number"),
        ({**HANDSET, "goal": 0.3}, 'break "reward reaching the goal" every hole <= \\?goal of constraint relational'),
        ({**HANDSET, "goal": 0.3, "drop": 0.3}, r"break .* and 1 more of constraint relational"),
    ],
    ids=["open", "too few", "unknown", "nan", "infinite", "outside", "far outside"],
)
def test_what_is_no_assignment_is_refused_by_name(values: dict[str, float] | None, said: str) -> None:
    with pytest.raises(AssignmentError, match=said):
        assignment_of(find_machine("doorkey"), values)


def test_values_outside_the_constraint_are_taken_when_asked_for() -> None:
    outside = {**HANDSET, "goal": 0.3}
    assert assignment_of(find_machine("doorkey"), outside, outside_constraint=True)[0] == 0.3


def test_rounding_does_not_break_a_constraint() -> None:
    assert len(assignment_of(find_machine("doorkey"), {**HANDSET, "close": -0.5 + 1e-9})) == 5


# Constraints as matrices


def test_a_constraint_as_a_matrix() -> None:
    machine = parse(
        """machine m
holes ?a ?b ?c
start one
    open_door // ?a
constraint
    "order" every hole except ?c <= ?c
    ?a + 2 * ?b >= 3
    ?a, ?b = 1
"""
    )
    a, b, equality = linear(machine, machine.constraint())
    assert a.tolist() == [[1, 0, -1], [0, 1, -1], [-1, -2, 0], [1, 0, 0], [0, 1, 0]]
    assert b.tolist() == [0, 0, -3, 1, 1]
    assert equality.tolist() == [False, False, False, True, True]


def test_no_constraint_is_an_empty_matrix() -> None:
    machine = find_machine("doorkey")
    for nothing in (None, Constraint(())):
        a, b, equality = linear(machine, nothing)
        assert (a.shape, b.shape, equality.shape) == ((0, 5), (0,), (0,))


def test_broken_atoms_are_told_as_they_are_written_and_once() -> None:
    machine = find_machine("doorkey")
    constraint = machine.constraint()
    assert constraint is not None
    # goal 0, unlock 0.5, close 0.5, pick 0, drop 0: two holes above ?goal are one atom
    assert broken_atoms(machine, constraint, np.array([0.0, 0.5, 0.5, 0.0, 0.0])) == [
        '"reward reaching the goal" every hole <= ?goal',
        '"penalty for closing door" ?close <= 0',
        '"mildly penalize door toggling" ?close + ?unlock <= 0',
    ]
    assert broken_atoms(machine, constraint, np.array([1.0, 0.5, -0.5, 0.1, -0.2])) == []


def test_an_equality_is_broken_from_both_sides() -> None:
    machine = parse("machine m\nholes ?a\nstart one\n    open_door // ?a\nconstraint\n    ?a = 1\n")
    constraint = machine.constraint()
    assert constraint is not None
    broken = [bool(broken_atoms(machine, constraint, np.array([value]))) for value in (0.5, 1.0, 1.5)]
    assert broken == [True, False, True]


# Many assignments


def test_assignments_of_another_shape_are_refused_with_both_numbers() -> None:
    for wrong in (np.zeros(5), np.zeros((2, 4)), np.zeros((2, 5, 1))):
        with pytest.raises(AssignmentError, match=r"expected \[K, 5\] for doorkey"):
            batched.pay(residual_of(), wrong)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_refused_with_its_row_and_hole(bad: float) -> None:
    holes = np.zeros((3, 5))
    holes[2, 1] = bad
    with pytest.raises(AssignmentError, match=rf"assignment 2 has {bad} for \?unlock"):
        batched.pay(residual_of(), holes)


def test_pay_rules_and_coefficients_of_two_assignments() -> None:
    holes = np.array([list(HANDSET.values()), [1.0, -1.0, -0.5, 0.1, -0.2]])
    paid = batched.pay(residual_of(), holes, coefficients=True)
    assert paid.step.tolist() == [0, 1, 2, 3]
    assert paid.pay.tolist() == [[0.1, 0.5, -0.5, 1.0], [0.1, -1.0, 0.0, 1.0]]  # ?unlock = -1 forbids the closing
    assert paid.rule.tolist() == [[0, 2, 3, 4], [0, 2, IDLE, 4]]
    assert paid.coefficients is not None
    goal, unlock, close, pick = np.eye(5)[:4].tolist()
    assert paid.coefficients.dense().tolist() == [[pick, unlock, close, goal], [pick, unlock, [0.0] * 5, goal]]
    assert paid.dense()[:, :, 0].tolist() == paid.pay.tolist()


def test_no_assignments_and_no_steps_pay_nothing() -> None:
    assert batched.pay(residual_of(), np.zeros((0, 5))).dense().shape == (0, 4, 1)
    assert batched.pay(residual_of(script=("",)), np.zeros((2, 5))).dense().tolist() == [[[0.0]], [[0.0]]]


def test_two_rules_that_hold_under_one_assignment_name_it() -> None:
    machine = parse(
        """machine m
holes ?a
start one
    first: open_door and ?a > 0 // 1
    second: open_door and ?a > 1 // 2
"""
    )
    over = np.zeros((1, 1), np.bool_)
    residual, _ = symbolic.read(Program(machine, MINIGRID_WORDS), events_of(["open_door"]), over, ~over)
    assert batched.pay(residual, np.array([[-1.0], [1.0]])).pay.tolist() == [[0.0], [1.0]]
    with pytest.raises(
        Ambiguous, match=r"step 0 of env 0: rules first and second of node one .*\(with \?a = 2\)"
    ) as raised:
        batched.pay(residual, np.array([[1.0], [2.0]]))
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # it may come from another process
