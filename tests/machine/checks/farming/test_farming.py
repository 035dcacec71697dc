"""Farming: which loops can be repeated for gain, without end or up to a bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.evaluate.reference import Walk
from srm.machine.checks.check import check
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Counter, Machine, Node, Rule
from srm.machine.terms import CounterTerm, Happens, Number, Product, Sum
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary

SAFE = "no loop can be repeated without end for gain"


def told(machine: Machine, vocabulary: Vocabulary | None = MINIGRID_WORDS, constraint: str | None = None) -> list[str]:
    findings = check(machine, vocabulary, constraint).of("farming")
    return [f"{f.severity}: {f.place}: {f.message}" if f.place else f.message for f in findings]


def about(machine: Machine, *events: str, constraint: str | None = None, node: str = "") -> list[str]:
    """What is said of the loops with these events."""
    return [line for line in told(machine, constraint=constraint) if f": {', '.join(events)}:" in line and node in line]


# The shipped machines


def test_picking_up_and_dropping_the_used_key_cannot_be_farmed_in_keycorridor():
    (said,) = about(find_machine("keycorridor"), "pick_up_key", "drop_key", node="after_unlocking")
    assert said == (
        "note: node after_unlocking: pick_up_key, drop_key: cannot be farmed; "
        "a round pays ?pick_used + ?drop_used, which is never above 0"
    )
    assert told(find_machine("keycorridor"))[-1] == SAFE


def test_without_its_constraint_keycorridor_can_be_farmed_by_picking_up_and_dropping_the_key():
    machine = find_machine("keycorridor")
    (said,) = about(machine, "pick_up_key", "drop_key", constraint="none", node="before_unlocking")
    assert said.startswith(
        "warning: node before_unlocking: pick_up_key, drop_key: can be repeated without end for gain"
    )
    found = check(machine, MINIGRID_WORDS, "none").of("farming", "warning")
    (finding,) = [f for f in found if f.message == said.removeprefix("warning: node before_unlocking: ")]
    values = {name: float(text) for name, text in finding.witness.assignment.items()}
    assert values["find_key"] + values["drop_unused"] > 0
    assert [step.events for step in finding.witness.steps] == [("pick_up_key",), ("drop_key",)]


def test_opening_doors_in_keycorridor_is_bounded_by_what_the_key_is_worth():
    (said,) = about(find_machine("keycorridor"), "open_door", "close_door", node="before_finding_key")
    assert said.endswith(
        "the guard of rule opened_in_search_of_the_key allows at most ?find_key / (?open - ?close) + 1 rounds, "
        "together at most ?find_key + ?open + ?close"
    )


@pytest.mark.parametrize("name", ["obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3"])
def test_moving_a_ball_in_obstructedmaze_pays_and_is_bounded_only_by_its_guard(name):
    machine = find_machine(name)
    (said,) = about(machine, "pick_up_ball", "drop_ball", node="searching")
    assert said.startswith("note: node searching: pick_up_ball, drop_ball: a round pays ?pick_ball + ?drop_ball")
    assert "but not without end" in said
    assert "left > 0" in said
    assert "at most ?unlock / (?drop_ball + ?pick_ball - 2 * ?close) + 1 rounds" in said
    assert said.endswith("(between two unlock_door)")
    unguarded = parse(
        str(machine).replace("pick_up_ball and left > 0", "pick_up_ball").replace("drop_ball and left > 0", "drop_ball")
    )
    if name != "obstructedmaze_2":  # where another guard is left
        (said,) = about(unguarded, "pick_up_ball", "drop_ball", node="searching")
        assert "can be repeated without end for gain" in said


@pytest.mark.parametrize("name", ["obstructedmaze_1", "obstructedmaze_3"])
def test_toggling_a_door_in_obstructedmaze_can_be_farmed(name):
    (said,) = about(find_machine(name), "open_door", "close_door", node="searching")
    assert "can be repeated without end for gain; a round pays ?open + ?close" in said


def test_what_the_search_is_paid_bounds_toggling_in_obstructedmaze_2():
    assert told(find_machine("obstructedmaze_2"))[-1] == SAFE


def test_a_concretized_machine_tells_the_largest_total_and_how_it_is_reached():
    findings = check(find_machine("obstructedmaze_1_handset"), MINIGRID_WORDS).of("farming")
    (largest,) = [f for f in findings if "largest total" in f.message]
    # 0.6 is left at first; keys cost 0.12 and 0.02, balls 0.12 each: 0.1 for a key's round, 0.2 for a ball's
    assert largest.message.startswith(
        "the largest total that loops can farm is 0.5 before hindsight (between two unlock_door), by "
    )
    assert sum(float(step.pay) for step in largest.witness.steps) == pytest.approx(0.5)
    (balls,) = [f for f in findings if f.message.startswith("pick_up_ball, drop_ball")]
    assert balls.message.endswith("from counters at 0 it can be made 2 times, which pays 0.4 (between two unlock_door)")


KEYCORRIDOR = {"target": 1.5, "find_key": 1.0, "drop_used": 0.5, "unlock": 0.7, "drop_unused": -1.2, "pick_used": -0.6}


def test_advances_that_exceed_their_milestone_are_warned_of():
    """Two doors are paid before nothing is left of 0.7: unlocking pays 0.7 - 2 * 0.3 = 0.1 then, or 0.7 - 2 * 0.4 = -0.1."""
    machine = find_machine("keycorridor")
    for value, found in ((0.3, []), (0.4, ["-0.1 after that, 0.7 without"])):
        values = KEYCORRIDOR | {"open": value, "close": -0.05}
        said = [line for line in told(machine.concretize(values)) if "rule `unlock_door" in line and "stay" in line]
        assert [line.split(" pays ")[1].split(": ")[0] for line in said] == found
        assert all(line.startswith("warning: node before_unlocking: ") for line in said)


def test_the_revised_values_of_keycorridor_can_be_farmed():
    (said,) = about(find_machine("keycorridor_revised"), "pick_up_key", "drop_key", node="before_unlocking")
    assert said.endswith("can be repeated without end for gain; a round pays 0.1")


def test_without_a_sign_for_dropping_a_key_its_penalty_can_be_dodged_for_ever():
    # dropping a key then adds to `left`; done while nothing is left it is counted but not paid, and the next key pays again
    machine = find_machine("obstructedmaze_3")
    found = check(machine, MINIGRID_WORDS, "printed").of("farming", "warning")
    (finding,) = [f for f in found if f.message.startswith("pick_up_key, drop_key (idle): can be repeated")]
    values = {name: float(Fraction(text)) for name, text in finding.witness.assignment.items()}
    assert not check(machine.concretize(values), MINIGRID_WORDS, "printed").of("constraint", "error")
    walk = Walk(machine, MINIGRID_WORDS, values)
    walk.counts |= finding.witness.counters
    paid = [
        walk.step({event: {"colour": 0, "place": 0}}, {}).pay
        for _ in range(50)
        for event in ("pick_up_key", "drop_key")
    ]
    assert paid == [values["pick_key"], 0] * 50
    assert values["pick_key"] > 0


# Small machines


def loops_of(
    rules: str, counters: str = "", vocabulary: Vocabulary | None = MINIGRID_WORDS, holes: str = "", tail: str = ""
) -> list[str]:
    text = f"machine m\n{f'holes {holes}' if holes else ''}\n{counters}\nstart here\n{rules}\n    reach_goal // 9 -> end\naccept end\n{tail}"
    return told(parse(text), vocabulary)


def test_a_rule_that_pays_for_an_event_that_can_recur_is_farmed():
    assert loops_of("    hit_wall // 1")[0].endswith("hit_wall: can be repeated without end for gain; a round pays 1")


def test_an_event_that_happens_finitely_often_is_not_farmed():
    assert loops_of("    open_box // 1") == [SAFE]
    assert "can be repeated" in loops_of("    open_box // 1", vocabulary=None)[0]


def test_what_must_happen_in_between_is_part_of_the_loop_even_where_no_rule_pays_for_it():
    (said,) = loops_of("    pick_up_key // 1")
    assert said.endswith("pick_up_key, drop_key (idle): can be repeated without end for gain; a round pays 1")


def test_reaching_an_accepting_node_is_not_farming():
    assert loops_of("    hit_wall // 5 -> end") == [SAFE]


def test_a_loop_through_several_nodes_is_found():
    machine = parse("""
