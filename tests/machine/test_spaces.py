"""Where a hole may lie: how a space is written, and that whatever asks about assignments keeps to it."""

from __future__ import annotations

import numpy as np
import pytest

from srm.errors import AssignmentError, MachineError
from srm.evaluate.batched import assignment_of, broken_atoms, linear
from srm.machine.checks.check import check, compare, refuse_unfit
from srm.machine.drawing.draw import FORMATS
from srm.machine.holes import DEFAULT_SPACE, Constraint, Hole, Space
from srm.machine.language.parse import parse
from srm.machine.model import InvalidMachine, Machine, Node
from tests.machines import WORDS

SEARCH = """machine search
holes {holes}
counters
    #waited counts wait
start here
    wait and #waited < ?n  // ?a
    push                   // ?b -> done
accept done
"""
HOLES = "?a in 0 .. 5 ?b in -1.5 .. -0.5 ?n in 0 .. 5 whole"


def search(constraint: str = "", holes: str = HOLES) -> Machine:
    return parse(SEARCH.format(holes=holes) + constraint)


def holes_of(text: str) -> tuple[Hole, ...]:
    return parse(f"machine m\nholes {text}\nstart s\n").holes


# The language


@pytest.mark.parametrize("text", ["0 .. 5", "0..5", "0. .. 5.", "0 ..5", "0.0..5e0", "0\t..\t5"])
def test_a_space_needs_no_room_around_its_dots(text: str) -> None:
    assert holes_of(f"?a in {text} ?b") == (Hole("a", space=Space(0, 5)), Hole("b"))


def test_bounds_may_be_negative_fractions_and_powers_of_ten() -> None:
    assert [hole.space for hole in holes_of("?a in -1.2 .. -.5 ?b in -1e-3..1e3 ?c in -2..-1 whole")] == [
        Space(-1.2, -0.5),
        Space(-0.001, 1000),
        Space(-2, -1, whole=True),
    ]


def test_space_value_and_spread_are_printed_in_columns() -> None:
    text = """holes
    ?limit  in  0     ..  5   whole = 3   +- 0.4
    ?enough in -1.2   ..  0.6
    ?x      in -0.001 .. 10         = 0.5
    ?goal
"""
    machine = parse(f"machine m\n{text}start s\n")
    assert text in str(machine)
    assert parse(str(machine)) == machine
    assert str(machine.holes[0]) == "?limit in 0 .. 5 whole = 3 +- 0.4"


def test_whole_may_name_anything() -> None:
    machine = parse("machine whole\nholes ?whole in 0 .. 1 whole\nstart whole\n    whole: whole // ?whole\n")
    assert parse(str(machine)) == machine


def test_values_come_and_go_and_the_space_stays() -> None:
    machine = search()
    concrete = machine.concretize({"a": 2.0, "n": 3}, {"a": 0.5})
    assert concrete.holes[0] == Hole("a", 2.0, 0.5, Space(0, 5))
    assert concrete.opened() == machine


def test_a_value_may_miss_a_bound_by_rounding_and_no_more() -> None:
    assert search().concretize({"a": -1e-9, "b": -0.5 + 1e-12})
    for values in ({"a": -1e-3}, {"b": -0.49}, {"n": 2.5}, {"n": 6}):
        with pytest.raises(InvalidMachine, match="is outside its space"):
            search().concretize(values)


def test_spaces_from_python_are_held_to_the_same_rules() -> None:
    for space in (Space(1, 0), Space(1, 1), Space(0, float("inf")), Space(float("nan"), 1), Space(0, 1.5, whole=True)):
        with pytest.raises(InvalidMachine, match=r"the space of \?a"):
            Machine("m", (Node("s"),), "s", (Hole("a", space=space),))


def test_the_default_space_is_no_part_of_a_machine() -> None:
    assert Space(-5, 5) == DEFAULT_SPACE
    assert parse("machine m\nholes ?a\nstart s\n").rows(None) == ()


# Rows


def test_spaces_come_before_the_constraint_and_without_one() -> None:
    machine = search("constraint\n    ?a >= 1\n")
    texts = [str(row.atom) for row in machine.rows(machine.constraint())]
    spaces = ["?a in 0 .. 5"] * 2 + ["?b in -1.5 .. -0.5"] * 2 + ["?n in 0 .. 5 whole"] * 2
    assert texts == [*spaces, "?a >= 1"]
    assert [str(row.atom) for row in machine.rows(None)] == spaces
    a, b, equality = linear(machine, None)
    assert a.tolist() == [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]]
    assert b.tolist() == [0, 5, 1.5, -0.5, 0, 5]
    assert not equality.any()


