"""Questions about rules, nodes and holes."""

from __future__ import annotations

import time

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.machine.checks.check import check
from srm.machine.language.parse import find_machine, parse
from srm.machine.vocabulary import Event, Signal, Vocabulary


def messages(report, question: str, severity: str | None = None) -> list[str]:
    return [f"{f.place}: {f.message}" if f.place else f.message for f in report.of(question, severity)]


# Determinism


def test_two_rules_that_can_hold_together_are_an_error_with_an_example():
    machine = parse("""
machine clash
holes ?a ?b
counters
    #opened counts open_door
start here
    open_door and #opened * ?a > 1  // ?a
    open_door and ?b <= 0           // ?b
    reach_goal // 1 -> end
accept end
""")
    (error,) = check(machine, MINIGRID_WORDS).of("determinism")
    assert error.severity == "error"
    assert "rule `open_door and #opened * ?a > 1 // ?a` and rule `open_door and ?b <= 0 // ?b`" in error.message
    witness = error.witness
    assert (witness.node, witness.events) == ("here", ("open_door",))
    assert witness.counters["opened"] * float(witness.assignment["a"]) > 1
    assert float(witness.assignment["b"]) <= 0


def test_events_may_hold_together_unless_they_are_declared_exclusive():
    events = tuple(Event(name, "", act=False) for name in ("left_leg", "right_leg", "crash"))
    machine = parse("machine m\nstart here\n    left_leg // 1\n    right_leg // 2\n    crash // 3\n")
    overlapping = check(machine, Vocabulary("w", events)).of("determinism")
    assert len(overlapping) == 3
    assert overlapping[0].witness.events == ("left_leg", "right_leg")
    exclusive = (("left_leg", "right_leg"), ("right_leg", "crash"))
    (still,) = check(machine, Vocabulary("w", events, exclusive=exclusive)).of("determinism")
    assert still.witness.events == ("left_leg", "crash")
    every_pair = (*exclusive, ("crash", "left_leg"))
    (note,) = check(machine, Vocabulary("w", events, exclusive=every_pair)).of("determinism")
    assert note.severity == "note"


def test_rules_that_only_a_value_outside_a_signals_range_would_open_never_fire_together():
    machine = parse("machine m\nstart here\n    speed <= 0 // 1\n    go and speed >= 0 // 2\n")
    words = Vocabulary("w", (Event("go", ""),), signals=(Signal("speed", "", 0.5, 2),))
    report = check(machine, words)
    assert messages(report, "determinism") == ["no two rules of a node can hold at one step"]
    assert "can never fire" in messages(report, "rules")[0]


def test_of_many_rules_that_overlap_twenty_pairs_are_listed():
    rules = "".join(f"    open_door and #opened >= {n} // {n}\n" for n in range(60))
    machine = parse(f"machine many\ncounters\n    #opened counts open_door\nstart here\n{rules}accept end\n")
    *errors, last = check(machine, MINIGRID_WORDS).of("determinism")
    assert [error.severity for error in errors] == ["error"] * 20
    assert last.severity == "warning"
    assert last.message == "20 pairs of rules that can hold at one step are enough: no others were looked for"


@pytest.mark.parametrize(
    "rule",
    [
        "open_door // 1",  # all overlap
        "open_door where place = ({n}, 1) // 1",  # none do
        "open_door and #opened = {n} // 1",
        "open_door and #opened = {n} // 1\n    otherwise always // 0\n    otherwise",
        "open_door and #opened < 0 // 1",  # none can fire
    ],
)
@pytest.mark.parametrize("count", [60, 1500])
def test_a_machine_made_to_take_long_is_checked_in_ten_seconds(rule, count):
    rules = "".join(f"    {rule.format(n=n)}\n" for n in range(count)).removesuffix("    otherwise\n")
    machine = parse(f"machine many\ncounters\n    #opened counts open_door\nstart here\n{rules}accept end\n")
    begun = time.process_time()
    report = check(machine, MINIGRID_WORDS)
    assert time.process_time() - begun < 10
    assert len(report.findings) < 100


