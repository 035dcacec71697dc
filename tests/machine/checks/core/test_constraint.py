"""Questions about the constraint: can it be met, what contradicts, what is redundant, and do values keep it."""

from __future__ import annotations

import pytest

from srm.machine.checks.check import check
from srm.machine.language.parse import find_machine, parse

ONE_RULE = """
machine small
holes {holes}
start here
    done // {pay} -> end
accept end
constraint
{atoms}
"""


def small(atoms: str, holes: str = "?a ?b ?c", pay: str = "?a + ?b + ?c"):
    return parse(ONE_RULE.format(holes=holes, pay=pay, atoms=atoms))


def test_an_assignment_that_keeps_the_constraint_is_shown():
    (met,) = check(small("    ?a >= 1\n    ?b >= ?a + 1")).of("constraint", "note")
    assert met.message == "can be met"
    values = {name: float(text) for name, text in met.witness.assignment.items()}
    assert values["a"] >= 1
    assert values["b"] >= values["a"] + 1


def test_contradicting_atoms_are_named_and_no_others():
    machine = small('    "least" ?a >= 1\n    ?c <= 3\n    ?b <= 0\n    "order" ?a <= ?b')
    (error,) = check(machine).of("constraint", "error")
    assert error.message == "cannot be met: these contradict each other; what follows is asked without the constraint"
    assert error.witness.atoms == ('"least" ?a >= 1', "?b <= 0", '"order" ?a <= ?b')


def test_of_an_atom_about_every_hole_only_the_contradicting_part_is_named():
    (error,) = check(small("    every hole <= ?a\n    ?b >= 2\n    ?a <= 1")).of("constraint", "error")
    assert error.witness.atoms == ("?b <= ?a", "?b >= 2", "?a <= 1")


def test_without_any_allowed_assignment_the_rest_is_asked_without_the_constraint():
    report = check(small("    ?a >= 1\n    ?a <= 0"))
    assert [f.message for f in report.of("rules")] == ["every rule can fire"]
    assert report.exit_code() == 1


def test_a_redundant_atom_is_told_with_the_atoms_that_imply_it():
    findings = check(find_machine("keycorridor")).of("constraint", "note")
    (redundant,) = [f for f in findings if "implied by the other atoms" in f.message]
    assert redundant.place == '"reward picking up key" ?find_key >= 0'
    assert redundant.witness.atoms == (
        '"encourage opening door" ?open >= 0',
        '"penalize meaningless move" ?close <= 0',
        '"moderately reward opening door" ?open - ?close <= ?find_key',
    )


def test_an_atom_that_says_nothing_is_told():
    findings = check(small("    ?a - ?a <= 1\n    ?b >= 0")).of("constraint", "note")
    assert [f.place for f in findings if "says nothing" in f.message] == ["?a - ?a <= 1"]


def test_values_that_keep_the_constraint_are_told_with_what_is_left_of_each_atom():
    (kept,) = check(find_machine("doorkey_handset")).of("constraint")
    assert kept.severity == "note"
    assert kept.witness.atoms == (
        '0 left in "mildly penalize door toggling" ?close + ?unlock <= 0',
        '0.1 left in "penalize dropping unused key" ?drop + ?pick <= 0',
        '0.4 left in "reward unlocking door" ?pick <= ?unlock',
        '0.5 left in "reward reaching the goal" ?unlock <= ?goal',
        '0.5 left in "penalty for closing door" ?close <= 0',
    )


def test_values_that_break_an_atom_are_an_error_that_names_it():
    machine = find_machine("doorkey_handset")
    values = machine.values() | {"pick": 0.4, "close": 0.25}
    errors = check(machine.concretize(values)).of("constraint", "error")
    assert [(e.place, e.message) for e in errors] == [
        ('"penalize dropping unused key" ?drop + ?pick <= 0', "the values break this atom by 0.2"),
        ('"penalty for closing door" ?close <= 0', "the values break this atom by 0.25"),
        ('"mildly penalize door toggling" ?close + ?unlock <= 0', "the values break this atom by 0.75"),
    ]
    assert errors[0].witness.assignment == {"drop": "-0.2", "pick": "0.4"}


@pytest.mark.parametrize(("value", "kept"), [(0.1, True), (0.1 + 1e-12, True), (0.1 + 1e-6, False)])
def test_an_equality_is_kept_up_to_the_digits_that_are_written(value, kept):
    machine = small("    ?a = 0.1", holes=f"?a = {value!r}", pay="?a")
    assert bool(check(machine).of("constraint", "error")) is not kept


def test_values_for_some_holes_are_checked_and_the_rest_stays_open():
    machine = small("    ?a <= 1\n    ?b >= ?a", holes="?a = 2 ?b ?c")
    findings = check(machine).of("constraint")
    assert [(f.severity, f.message) for f in findings if f.severity == "error"] == [
        ("error", "the values break this atom by 1")
    ]
    assert [f.message for f in findings if "met" in f.message] == ["can be met"]


def test_values_that_leave_nothing_to_the_other_holes_are_an_error():
    machine = small("    ?a + ?b <= 0\n    ?b >= 0", holes="?a = 1 ?b ?c")
    assert [f.message for f in check(machine).of("constraint", "error")] == [
        "cannot be met with the values that are given"
    ]


def test_values_whose_difference_is_beyond_floats_are_told_exactly():
    machine = small("    ?a - ?b <= 0", holes="?a = 1e308 ?b = -1e308", pay="?a - ?b")
    (broken,) = check(machine).of("constraint", "error")
    assert broken.message == f"the values break this atom by {2 * 10**308}"


def test_of_many_atoms_it_is_only_asked_whether_they_can_be_met():
    holes = "".join(f"    ?a{n}\n" for n in range(400))
    atoms = "".join(f"    ?a{n} <= ?a{n + 1}\n" for n in range(399))
    text = f"machine m\nholes\n{holes}start s\n    open_door // ?a0\naccept e\nconstraint c\n{atoms}"
    found = [finding.message for finding in check(parse(text)).findings]
    assert "can be met" in found
    assert "not decided: which could be left out, since there are more than 300 atoms and spaces" in found
    assert "not decided: a machine of more than 300 holes, atoms and spaces is not looked at any further" in found
    contradicting = check(parse(f"{text}    ?a399 + 1 <= ?a0\n")).of("constraint", "error")
    assert contradicting[0].message.startswith("cannot be met: these contradict each other")
