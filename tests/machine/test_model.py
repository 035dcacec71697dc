"""Machines as values: built in Python as in a file, given values, and asked for their parts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from srm.errors import AssignmentError, MachineError
from srm.machine.holes import Atom, Constraint, EveryHole, Hole
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Counter, Machine, Node, Rule, RuleOf
from srm.machine.terms import (
    And,
    Compare,
    CounterTerm,
    Happens,
    HoleTerm,
    Number,
    Product,
    Sum,
    events_of,
    needs_event,
    number_text,
)
from tests.machines import machines

DOORKEY = Machine(
    name="doorkey",
    words="minigrid",
    holes=tuple(map(Hole, ("goal", "unlock", "close", "pick", "drop"))),
    counters=(Counter("closed", Happens("close_door"), at=("after_unlocking",)),),
    nodes=(
        Node(
            "before_unlocking",
            (
                Rule(Happens("pick_up_key"), HoleTerm("pick")),
                Rule(Happens("drop_key"), HoleTerm("drop")),
                Rule(Happens("unlock_door"), HoleTerm("unlock"), "after_unlocking"),
            ),
        ),
        Node(
            "after_unlocking",
            (
                Rule(
                    And(
                        (
                            Happens("close_door"),
                            Compare(
                                Sum((Product((CounterTerm("closed"), HoleTerm("close"))), HoleTerm("unlock"))),
                                ">",
                                Number(0),
                            ),
                        )
                    ),
                    HoleTerm("close"),
                ),
                Rule(Happens("reach_goal"), HoleTerm("goal"), "end"),
            ),
        ),
        Node("end", accepting=True),
    ),
    start="before_unlocking",
    constraints=(
        Constraint(
            (
                Atom(EveryHole(), "<=", HoleTerm("goal"), "reward reaching the goal"),
                Atom((Sum((HoleTerm("drop"), HoleTerm("pick"))),), "<=", Number(0), "penalize dropping unused key"),
                Atom(EveryHole(("goal",)), "<=", HoleTerm("unlock"), "reward unlocking door"),
                Atom((HoleTerm("close"),), "<=", Number(0), "penalty for closing door"),
                Atom((Sum((HoleTerm("close"), HoleTerm("unlock"))),), "<=", Number(0), "mildly penalize door toggling"),
            ),
            "relational",
        ),
    ),
)
HANDSET = {"goal": 1, "unlock": 0.5, "close": -0.5, "pick": 0.1, "drop": -0.2}


def test_a_machine_built_in_python_equals_the_one_in_the_file() -> None:
    assert find_machine("doorkey") == DOORKEY
    assert parse(str(DOORKEY)) == DOORKEY


def test_machines_are_frozen_and_can_be_keys() -> None:
    with pytest.raises(FrozenInstanceError):
        DOORKEY.name = "other"  # type: ignore[misc]
    assert {DOORKEY: 1}[find_machine("doorkey")] == 1


@given(machines())
def test_equal_machines_have_equal_hashes(machine: Machine) -> None:
    assert hash(parse(str(machine))) == hash(machine)


# Values


def test_concretizing_writes_values_and_opening_takes_them_out() -> None:
    concrete = DOORKEY.concretize(HANDSET, {"goal": 0.25})
    assert concrete.is_concrete
    assert not DOORKEY.is_concrete
    assert concrete.values() == HANDSET
    assert concrete.holes[0] == Hole("goal", 1, 0.25)
    assert concrete.opened() == DOORKEY
    assert parse(str(concrete)) == concrete


def test_holes_that_are_not_named_stay_as_they_are() -> None:
    concrete = DOORKEY.concretize(HANDSET, {"goal": 0.25}).concretize({"unlock": 0.75})
    assert concrete.values() == {**HANDSET, "unlock": 0.75}
    assert {hole.name: hole.spread for hole in concrete.holes}["goal"] == 0.25


def test_the_hand_set_file_is_the_concretized_machine() -> None:
    file = find_machine("doorkey_handset")
    assert file.values() == HANDSET
    assert file.nodes == DOORKEY.nodes


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    inferred = dict(zip(HANDSET, np.array([0.1, 0.2, 0.3, 1, 2]), strict=True))
    text = str(DOORKEY.concretize(inferred, dict.fromkeys(HANDSET, np.float32(0.5))))
    assert "np." not in text
    assert parse(text).values() == inferred


@pytest.mark.parametrize(("value", "text"), [(1, "1"), (0.1, "0.1"), (-0.0, "0"), (1e22, "1e+22"), (True, "1")])
def test_numbers_are_written_as_short_as_they_can_be_read(value: float, text: str) -> None:
    assert number_text(value) == text
    assert float(text) == value


def test_missing_values_are_named() -> None:
    half = DOORKEY.concretize({"goal": 1.0, "unlock": 0.5, "close": 0.0})
    with pytest.raises(AssignmentError, match=r"doorkey has no value for \?pick, \?drop; write `holes \?name = value`"):
        half.values()


def test_values_of_unknown_holes_are_refused_with_a_near_name() -> None:
    with pytest.raises(AssignmentError, match=r"no hole \?gaol; did you mean goal\?"):
        DOORKEY.concretize({"gaol": 1.0})
    with pytest.raises(AssignmentError, match=r"no hole \?lock"):
        DOORKEY.concretize(HANDSET, {"lock": 0.1})


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(MachineError, match=r"the value of \?goal is not a finite number"):
        DOORKEY.concretize({"goal": float("nan")})


# Constraints


def rows(machine: Machine, name: str | None = None) -> list[tuple[dict[str, Fraction], Fraction, bool]]:
    return [(dict(row.coefficients), row.bound, row.equality) for row in machine.rows(machine.constraint(name))]


def test_a_constraint_becomes_linear_rows() -> None:
    machine = parse(
        """machine m
        holes ?a ?b ?c
        start s
        constraint
            every hole except ?c <= ?a
            2 * ?b - 1 >= ?a
            ?a, ?b = 0.5
            ?a <= ?a
            1 <= 0
        """
    )
    assert rows(machine) == [
        ({"b": 1, "a": -1}, 0, False),  # ?a <= ?a says nothing
        ({"b": -2, "a": 1}, -1, False),
        ({"a": 1}, Fraction(1, 2), True),
        ({"b": 1}, Fraction(1, 2), True),
        ({}, -1, False),  # a falsehood is kept
    ]


def test_constraints_are_found_by_name_and_the_first_is_the_default() -> None:
    machine = find_machine("keycorridor")
    assert machine.constraint() == machine.constraint("relational")
    assert len(rows(machine, "signs")) == 8
    with pytest.raises(
        MachineError, match=r"no constraint sings; it has relational, sharp, signs; did you mean signs\?"
    ):
        machine.constraint("sings")
    with pytest.raises(MachineError, match="no constraint signs; it has none"):
        find_machine("keycorridor_rm").constraint("signs")
    assert find_machine("keycorridor_rm").constraint() is None


def test_hand_set_values_keep_or_break_the_constraint_as_their_files_say() -> None:
    def breaks(machine: Machine, constrained: Machine) -> list[str | None]:
        values = {name: Fraction(repr(value)) for name, value in machine.values().items()}
        return [
            row.atom.label
            for row in constrained.rows(constrained.constraint())
            if sum(values[hole] * c for hole, c in row.coefficients.items()) > row.bound
        ]

    for name in ("doorkey", "obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3"):
        assert breaks(find_machine(f"{name}_handset"), find_machine(name)) == []
    corridor = find_machine("keycorridor")
    assert breaks(find_machine("keycorridor_handset"), corridor) == ["moderately reward opening door"]
    revised = breaks(find_machine("keycorridor_revised"), corridor)
    assert revised == ["moderately reward opening door", "penalize dropping unused key"]


# Parts


def test_every_rule_has_a_label_of_its_own() -> None:
    labels = [label for _, _, label in find_machine("keycorridor").rules]
    assert labels[:3] == ["opened_in_search_of_the_key", "before_finding_key.2", "before_finding_key.3"]
    assert len(set(labels)) == len(labels)


def test_guards_tell_their_events_and_whether_they_need_one() -> None:
    def guard(text: str) -> And:
        return parse(f"machine m\nstart s\n    {text} // 1").nodes[0].rules[0].guard  # type: ignore[return-value]

    assert events_of(guard("wait and not (push or wait) and speed > 0")) == ("wait", "push")
    needs = {
        "wait": True,
        "speed > 0": False,
        "always": False,
        "not wait": False,
        "wait and speed > 0": True,
        "wait or speed > 0": False,
        "wait or push and speed > 0": True,
    }
    assert {text: needs_event(guard(text)) for text in needs} == needs


def test_a_counter_of_a_rule_names_the_rule() -> None:
    counters = {counter.name: counter for counter in find_machine("keycorridor").counters}
    assert counters["rewarded"].counts == RuleOf("opened_in_search_of_the_key")
    assert str(counters["opened"]) == "#opened counts open_door at before_finding_key"