def test_five_thousand_rules_that_overlap_are_checked_in_ten_seconds():
    machine = parse("machine many\nstart here\n" + "    open_door // 1\n" * 5000 + "accept end\n")
    begun = time.process_time()
    assert check(machine, MINIGRID_WORDS).of("determinism", "error")
    assert time.process_time() - begun < 10


def clash_of(first: str, second: str, constraint: str = ""):
    text = f"machine m\nholes ?a\nstart here\n    {first} // 1\n    {second} // 2 -> end\naccept end\n{constraint}"
    return parse(text)


@pytest.mark.parametrize(
    ("first", "second", "words", "clashes"),
    [
        ("open_door", "close_door", MINIGRID_WORDS, False),  # one action is taken at a step
        ("open_door", "close_door", None, True),  # nothing is known of these events
        ("open_door", "see_target", MINIGRID_WORDS, True),  # seeing is not an act
        ("open_door and not see_target", "see_target", MINIGRID_WORDS, False),
        ("open_door where colour = red", "open_door where colour = blue", MINIGRID_WORDS, False),
        ("open_door where colour = red", "open_door where colour != blue", MINIGRID_WORDS, True),
        ("open_door where place next to (1, 1)", "open_door where place = (1, 2)", MINIGRID_WORDS, True),
        ("open_door where place next to (1, 1)", "open_door where place = (2, 2)", MINIGRID_WORDS, False),
        ("open_door where place next to (1, 1)", "open_door where place next to (1, 3)", MINIGRID_WORDS, True),
        ("open_door where place next to (1, 1)", "open_door where place next to (1, 4)", MINIGRID_WORDS, False),
        ("open_door where colour = none", "open_door where colour = red", MINIGRID_WORDS, False),
        ("always", "open_door", MINIGRID_WORDS, True),
        ("open_door and ?a > 0", "open_door and ?a < 0", MINIGRID_WORDS, False),
        ("open_door and ?a > 0", "open_door and 2 * ?a > 1", MINIGRID_WORDS, True),
    ],
)
def test_what_is_known_of_events_decides_whether_rules_exclude_each_other(first, second, words, clashes):
    assert bool(check(clash_of(first, second), words).of("determinism", "error")) is clashes


def test_a_constraint_can_make_rules_exclude_each_other():
    machine = clash_of("open_door and ?a > 0", "open_door and 1 - ?a > 0", "constraint\n    ?a >= 1\n")
    assert not check(machine, MINIGRID_WORDS).of("determinism", "error")
    assert check(machine, MINIGRID_WORDS, "none").of("determinism", "error")


def test_rules_below_otherwise_yield_to_those_above():
    machine = parse("""
machine m
start here
    see_target // 1 -> end
    otherwise
    open_door  // 2
    otherwise // 3
accept end
""")
    assert messages(check(machine, MINIGRID_WORDS), "determinism") == ["no two rules of a node can hold at one step"]


def test_counters_that_are_still_0_cannot_make_rules_clash():
    machine = parse("""
machine m
counters
    #opened counts open_door at later
start here
    open_door and #opened > 0 // 1
    open_door                 // 2 -> later
node later
    reach_goal // 3 -> end
accept end
""")
    report = check(machine, MINIGRID_WORDS)
    assert not report.of("determinism", "error")
    assert len(report.of("rules", "warning")) == 1


# Rules that never fire


def test_doorkeys_closing_rule_is_dead_once_a_door_was_closed():
    report = check(find_machine("doorkey"), MINIGRID_WORDS)
    assert (
        "node after_unlocking: rule `close_door and #closed * ?close + ?unlock > 0 // ?close` "
        "can never fire once #closed >= 1"
    ) in messages(report, "rules")
    assert not report.of("rules", "warning")


def test_without_the_constraint_doorkeys_closing_rule_may_fire_again():
    assert messages(check(find_machine("doorkey"), MINIGRID_WORDS, "none"), "rules") == ["every rule can fire"]


