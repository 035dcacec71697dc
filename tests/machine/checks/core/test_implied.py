"""What the constraint implies, and what labels promise."""

from __future__ import annotations

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.machine.checks.check import check
from srm.machine.checks.core.implied import holes_meant, promise_of
from srm.machine.checks.core.subject import Subject
from srm.machine.holes import Atom
from srm.machine.language.parse import find_machine, library, parse


def warned(name: str, constraint: str | None = None) -> list[str]:
    return [
        f"{f.place}: {f.message}"
        for f in check(find_machine(name), MINIGRID_WORDS, constraint).of("implied", "warning")
    ]


def test_doorkeys_constraint_forces_neither_the_goals_nor_the_unlockings_reward():
    goal, drop, unlock = warned("doorkey")
    assert goal.startswith('"reward reaching the goal"')
    assert goal.endswith("does not force ?goal >= 0")
    assert unlock.startswith('"reward unlocking door"')
    assert unlock.endswith("does not force ?unlock >= 0")
    assert drop.endswith("the label speaks of a penalty, but the constraint does not force ?drop <= 0")


def test_an_assignment_with_the_wrong_sign_is_shown_and_keeps_the_constraint():
    machine = find_machine("doorkey")
    finding = check(machine, MINIGRID_WORDS).of("implied", "warning")[0]
    values = {name: float(text) for name, text in finding.witness.assignment.items()}
    assert values["goal"] < 0
    assert not check(machine.concretize(values), MINIGRID_WORDS).of("constraint", "error")


@pytest.mark.parametrize("machine", ["obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3"])
def test_the_signs_of_obstructedmaze_as_printed_force_close_to_0(machine):
    found = warned(machine, "signs_printed")
    assert found[0] == "?close: the constraint forces ?close = 0"
    assert (
        '"reward opening door" ?close <= 0: the label speaks of a reward, but the constraint never allows ?close > 0'
        in found
    )
    assert (
        '"penalize meaningless move" ?close >= 0: the label speaks of a penalty, but the constraint never allows ?close < 0'
        in found
    )


@pytest.mark.parametrize("constraint", ["relational", "signs"])
def test_the_other_constraints_keep_what_their_labels_promise(constraint):
    for machine in ("keycorridor", "obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3"):
        assert warned(machine, constraint) == []


def test_the_sign_of_each_hole_is_told():
    report = check(find_machine("obstructedmaze_1"), MINIGRID_WORDS, "printed")
    assert [f.message for f in report.of("implied", "note")] == [
        "signs that are forced: ?target, ?open, ?open_box, ?pick_ball, ?pick_key, ?drop_ball, ?drop_used >= 0",
        "signs that are forced: ?close, ?pick_used <= 0",
        "signs that are not forced: ?see, ?unlock, ?drop_key",
    ]


def test_a_strict_sign_and_a_forced_value_are_told():
    machine = parse("""
machine m
holes ?a ?b ?c
start here
    done // ?a + ?b + ?c -> end
accept end
constraint
    ?a >= 1
    ?b = 2 * ?c
    ?c = 0.25
""")
    report = check(machine)
    assert [f.message for f in report.of("implied", "warning")] == [
        "the constraint forces ?b = 0.5",
        "the constraint forces ?c = 0.25",
    ]
    assert [f.message for f in report.of("implied", "note")] == ["signs that are forced: ?a > 0"]


@pytest.mark.parametrize("name", [name for name in library() if name.endswith(("handset", "revised", "rm"))])
def test_nothing_is_implied_once_all_values_are_known(name):
    assert find_machine(name).check().of("implied") == ()


def atom_of(text: str) -> tuple[Atom, Subject]:
    machine = parse(f"""
machine m
holes ?drop_used ?drop_unused ?pick_used ?see ?open ?find_key
start here
    done // ?drop_used + ?drop_unused + ?pick_used + ?see + ?open + ?find_key -> end
accept end
constraint
    {text}
""")
    return machine.constraints[0].atoms[0], Subject(machine)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('"reward" every hole <= ?see', ("see",)),
        (
            '"reward everything" every hole except ?open >= 0',
            ("drop_used", "drop_unused", "pick_used", "see", "find_key"),
        ),
        ('"reward" ?see >= 0', ("see",)),
        ('"reward these" ?see, ?open >= 0', ("see", "open")),
        ('"penalize dropping unused key" ?find_key + ?drop_unused <= 0', ("drop_unused",)),
        ('"penalize picking up used key" ?drop_used + ?pick_used <= 0', ("pick_used",)),
        ('"moderately reward opening door" ?open - ?see <= ?find_key', ("open",)),
        ('"reward the discovery" ?see >= ?open + ?find_key', ("see",)),
        ('"penalize it" ?see <= ?open', ("see",)),
        ('"penalize toggling" ?see + ?open <= 0', ()),  # a sum as a whole
        ('"reward opening" -0.25 <= 0', ()),  # no hole at all
    ],
)
def test_which_hole_a_label_is_about(text, meant):
    assert holes_meant(*atom_of(text)) == meant


@pytest.mark.parametrize(
    ("label", "promised"),
    [
        ("reward reaching the goal", ">"),
        ("encourage opening door", ">"),
        ("moderately reward opening door", ">"),
        ("penalize meaningless move", "<"),
        ("penalty for closing door", "<"),
        ("finding is less than taking", None),
        ("", None),
    ],
)
def test_what_a_label_promises(label, promised):
    assert promise_of(Atom((), "<=", None, label)) == promised