def test_a_broken_space_is_told_as_it_is_written() -> None:
    machine = search("constraint\n    ?a >= 1\n")
    constraint = machine.constraint()
    assert constraint is not None
    assert broken_atoms(machine, constraint, np.array([-1.0, 0.0, 2.0])) == [
        "?a in 0 .. 5",
        "?b in -1.5 .. -0.5",
        "?a >= 1",
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": 6, "b": -1, "n": 2}, r"\?a is 6, which breaks \?a in 0 .. 5; take a value inside it"),
        ({"a": 1, "b": -1, "n": 2.5}, r"\?n is 2.5, which breaks \?n in 0 .. 5 whole"),
    ],
)
def test_an_assignment_outside_a_space_is_refused_with_any_constraint(values: dict[str, float], message: str) -> None:
    for machine in (search(), search("constraint\n    ?a >= 1\n")):
        for outside_constraint in (False, True):
            with pytest.raises(AssignmentError, match=message):
                assignment_of(machine, values, outside_constraint=outside_constraint)


# Proofs


def test_a_constraint_that_misses_a_space_is_an_error_that_names_both() -> None:
    machine = search('constraint\n    ?a <= 4\n    "more" ?a + ?b >= 5\n')
    (error,) = check(machine).of("constraint", "error")
    assert error.witness is not None
    assert error.witness.atoms == ("?b in -1.5 .. -0.5", "?a <= 4", '"more" ?a + ?b >= 5')
    with pytest.raises(MachineError, match=r"since \?b in -1.5 .. -0.5, \?a <= 4, .* contradict each other"):
        refuse_unfit(machine, WORDS)


def test_a_constraint_without_whole_numbers_is_an_error_that_names_the_space() -> None:
    (error,) = check(search("constraint\n    ?n >= 1.2\n    ?n <= 1.8\n")).of("constraint", "error")
    assert error.witness is not None
    assert error.witness.atoms == ("?n in 0 .. 5 whole", "?n >= 1.2", "?n <= 1.8")


def test_a_space_forces_signs_without_any_constraint() -> None:
    report = check(search(holes=f"{HOLES} ?free"))
    assert [finding.message for finding in report.of("implied")] == [
        "signs that are forced: ?a, ?n >= 0",
        "signs that are forced: ?b < 0",
        "signs that are not forced: ?free",
    ]
    (note,) = report.of("constraint")
    assert note.message == "no constraint; holes are held to their spaces alone"
    assert note.witness is not None
    assert note.witness.atoms == tuple(str(within) for within in search().spaces)


def test_a_whole_hole_can_be_forced_by_bounds_that_leave_reals_room() -> None:
    report = check(search("constraint\n    ?n >= 1.2\n    ?n <= 2.8\n"))
    assert [finding.message for finding in report.of("implied", "warning")] == ["the constraint forces ?n = 2"]
    assert "can never fire once #waited >= 2" in " ".join(finding.message for finding in report.of("rules"))


def test_an_atom_that_a_space_implies_is_told() -> None:
    (_, redundant) = check(search("constraint\n    ?a <= 7\n")).of("constraint")
    assert redundant.message == "is implied by the other atoms and spaces, so it could be left out"
    assert redundant.witness is not None
    assert redundant.witness.atoms == ("?a in 0 .. 5",)


def test_a_rule_that_no_number_of_a_space_lets_fire_is_dead_because_of_it() -> None:
    machine = parse("machine m\nholes ?n in 0 .. 5 whole\nstart s\n    push and ?n > 1.2 and ?n < 1.8 // 1\n")
    assert "can never fire within the spaces of its holes" in check(machine).of("rules", "warning")[0].message


def test_a_space_bounds_what_a_loop_can_farm() -> None:
    text = "machine m\nholes ?a {space}\nstart s\n    wait // ?a\naccept done\n"
    assert check(parse(text.format(space="in -1 .. 1"))).of("farming", "warning")
    assert not check(parse(text.format(space="in -1 .. 0"))).of("farming", "warning")


def test_machines_are_compared_within_the_spaces_of_the_first() -> None:
    text = "machine m\nholes ?a {space}\nstart s\n    wait and ?a >= 0 // 1\naccept done\n"
    always = parse("machine free\nstart s\n    wait // 1\naccept done\n")
    assert not compare(parse(text.format(space="in 0 .. 1")), always, WORDS).of("against", "error")
    assert compare(parse(text.format(space="in -1 .. 1")), always, WORDS).of("against", "error")


def test_values_of_the_other_machine_that_miss_a_space_are_told() -> None:
    text = "machine m\nholes ?a {space}\nstart s\n    wait // ?a\naccept done\n"
    report = compare(parse(text.format(space="in 0 .. 1")), parse(text.format(space="= 2")), WORDS)
    assert report.of("against")[0].message == (
        "its values lie outside the spaces of m: ?a in 0 .. 1; asked without these"
    )
    assert not report.of("against", "error")


# Pictures


@pytest.mark.parametrize("kind", FORMATS)
def test_pictures_show_spaces(kind: str) -> None:
    assert "in 0 .. 5 whole" in FORMATS[kind](search(), constraint=None)


def test_a_constraint_of_no_atoms_leaves_the_spaces() -> None:
    assert len(search().rows(Constraint(()))) == 6
