"""Atoms that forbid farming: what comes out for the shipped machines, and that it holds of every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import SrmError
from srm.machine.checks.check import Finding, Forbidden, check, forbid_farming, with_atoms
from srm.machine.checks.core.subject import Subject, margin
from srm.machine.holes import Constraint
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary
from tests.machines import WORDS, machines


def forbid(name: str, constraint: str) -> Forbidden:
    machine = find_machine(name)
    return forbid_farming(machine, MINIGRID_WORDS, None if constraint == "none" else machine.constraint(constraint))


def lines(forbidden: Forbidden) -> list[str]:
    """The atoms without their labels."""
    return [str(replace(atom, label=None)) for atom in forbidden.atoms]


def under(machine: Machine, constraint: Constraint) -> Machine:
    """The machine with this constraint alone."""
    return replace(machine, constraints=(constraint,))


def endless(machine: Machine, vocabulary: Vocabulary | None) -> list[Finding]:
    """Warnings of loops that can be repeated without end, or that are undecided."""
    return [f for f in check(machine, vocabulary).of("farming", "warning") if "better stay" not in f.message]


# The shipped machines


def test_keycorridor_needs_three_atoms_and_no_other_constraint():
    forbidden = forbid("keycorridor", "none")
    assert [str(atom) for atom in forbidden.atoms] == [
        '"no gain from open_door, close_door at before_finding_key" ?open + ?close <= 0',
        '"no gain from pick_up_key, drop_key at before_unlocking" ?find_key + ?drop_unused <= 0',
        '"no gain from pick_up_key, drop_key at after_unlocking" ?drop_used + ?pick_used <= 0',
    ]
    assert forbidden.loops[0] == "node before_finding_key: open_door, close_door"
    assert forbidden.unproved == ()


CLOSING = ["?close + ?open <= 0"]
USED_KEY = ["?pick_used + ?drop_used <= 0"]


@pytest.mark.parametrize(
    ("name", "constraint", "expected"),
    [
        ("keycorridor", "relational", []),
        ("keycorridor", "sharp", []),
        ("keycorridor", "signs", ["?find_key + ?drop_unused <= 0", "?drop_used + ?pick_used <= 0"]),
        ("doorkey", "relational", []),
        ("doorkey", "none", ["?pick + ?drop <= 0", "?close <= 0"]),
        ("obstructedmaze_1", "relational", CLOSING),
        ("obstructedmaze_1", "signs", ["?close <= ?drop_key", *CLOSING, *USED_KEY]),
        ("obstructedmaze_2", "relational", []),
        ("obstructedmaze_2", "signs_printed", ["?close <= ?drop_key", *USED_KEY]),
        ("obstructedmaze_3", "relational", CLOSING),
        ("obstructedmaze_4", "relational", []),
        ("obstructedmaze_4", "none", ["?close <= 0", *USED_KEY]),
    ],
)
def test_what_the_shipped_machines_need(name, constraint, expected):
    forbidden = forbid(name, constraint)
    assert lines(forbidden) == expected
    assert forbidden.unproved == ()


@pytest.mark.parametrize("name", ["keycorridor", "doorkey", "obstructedmaze_1"])
def test_with_the_atoms_a_shipped_machine_has_no_farming_and_reads_back(name):
    machine = find_machine(name)
    safe = under(machine, with_atoms(None, forbid(name, "none").atoms))
    assert endless(under(machine, Constraint(())), MINIGRID_WORDS) != []
    assert endless(safe, MINIGRID_WORDS) == []
    assert parse(str(safe)) == safe


def test_a_guard_is_used_where_forbidding_the_pay_would_forbid_the_reward():
    # hindsight takes single steps back, so the pay alone would ask for ?pick_key <= 0 and ?drop_key <= 0
    assert "?close <= ?pick_key" in lines(forbid("obstructedmaze_1", "none"))


def test_atoms_that_would_leave_a_hole_only_0_are_not_added():
    (sentence,) = forbid("obstructedmaze_1", "signs_printed").unproved
    assert sentence.startswith("node searching: open_door, close_door: may be farmed, and no atom forbids it: ")
    assert sentence.endswith("the constraint would turn ?close + ?open <= 0 into an equality")


# Small machines


def small(
    rules: str,
    holes: str = "",
    constraint: str = "",
    counters: str = "",
    vocabulary: Vocabulary | None = MINIGRID_WORDS,
) -> Forbidden:
    text = f"machine m\nholes {holes}\n{counters}\nstart here\n{rules}\n    reach_goal // 9 -> end\naccept end\n"
    machine = parse(text + (f"constraint\n    {constraint}\n" if constraint else ""))
    return forbid_farming(machine, vocabulary, machine.constraint())


def test_numbers_are_whole_and_stand_on_the_right():
    assert lines(small("    hit_wall // 0.5 * ?a - 0.75 * ?b + 0.25", "?a ?b")) == ["2 * ?a <= 3 * ?b - 1"]
    assert lines(small("    hit_wall // -1 * ?a - 2", "?a")) == ["?a >= -2"]
    assert lines(small("    hit_wall // ?a + 1", "?a")) == ["?a <= -1"]


def test_a_hole_that_has_a_value_is_a_number():
    assert lines(small("    hit_wall // ?a + ?b", "?a = 0.5 ?b")) == ["?b <= -0.5"]


def test_values_with_many_digits_are_kept_exactly():
    assert lines(small("    hit_wall // ?a + ?b", "?a = 0.1234567890123456 ?b")) == ["?b <= -0.1234567890123456"]


def test_every_part_of_a_pay_that_grows_with_a_counter_is_forbidden():
    counted = "counters\n    #hits counts hit_wall"
    assert lines(small("    hit_wall // ?a + #hits * ?b", "?a ?b", counters=counted)) == ["?a <= 0", "?b <= 0"]


def test_loops_that_wear_out_need_nothing():
    counted = "counters\n    #hits counts hit_wall"
    assert small("    hit_wall and #hits < 3 // ?a", "?a", counters=counted) == Forbidden()


def test_atoms_that_the_constraint_or_other_atoms_imply_are_left_out():
    assert lines(small("    hit_wall // ?a", "?a", "?a <= 0")) == []
    # a round of both pays ?a + ?b, which the rounds of each alone imply
    rules = "    pick_up_key // ?a\n    drop_key // ?b\n    hit_wall // ?a\n    open_box // 0"
    assert lines(small(f"{rules}\n    close_door // ?b", "?a ?b")) == ["?a <= 0", "?b <= 0"]


def test_what_no_hole_can_change_is_unproved():
    (sentence,) = small("    hit_wall // 1").unproved
    assert sentence.endswith("a round pays 1; no value of a hole changes that")
    (sentence,) = small("    hit_wall // ?a", "?a = 1").unproved
    assert sentence.endswith("a round pays 1; the holes have values, which no atom changes")


def test_what_contradicts_the_constraint_is_unproved():
    forbidden = small("    hit_wall // ?a\n    open_door // ?b", "?a ?b", "?a >= 1")
    assert lines(forbidden) == ["?b <= 0"]
    assert forbidden.unproved[0].endswith("?a <= 0 would contradict the constraint")


def test_pay_that_reads_a_signal_is_unproved_rather_than_a_hole_forced_to_0():
    forbidden = small("    hit_wall // ?a * speed", "?a", vocabulary=None)
    assert forbidden.atoms == ()
    assert forbidden.unproved[0].endswith("it reads signals without a range, which may be any number")


def test_pay_that_reads_a_signal_with_a_range_is_forbidden_by_an_atom():
    words = Vocabulary("w", (Event("go", ""), Event("reach_goal", "")), signals=(Signal("speed", "", 0, 2),))
    assert lines(small("    go // ?a * speed - ?b", "?a ?b", vocabulary=words)) == ["?b >= 0", "2 * ?a <= ?b"]


def test_loops_that_cannot_be_listed_are_unproved():
    events = [f"event{number}" for number in range(14)]
    counters = "counters\n" + "\n".join(f"    #{name} counts {name}" for name in events)
    forbidden = small("\n".join(f"    {name} // ?a" for name in events), "?a", counters=counters, vocabulary=None)
    assert forbidden.unproved == (
        "not decided: more than 4,096 sets of events can happen at one step; declare which exclude each other",
    )


def test_a_constraint_that_cannot_be_met_says_so():
    assert small("    hit_wall // ?a", "?a", "?a <= 0 - 1\n    ?a >= 1").unproved == (
        "constraint default: cannot be met, so no loop was judged",
    )
    (sentence,) = small("    hit_wall // ?a", "?a = 1", "?a <= 0").unproved
    assert "cannot be met with the values that are given" in sentence


def test_a_long_loop_has_a_short_label():
    names = [f"a_room_with_a_rather_long_name_{number}" for number in range(4)]
    nodes = [f"node {name}\n    go{i} // ?pay -> {names[(i + 1) % 4]}" for i, name in enumerate(names)]
    machine = parse("machine m\nholes ?pay\n" + "\n".join(nodes).replace("node", "start", 1))
    forbidden = forbid_farming(machine, Vocabulary("w", tuple(Event(f"go{i}", "") for i in range(4))), None)
    assert forbidden.atoms[0].label == f"no gain from a loop of 4 moves at {', '.join(names)}"


def test_events_the_vocabulary_does_not_have_are_refused():
    with pytest.raises(SrmError):
        forbid_farming(parse("machine m\nstart a\n    fly // 1\n"), MINIGRID_WORDS, None)


def test_atoms_go_after_those_of_the_constraint():
    machine = find_machine("keycorridor")
    forbidden = forbid("keycorridor", "signs")
    signs = machine.constraint("signs")
    assert with_atoms(signs, forbidden.atoms) == Constraint((*signs.atoms, *forbidden.atoms), "signs")
    assert with_atoms(None, forbidden.atoms).name == "unfarmable"


# Any machine


def allowed_values(machine: Machine, rng: random.Random) -> Iterator[dict[str, float]]:
    """Values for the open holes that keep the constraint exactly."""
    subject = Subject(machine, None, machine.constraint())
    for _ in range(200):
        values = {name: rng.randint(-8, 8) / 4 for name in subject.open_holes}
        if any(hole.space is not None and values.get(hole.name, 0) not in hole.space for hole in machine.holes):
            continue
        whole = Subject(machine.concretize(values)).values
        if all(margin(row, whole) >= 0 for row in subject.rows):
            yield values


def concerns(sentence: str, warning: Finding) -> bool:
    """Whether the moves of an unproved loop are all among those warned of: a warning may join two loops."""
    if "may be farmed" not in sentence or "more loops" in warning.message:
        return True
    moves = sentence.partition(": may be farmed")[0].partition(": ")[2]
    return set(moves.split(", ")) <= set(warning.message.partition(":")[0].split(", "))


def hold(machine: Machine, vocabulary: Vocabulary, seed: int) -> None:
    forbidden = forbid_farming(machine, vocabulary, machine.constraint())
    safe = under(machine, with_atoms(machine.constraint(), forbidden.atoms))
    assert parse(str(safe)) == safe
    event("unproved" if forbidden.unproved else f"{min(len(forbidden.atoms), 3)} atoms")
    for warning in endless(safe, vocabulary):
        assert any(concerns(sentence, warning) for sentence in forbidden.unproved), warning
    if forbidden.unproved:
        return
    for values, _ in zip(allowed_values(safe, random.Random(seed)), range(2), strict=False):
        assert endless(safe.concretize(values), vocabulary) == []


@settings(max_examples=15)
@given(machines(deterministic=True), st.integers(0, 1000))
def test_any_machine_with_its_atoms_is_unfarmable_or_the_rest_is_listed(machine, seed):
    hold(machine, WORDS, seed)


ROOMS = Vocabulary(
    "rooms",
    (Event("pick", ""), Event("drop", ""), Event("open", ""), Event("close", ""), Event("wait", "")),
    balances=(Balance(("pick",), ("drop",), most=1), Balance(("open",), ("close",), most=2)),
)


@st.composite
def paid_by_holes(draw: st.DrawFn) -> Machine:
    """Machines whose rules pay a hole each, some as long as an advance lasts."""
    names = ["a", "b"][: draw(st.integers(1, 2))]
    hole = st.sampled_from(["?p", "?q", "?r"])
    text = "machine m\nholes ?p ?q ?r\ncounters\n    #opens counts open\n    #picks counts pick\n"
    for name in names:
        text += f"{'start' if name == 'a' else 'node'} {name}\n"
        for act in draw(st.lists(st.sampled_from(ROOMS.acts), unique=True, max_size=4)):
            lasts = f" and {draw(hole)} + #opens * ({draw(hole)} - {draw(hole)}) - #picks * {draw(hole)} > 0"
            guard = act + (lasts if draw(st.booleans()) else "")
            text += f"    {guard} // {draw(hole)} {draw(st.sampled_from(['', *(f'-> {n}' for n in names)]))}\n"
    atoms = [
        f"    {draw(hole)} {draw(st.sampled_from(['<=', '>=']))} {draw(hole)}" for _ in range(draw(st.integers(0, 2)))
    ]
    return parse(text + ("constraint\n" + "\n".join(atoms) if atoms else ""))


@settings(max_examples=15)
@given(paid_by_holes(), st.integers(0, 1000))
def test_machines_that_pay_holes_become_unfarmable_or_the_rest_is_listed(machine, seed):
    hold(machine, ROOMS, seed)
