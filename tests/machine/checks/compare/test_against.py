"""Two machines compared: proofs by induction, and shortest traces on which they pay differently."""

from __future__ import annotations

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.machine.checks.check import check, compare
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine

EQUAL = "pays the same on every trace"


def said(machine: Machine, other: Machine, constraint: str | None = None, **options) -> list[str]:
    return [f.message for f in compare(machine, other, MINIGRID_WORDS, constraint, **options).findings]


def small(rules: str, counters: str = "", holes: str = "?a ?b", tail: str = "") -> Machine:
    text = f"machine m\nholes {holes}\n{counters}\nstart here\n{rules}\n    reach_goal // ?b -> end\naccept end\n{tail}"
    return parse(text)


@pytest.mark.parametrize("name", ["doorkey", "keycorridor", "keycorridor_rm", "obstructedmaze_1", "obstructedmaze_2"])
def test_a_machine_pays_as_itself_does_and_that_is_proved(name):
    machine = find_machine(name)
    assert said(machine, machine)[-1].startswith(f"{EQUAL}; proved by induction over ")


def test_deducting_the_wrong_hole_in_keycorridor_is_a_difference_of_two_steps():
    machine = find_machine("keycorridor")
    slip = parse(str(machine).replace("#rewarded * ?open", "#rewarded * ?drop_used"))
    assert slip != machine
    report = compare(machine, slip, MINIGRID_WORDS)
    (finding,) = report.of("against")
    assert finding.severity == "error"
    assert finding.message == "pays differently on a trace of 2 steps, and on none that is shorter"
    opened, picked = finding.witness.steps
    assert (opened.events, picked.events) == (("open_door",), ("pick_up_key",))
    assert opened.pay == opened.other_pay
    assert picked.pay.startswith("?find_key - ?open = ")
    assert picked.other_pay.startswith("?find_key - ?drop_used = ")
    values = {name: float(text) for name, text in finding.witness.assignment.items()}
    assert values["open"] != values["drop_used"]
    assert not check(machine.concretize(values), MINIGRID_WORDS).of("constraint", "error")
    assert report.exit_code() == 1


def test_a_difference_must_lie_within_the_constraint():
    machine = small("    open_door // ?a", tail="constraint\n    ?a = 1\n")
    other = small("    open_door // 1")
    assert said(machine, other) == [f"{EQUAL}; proved by induction over 2 pairs of nodes"]
    assert "differently on a trace of 1 step," in said(machine, other, "none")[0]


def test_machines_written_differently_are_proved_equal():
    machine = small(
        "    open_door and #n * ?a > 1 // ?a\n    close_door // 2 * ?a - ?a", "counters\n    #n counts open_door"
    )
    other = small(
        "    close_door // ?a\n    open_door and not (1 >= ?a * #m) // ?a + 0 * #m",
        "counters\n    #m counts open_door\n    #unused counts hit_wall",
    )
    assert said(machine, other)[-1].startswith(f"{EQUAL}; proved by induction")


def test_a_rules_counter_equals_that_of_its_event_where_the_rule_always_fires():
    machine = small("    open_door // #n * ?a", "counters\n    #n counts open_door at here")
    other = small("    paid: open_door // #n * ?a", "counters\n    #n counts rule paid")
    assert said(machine, other)[-1].startswith(f"{EQUAL}; proved by induction")


def test_steps_at_which_a_machine_is_ambiguous_are_left_out():
    machine = small("    open_door // ?a\n    see_target // 2 * ?a")
    assert check(machine, MINIGRID_WORDS).of("determinism", "error")
    assert said(machine, machine)[-1].startswith(f"{EQUAL}; proved by induction")


def test_a_node_that_is_split_in_two_is_proved_equal():
    other = parse("""
machine m
holes ?a ?b
start odd
    open_door // ?a -> even
    reach_goal // ?b -> end
node even
    open_door // ?a -> odd
    reach_goal // ?b -> end
accept end
""")
    assert said(small("    open_door // ?a"), other)[-1] == f"{EQUAL}; proved by induction over 3 pairs of nodes"


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_trace_is_as_long_as_it_must_be(limit):
    counters = "counters\n    #n counts open_door"
    machine = small(f"    open_door and #n <= {limit} // ?a", counters)
    (finding,) = compare(machine, small("    open_door // ?a"), MINIGRID_WORDS).of("against")
    assert f"on a trace of {limit + 2} steps" in finding.message
    assert {step.events for step in finding.witness.steps} == {("open_door",)}
    assert finding.witness.steps[-1].pay == "0"