machine m
start a
    open_door // 2 -> b
node b
    close_door // -1 -> a
    reach_goal // 1 -> end
accept end
""")
    assert told(machine) == [
        "warning: nodes a, b: open_door, close_door: can be repeated without end for gain; a round pays 1"
    ]


def test_balances_that_are_kept_only_together_make_one_loop():
    machine = parse("""
machine m
start a
    pick_up_key // 3 -> b
node b
    hit_wall // -1 -> c
    reach_goal // 1 -> end
node c
    drop_key // -1 -> a
accept end
""")
    assert told(machine)[0].startswith(
        "warning: nodes a, b, c: pick_up_key, hit_wall, drop_key: can be repeated without end for gain; a round pays 1"
    )


def test_a_loop_that_needs_another_to_get_from_place_to_place_is_found():
    # the key is picked up at a and dropped at b, and getting from a to b and back is a loop of its own
    machine = parse("""
machine m
start a
    pick_up_key // 3
    open_door // 0 -> b
node b
    drop_key // 0
    close_door // -1 -> a
    reach_goal // 1 -> end
accept end
""")
    said = [line for line in told(machine) if "pick_up_key" in line and "can be repeated" in line]
    assert said


COUNTED = "counters\n    #hits counts hit_wall"


def test_a_counter_that_bounds_a_rule_bounds_the_loop():
    said = loops_of("    hit_wall and #hits < 3 // 2", COUNTED)
    assert said[0].endswith("from counters at 0 it can be made 3 times, which pays 6")
    assert "the largest total that loops can farm is 6" in said[1]
    assert said[-1] == SAFE
    assert loops_of("    hit_wall and #hits < 1 // 2", COUNTED)[0].endswith("it can be made once, which pays 2")


@pytest.mark.parametrize(
    "guard",
    ["#hits <= 2", "not (#hits >= 3)", "3 > #hits", "#hits * #hits + #hits < 12", "#hits * #hits < 7", "#hits = 2"],
)
def test_guards_that_a_growing_counter_ends(guard):
    assert loops_of(f"    hit_wall and {guard} // 2", COUNTED)[-1] == SAFE


@pytest.mark.parametrize("guard", ["#hits >= 3", "#hits != 4", "#hits * 2 > #hits + 1", "#hits < 3 or #hits > 5"])
def test_guards_that_hold_from_some_count_on_do_not_end_a_loop(guard):
    assert "can be repeated without end" in loops_of(f"    hit_wall and {guard} // 2", COUNTED)[0]


def test_the_example_begins_with_counters_at_which_the_loop_goes_round():
    machine = parse(
        f"machine m\n{COUNTED}\nstart here\n    hit_wall and #hits >= 3 // 2\n    reach_goal // 1 -> end\naccept end\n"
    )
    (finding,) = check(machine, MINIGRID_WORDS).of("farming")
    assert finding.witness.counters["hits"] >= 3


def test_a_counter_that_is_reset_in_the_loop_bounds_nothing():
    counters = "counters\n    #hits counts hit_wall resets on open_door"
    said = loops_of("    hit_wall and #hits < 3 // 2\n    open_door // 0", counters)
    assert any("can be repeated without end" in line for line in said)


def test_a_counter_that_is_reset_finitely_often_bounds_the_loop_in_between():
    counters = "counters\n    #hits counts hit_wall resets on unlock_door"
    said = loops_of("    hit_wall and #hits < 3 // 2", counters)
    assert said[0].endswith("which pays 6 (between two unlock_door)")


def test_two_counters_that_grow_together_do_not_bound_a_loop():
    counters = "counters\n    #hits counts hit_wall\n    #opened counts open_door"
    said = loops_of("    hit_wall and #hits <= #opened // 2", counters)
    assert any("can be repeated without end" in line for line in said)


def test_pay_that_falls_as_its_counter_grows_ends_the_gain():
    said = loops_of("    hit_wall // 5 - #hits", COUNTED)
    assert said[-1] == SAFE


def test_pay_that_falls_ends_no_gain_where_another_of_the_loop_grows():
    counters = "counters\n    #keys counts pick_up_key"
    assert loops_of("    pick_up_key // 3 - #keys\n    drop_key // 1", counters)[-1] == SAFE
    said = loops_of("    pick_up_key // -1 * #keys\n    drop_key // 2 * #keys", counters)
    assert SAFE not in said
    assert any("pick_up_key, drop_key: can be repeated" in line for line in said)


def test_a_counter_that_grows_between_two_moves_is_paid_for_even_where_their_pays_would_cancel():
    counters = "counters\n    #keys counts pick_up_key"
    machine = parse(f"machine m\n{counters}\nstart here\n    pick_up_key // -1 * #keys\n    drop_key // #keys\n")
    (finding,) = check(machine, MINIGRID_WORDS).of("farming")
    assert finding.message.endswith("without end for gain; a round pays #keys at move 2 - #keys at move 1")
    walk = Walk(machine, MINIGRID_WORDS, {})
    paid = [walk.step({event: {"colour": 0, "place": 0}}, {}).pay for event in ("pick_up_key", "drop_key") * 3]
    assert paid == [0, 1, -1, 2, -2, 3]


def test_a_signal_that_differs_between_two_moves_is_paid_for_even_where_their_pays_would_cancel():
    machine = parse("machine m\nstart here\n    pick // speed\n    drop // -1 * speed\n")
    (finding,) = check(machine, replace(ROOMS, signals=(Signal("speed", ""),))).of("farming")
    assert "pick, drop: can be repeated without end" in finding.message


def test_a_guard_that_reads_a_signal_is_not_counted_out_as_if_the_signal_were_0():
    said = loops_of("    hit_wall and speed > 2 and #hits < 3 // 1", COUNTED, vocabulary=None)
    assert said[0].endswith("and #hits < 3 // 1` allows at most 3 rounds")
    assert said[-1] == SAFE


def test_an_accepting_node_that_goes_on_paying_is_farmed():
    machine = parse("machine m\nstart here\n    reach_goal // 1 -> there\naccept there\n    hit_wall // 1\n")
    assert told(machine) == ["warning: node there: hit_wall: can be repeated without end for gain; a round pays 1"]


def test_pay_that_grows_with_its_counter_is_farmed():
    assert "can be repeated" in loops_of("    hit_wall // #hits - 100", COUNTED)[0]


def test_amortised_pay_is_farmed_only_where_the_deduction_does_not_grow():
    rules = "    paid: open_door // ?open\n    close_door // ?find - #paid * ?open"
    counters = "counters\n    #paid counts rule paid"
    said = loops_of(rules, counters, holes="?open ?find", tail="constraint\n    ?open >= 0.1\n    ?find >= 0\n")
    assert said[-1] == SAFE
    said = loops_of(rules, counters, holes="?open ?find", tail="constraint\n    ?open >= 0\n    ?find >= 0\n")
    assert "can be repeated without end" in said[0]


def test_the_bound_of_an_open_machine_is_an_expression():
    said = loops_of(
        "    hit_wall and #hits * ?a < ?b // ?c", COUNTED, holes="?a ?b ?c", tail="constraint\n    ?a >= 1\n"
    )
    assert said[0].endswith(
        "hit_wall: a round pays ?c, but not without end: the guard of rule `hit_wall and #hits * ?a < ?b // ?c` "
        "allows at most ?b / ?a + 1 rounds"
    )


def test_a_signal_may_pay_without_end():
    words = Vocabulary("w", (Event("go", ""), Event("stop", "")), signals=())
    machine = parse("machine m\nstart here\n    go and speed < 1 // speed\n    stop // 1 -> end\naccept end\n")
    (finding,) = check(machine).of("farming")
    assert "can be repeated without end" in finding.message
    assert 0 < float(finding.witness.signals["speed at step 1"]) < 1
    capped = parse("machine m\nstart here\n    go and speed < 0 // speed\n    stop // 1 -> end\naccept end\n")
    assert [f.message for f in check(capped).of("farming")][-1] == SAFE
    assert words.acts == ("go", "stop")


UNTIL_DONE = "accept done\nstart here\n    go // 0 -> done\n    otherwise\n"  # so that paying at every step is not all that is wanted


def tilted(pay: str, low: float | None, high: float | None) -> list[str]:
    """What is said of a machine that pays for a signal of this range at every step."""
    words = Vocabulary("w", (Event("go", ""),), signals=(Signal("tilt", "", low, high), Signal("wind", "")))
    tail = "constraint\n    ?a <= 0\n"
    return told(parse(f"machine m\nholes ?a\n{UNTIL_DONE}    always // {pay}\n{tail}"), words)


@pytest.mark.parametrize(
    ("pay", "low", "high", "safe"),
    [
        ("?a * tilt", 0, None, True),
        ("?a * tilt", None, None, False),
        ("?a * tilt", -1, 1, False),
        ("?a * tilt", None, 0, False),
        ("0 - tilt", 0, 3, True),
        ("tilt - 3", 0, 3, True),
        ("tilt - 2", 0, 3, False),
        ("?a * tilt * tilt", None, None, True),  # a square
        ("?a * tilt * tilt", -2, 1, True),
        ("?a * tilt * wind", 0, 1, False),
    ],
)
def test_a_loop_is_judged_within_the_ranges_of_its_signals(pay: str, low: Any, high: Any, safe: bool) -> None:
    said = tilted(pay, low, high)
    assert (said[-1] == SAFE) == safe


def test_a_witness_keeps_to_the_range_of_a_signal():
    words = Vocabulary("w", (Event("go", ""),), signals=(Signal("tilt", "", -0.5, 2),))
    (finding,) = check(parse(f"machine m\n{UNTIL_DONE}    always // 0 - tilt\n"), words).of("farming")
    assert -0.5 <= float(finding.witness.signals["tilt at step 1"]) < 0


@given(
    low=st.integers(-3, 3),
    width=st.integers(0, 3),
    slope=st.integers(-2, 2),
    offset=st.integers(-4, 4),
    open_=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_pay_linear_in_a_signal_is_safe_exactly_if_it_is_at_the_ends_of_the_range(
    low: int, width: int, slope: int, offset: int, open_: bool
) -> None:
    words = Vocabulary("w", (Event("go", ""),), signals=(Signal("tilt", "", low, None if open_ else low + width),))
    said = told(parse(f"machine m\n{UNTIL_DONE}    always // {slope} * tilt + {offset}\n".replace("+ -", "- ")), words)
    best = slope * low + offset if open_ and slope <= 0 else max(slope * low, slope * (low + width)) + offset
    gains = best > 0 or (open_ and slope > 0)
    assert (said[-1] == SAFE) == (not gains)


POTENTIAL = Vocabulary(
    "w",
    (Event("go", ""), Event("stop", "")),
    signals=(Signal("far", "", 0, 3), Signal("change_far", "", -3, 3, change_of="far"), Signal("wind", "", -1, 1)),
)


@pytest.mark.parametrize(
    ("rules", "safe"),
    [
        ("    always // ?a * change_far\n", True),
        ("    go // ?a * change_far - 1\n    otherwise\n    always // ?a * change_far\n", True),
        ("    go // ?a * change_far + 1\n    otherwise\n    always // ?a * change_far\n", False),
        ("    go // 0\n    otherwise\n    always // ?a * change_far\n", False),  # one may drift back unpaid
        ("    go // ?a * change_far\n", False),  # and so where nothing else fires
        ("    go // 2 * ?a * change_far\n    otherwise\n    always // ?a * change_far\n", False),
        ("    always // ?a * change_far * wind\n", False),
    ],
)
def test_changes_of_a_bounded_signal_cannot_be_farmed_where_every_step_is_paid_for_them_alike(
    rules: str, safe: bool
) -> None:
    text = f"machine m\nholes ?a\n{UNTIL_DONE.replace('go', 'stop')}{rules}"
    said = told(parse(text), POTENTIAL)
    assert (said[-1] == SAFE) == safe
    unbounded = replace(POTENTIAL, signals=(Signal("far", "", 0), *POTENTIAL.signals[1:]))
    assert told(parse(text), unbounded)[-1] != SAFE


def test_hindsight_that_may_pay_more_is_reckoned_with():
    rules = "    hit_wall // 0\n    open_box // 0\n        hindsight\n            every hit_wall // 1"
    assert "not decided" in loops_of(rules)[0]
    assert loops_of(rules.replace("every hit_wall // 1", "every hit_wall // -1"))[-1] == SAFE


@pytest.mark.parametrize("guard", ["hit_wall or close_door", "close_door or hit_wall"])
def test_hindsight_is_reckoned_with_whichever_event_of_a_rule_it_pays_anew(guard):
    rules = f"    {guard} // -1\n    open_box // 0.001\n        hindsight\n            every hit_wall // 5"
    assert SAFE not in loops_of(rules)


@pytest.mark.parametrize("pay", ["0", "0.001"])
def test_hindsight_is_reckoned_with_also_of_a_rule_that_pays_nothing_itself(pay):
    rules = f"    hit_wall // -1\n    see_target // {pay}\n        hindsight\n            last hit_wall // 5"
    assert SAFE not in loops_of(rules)


def test_too_many_events_at_once_are_not_decided():
    events = [f"event{number}" for number in range(14)]
    rules = "\n".join(f"    {event} // -1" for event in events)
    counters = "counters\n" + "\n".join(f"    #{event} counts {event}" for event in events)
    (said,) = loops_of(rules, counters, vocabulary=None)
    assert (
        said == "not decided: more than 4,096 sets of events can happen at one step; declare which exclude each other"
    )


def test_too_many_loops_are_not_decided_and_take_no_longer_than_a_few():
    names = [f"n{number}" for number in range(8)]
    nodes = tuple(
        Node(name, tuple(Rule(Happens(f"to_{other}"), Number(-1.0), other) for other in names)) for name in names
    )
    (finding,) = check(Machine("dense", nodes, "n0"), None).of("farming")
    assert finding.message == "not decided: there are more loops than can be listed"


def test_many_loops_are_told_shortly():
    rules = tuple(Rule(Happens(f"event{number}"), Number(-1.0)) for number in range(25))
    words = Vocabulary("w", tuple(Event(f"event{number}", "") for number in range(25)))
    findings = check(Machine("many", (Node("here", rules),), "here"), words).of("farming")
    assert [f.message for f in findings[-2:]] == ["5 more loops that cannot be farmed", SAFE]


def test_many_loops_that_come_to_an_end_are_no_warning():
    names = [f"event{number}" for number in range(22)]
    rules = "\n".join(f"    {name} and #{name} < 2 // 1" for name in names)
    counters = "counters\n" + "\n".join(f"    #{name} counts {name}" for name in names)
    words = Vocabulary("w", tuple(Event(name, "") for name in names))
    machine = parse(f"machine many\nwords w\n\n{counters}\n\nstart here\n{rules}\n", {"w": words})
    findings = check(machine, words).of("farming")
    assert {finding.severity for finding in findings} == {"note"}
    assert SAFE in [finding.message for finding in findings]


# Against a graph search: without counters a loop is a cycle over nodes and levels of the balances

ROOMS = Vocabulary(
    "rooms",
    (Event("pick", ""), Event("drop", ""), Event("open", ""), Event("close", ""), Event("wait", "")),
    balances=(Balance(("pick",), ("drop",), most=1), Balance(("open",), ("close",), most=2)),
)


@st.composite
def plain_machines(draw: st.DrawFn) -> Machine:
    """Machines whose rules ask for one event each and pay a number."""
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    nodes = []
    for name in names:
        events = draw(st.lists(st.sampled_from(ROOMS.acts), unique=True, max_size=4))
        pay = st.integers(-3, 3).map(float)
        target = st.none() | st.sampled_from(names)
        nodes.append(Node(name, tuple(Rule(Happens(event), Number(draw(pay)), draw(target)) for event in events)))
    return Machine("plain", tuple(nodes), "a")


def gains_somewhere(machine: Machine) -> bool:
    """Whether a cycle that can be reached pays more than 0: longest paths still grow after as many rounds as states."""
    best = {(machine.start, 0, 0): 0.0}
    states = len(machine.nodes) * 2 * 3
    for _ in range(2 * states):
        grown = dict(best)
        for (name, held, opened), paid in best.items():
            for event in ROOMS.acts:
                rule = next((r for r in machine.node(name).rules if r.guard == Happens(event)), None)
                keys = held + (event == "pick") - (event == "drop")
                doors = opened + (event == "open") - (event == "close")
                if 0 <= keys <= 1 and 0 <= doors <= 2:
                    after = ((rule.target if rule else None) or name, keys, doors)
                    total = paid + (rule.pay.value if rule else 0.0)
                    grown[after] = max(grown.get(after, float("-inf")), total)
        if grown == best:
            return False
        best = grown
    return True


@settings(max_examples=150)
@given(plain_machines())
def test_loops_are_found_where_a_graph_search_finds_them(machine):
    findings = check(machine, ROOMS).of("farming")
    gains = gains_somewhere(machine)
    if gains:
        assert any("repeated without end" in f.message and f.severity == "warning" for f in findings)
    else:
        assert not any(": can be repeated without end" in f.message for f in findings)


@st.composite
def counting_machines(draw: st.DrawFn) -> Machine:
    """Plain machines with a counter or two that their pays read."""
    machine = draw(plain_machines())
    counted = draw(st.lists(st.sampled_from(ROOMS.acts), unique=True, min_size=1, max_size=2))
    factor = st.sampled_from([None, *(CounterTerm(event) for event in counted)])
    slope = st.sampled_from([-1.0, 1.0])

    def paid(rule: Rule) -> Rule:
        counter = draw(factor)
        return rule if counter is None else replace(rule, pay=Sum((rule.pay, Product((Number(draw(slope)), counter)))))

    nodes = tuple(replace(node, rules=tuple(map(paid, node.rules))) for node in machine.nodes)
    return replace(machine, nodes=nodes, counters=tuple(Counter(event, Happens(event)) for event in counted))


ROUNDS = [
    round_of.split()
    for round_of in (
        "wait",
        "pick drop",
        "open close",
        "open open close close",
        "pick open drop close",
        "pick wait drop",
    )
]


def grows_for_ever(machine: Machine, round_of: list[str]) -> bool:
    """Whether the total of the round, repeated, is seen to grow without end.

    Up to three nodes come back after one, two or three rounds, and pays are linear in the counters: so in the long run what
    six rounds pay changes by the same number each time.
    """
    walk = Walk(machine, ROOMS, {})
    paid = [sum(walk.step({event: {}}, {}).pay for event in round_of) for _ in range(24)]
    early, late = sum(paid[12:18]), sum(paid[18:])
    return 0 < early <= late


@settings(max_examples=40)
@given(counting_machines())
def test_rounds_that_are_seen_to_gain_for_ever_are_not_said_to_be_impossible(machine):
    if any(grows_for_ever(machine, round_of) for round_of in ROUNDS):
        assert SAFE not in [finding.message for finding in check(machine, ROOMS).of("farming")]