@pytest.mark.parametrize(
    ("atoms", "stop"), [("?close <= -1\n    ?unlock <= 3", 3), ("?close <= -1\n    ?unlock <= 3.5", 4)]
)
def test_the_smallest_count_that_stops_a_rule_is_told(atoms, stop):
    machine = parse(f"""
machine m
holes ?close ?unlock
counters
    #closed counts close_door
start here
    close_door and #closed * ?close + ?unlock > 0 // ?close
    reach_goal // 1 -> end
accept end
constraint
    {atoms}
""")
    assert f"can never fire once #closed >= {stop}" in " ".join(messages(check(machine), "rules"))


def test_rules_with_the_same_comparison_are_told_together():
    notes = messages(check(find_machine("obstructedmaze_1_handset"), MINIGRID_WORDS), "rules", "note")
    (told,) = [note for note in notes if "once" in note]
    assert told.count("rule `") == 5
    assert told.endswith("#ball_drops >= 5 or #balls >= 5 or #boxes >= 5 or #key_drops >= 6 or #keys >= 5")


def test_counters_known_to_follow_each_other_make_a_rule_dead():
    machine = parse("""
machine m
counters
    #opened counts open_door
    #paid   counts rule paying
start here
    paying: open_door // 1
    close_door and #paid > #opened // 2
    reach_goal // 1 -> end
accept end
""")
    assert "`close_door and #paid > #opened // 2` can never fire" in messages(check(machine), "rules")[0]


def test_a_balance_of_the_vocabulary_makes_a_rule_dead():
    machine = parse("""
machine m
counters
    #picked  counts pick_up_key
    #dropped counts drop_key
start here
    reach_goal and #picked - #dropped > 1 // 2
    hit_wall // 1 -> end
accept end
""")
    assert "can never fire" in messages(check(machine, MINIGRID_WORDS), "rules", "warning")[0]
    assert not check(machine).of("rules", "warning")


def test_a_rule_that_the_constraint_alone_kills_says_so():
    machine = parse("""
machine m
holes ?a
start here
    open_door and ?a > 0 // ?a
    reach_goal // 1 -> end
accept end
constraint signs
    ?a <= 0
""")
    assert "can never fire under constraint signs" in messages(check(machine), "rules", "warning")[0]


# Nodes and holes


def test_nodes_behind_dead_rules_are_not_reached_and_their_holes_not_exercised():
    machine = parse("""
machine m
holes ?a ?b ?c
start here
    open_door and 1 > 2 // ?a -> there
    reach_goal // 1
node there
    close_door // ?b -> end
accept end
""")
    report = check(machine)
    assert messages(report, "nodes") == [
        "node there: no rules lead here from the start",
        "node end: no rules lead here from the start",
        "no accepting node can be reached (end)",
    ]
    assert [f.severity for f in report.of("nodes")] == ["warning", "warning", "error"]
    assert messages(report, "holes") == [
        "?a: only rules that can never fire use this hole",
        "?b: only rules that can never fire use this hole",
        "?c: no rule uses this hole",
    ]


def test_a_machine_without_an_accepting_node_is_warned_about():
    report = check(parse("machine m\nstart here\n    open_door // 1\n"))
    assert "no node is accepting" in messages(report, "nodes", "warning")[0]
    assert report.exit_code() == 0
    assert report.exit_code(strict=True) == 1


def test_a_hole_that_cancels_out_is_not_used():
    report = check(parse("machine m\nholes ?a\nstart here\n    open_door // ?a - ?a -> end\naccept end\n"))
    assert messages(report, "holes") == ["?a: no rule uses this hole"]


def test_a_hole_that_only_a_guard_uses_is_used():
    report = check(parse("machine m\nholes ?a\nstart here\n    open_door and ?a > 0 // 1 -> end\naccept end\n"))
    assert messages(report, "holes") == ["every hole is used by a rule that can fire"]