def test_traces_keep_the_balances_of_the_vocabulary():
    machine = small("    drop_key // ?a")
    (finding,) = compare(machine, small("    drop_key // 2 * ?a"), MINIGRID_WORDS).of("against")
    assert [step.events for step in finding.witness.steps] == [("pick_up_key",), ("drop_key",)]


def test_attributes_are_part_of_the_trace():
    machine = small("    open_door where colour = red // ?a")
    (finding,) = compare(machine, small("    open_door where colour != blue // ?a"), MINIGRID_WORDS).of("against")
    assert finding.witness.steps[0].events[0] in ("open_door where colour = green", "open_door where colour = purple")


def test_values_are_carried_from_one_machine_to_the_other():
    machine = find_machine("keycorridor")
    messages = said(machine, find_machine("keycorridor_handset"))
    assert messages == [
        "the values that one machine gives break the constraint; asked without it",
        f"{EQUAL}; proved by induction over 4 pairs of nodes",
    ]


def test_the_plain_reward_machine_differs_from_the_symbolic_one_with_the_same_values():
    report = compare(find_machine("keycorridor_handset"), find_machine("keycorridor_rm"), MINIGRID_WORDS)
    (finding,) = report.of("against")
    (step,) = finding.witness.steps
    assert (step.events, step.pay, step.other_pay) == (("open_door",), "0", "0.1")


def test_holes_of_one_machine_alone_are_told():
    messages = said(small("    open_door // ?a"), parse("machine n\nholes ?c ?b\nstart x\n    open_door // ?c\n"))
    assert messages[:2] == ["holes of m alone: ?a", "holes of n alone: ?c"]


def test_a_bound_on_what_the_search_is_paid_tells_obstructedmaze_2_and_3_apart():
    messages = said(find_machine("obstructedmaze_2"), find_machine("obstructedmaze_3"))
    assert messages == ["pays differently on a trace of 3 steps, and on none that is shorter"]


def test_hindsight_tells_obstructedmaze_1_and_3_apart():
    report = compare(find_machine("obstructedmaze_1_handset"), find_machine("obstructedmaze_3_handset"), MINIGRID_WORDS)
    (finding,) = report.of("against")
    first, second = finding.witness.steps
    assert first.events[0].startswith("open_box where colour = ")
    assert second.events[0].startswith("unlock_door where colour = ")
    # the box held a key of another colour, so its opening is re-paid 0
    assert (first.pay, first.other_pay) == ("0", "0.1")


@pytest.mark.parametrize("words", [MINIGRID_WORDS, None])
def test_hindsight_with_another_test_is_a_difference(words):
    rules = "    open_box // ?a\n    unlock_door // 0\n        hindsight\n            last open_box where {test} // 0"
    machine = small(rules.format(test="colour = unlock_door.colour, colour != purple"))
    other = small(rules.format(test="colour = unlock_door.colour"))
    (finding,) = compare(machine, other, words).of("against")
    assert [step.events for step in finding.witness.steps] == [
        ("open_box where colour = purple",),
        ("unlock_door where colour = purple",),
    ]
    assert finding.witness.steps[0].other_pay == "0"


def test_machines_that_accept_at_different_steps_are_told_apart_though_they_pay_the_same():
    other = parse("machine m\nholes ?a ?b\nstart here\n    reach_goal // ?b -> end\nnode end\n")
    report = compare(small(""), other, MINIGRID_WORDS)
    assert [f.severity for f in report.of("against")] == ["note", "warning"]
    assert "accept where the other does not: at end / end" in report.of("against")[1].message


def test_what_could_not_be_proved_is_said_to_be_undecided_beyond_the_traces_that_were_looked_at():
    counters = "counters\n    #picked counts pick_up_key\n    #dropped counts drop_key"
    machine = small("    open_door and #picked - #dropped > 1 // ?a", counters)  # never: one key at a time
    messages = said(machine, small(""), most_steps=4, seconds=60)
    assert messages == [f"{EQUAL} of up to 4 steps; not decided beyond"]


def test_finitely_many_places_are_looked_at_to_the_end():
    machine = small(
        "    drop_key and 2 > 3 // ?a\n    open_box // ?a", "counters\n    #n counts drop_key resets on drop_key"
    )
    other = parse("machine m\nholes ?a ?b\nstart here\n    open_box // ?a\n    reach_goal // ?b -> end\naccept end\n")
    assert said(machine, other)[0].startswith(EQUAL)


def test_a_constraint_that_cannot_be_met_is_told_first():
    machine = small("    open_door // ?a", tail="constraint\n    ?a >= 1\n    ?a <= 0\n")
    report = compare(machine, machine, MINIGRID_WORDS)
    assert [f.question for f in report.findings] == ["constraint"]
