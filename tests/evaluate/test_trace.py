"""A trace tells what was paid and why, and its totals add up."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import numpy as np
import pytest
from rich.console import Console

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import MachineError
from srm.evaluate.explain import equation, guard_in_numbers
from srm.evaluate.reference import Walk
from srm.evaluate.trace import Trace, as_json, total, trace
from srm.evaluate.trace_text import show_exercised, show_totals, show_trace
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from tests.evaluate.busy import busy_machine, busy_stream
from tests.evaluate.scripts import Script, Told, events_of, trajectory_of
from tests.evaluate.test_agreement import by_reference, piece
from tests.machines import WORDS

DOORKEY = (
    "",
    "",
    "pick_up_key yellow (1, 2)",
    "unlock_door yellow (4, 4)",
    "close_door yellow (4, 4)",
    "hit_wall",
    "close_door yellow (4, 4)",
    "reach_goal (6, 6)",
)
MAZE = (
    "open_box red (1, 1)",
    "drop_ball blue (7, 7)",
    "pick_up_key green (2, 2)",
    "unlock_door green (5, 4)",
    "see_target (9, 9); drop_key green (2, 2)",
)


def traced(machine: Machine, script: Script, values: Mapping[str, float] | None = None) -> Trace:
    return trace(
        machine, Told(events_of(script)), trajectory_of(len(script)), machine.values() if values is None else values
    )


def told(machine: Machine, script: Script, *, all_steps: bool = False) -> list[str]:
    """The steps as a reader of a pipe sees them."""
    out = io.StringIO()
    show_trace(Console(file=out), machine, traced(machine, script), all_steps=all_steps)
    return out.getvalue().splitlines()


def walk_of(machine: Machine, **counts: int) -> Walk:
    walk = Walk(machine, MINIGRID_WORDS, machine.values())
    walk.counts |= counts
    return walk


# Numbers in place


@pytest.mark.parametrize(
    ("term", "shown"),
    [
        ("#opened * (?close - ?open) + ?find_key", "2 * (-0.4 - 0.1) + 1.2 = 0.2"),
        ("?find_key", "1.2"),
        ("-?close", "0.4"),
        ("?find_key - #opened * ?open", "1.2 - 2 * 0.1 = 1"),
        ("2", "2"),
        ("half * 2", "(1.2 - 0.6) * 2 = 1.2"),
        ("#never * ?open + #opened * ?open + ?close + 1", "2 * 0.1 + -0.4 + 1 = 0.8"),  # a long sum without its 0 * 0.1
    ],
)
def test_terms_are_shown_with_numbers_in_place_and_worked_out(term: str, shown: str) -> None:
    machine = parse(
        f"""machine m
holes ?close = -0.4 ?open = 0.1 ?find_key = 1.2
counters
    #opened counts open_door
    #never counts hit_wall
let half = ?find_key - 0.6
start one
    open_door // {term}
"""
    )
    assert equation(walk_of(machine, opened=2), machine.nodes[0].rules[0].pay, {}) == shown


@pytest.mark.parametrize(
    ("guard", "shown"),
    [
        ("open_door and #n * ?a + 1 > 0", "open_door and 3 * 0.5 + 1 = 2.5 > 0"),
        ("open_door and ?a > #n - 1", "open_door and 0.5 > 3 - 1 = 2 (false)"),
        ("not (?a > 0) or (open_door and not hit_wall)", "not (0.5 > 0) or open_door and not hit_wall"),
        ("(open_door or hit_wall) and always", "(open_door or hit_wall) and always"),
    ],
)
def test_guards_say_which_comparison_fails(guard: str, shown: str) -> None:
    machine = parse(
        f"""machine m
holes ?a = 0.5
counters
    #n counts open_door
start one
    {guard} // 1
"""
    )
    assert guard_in_numbers(walk_of(machine, n=3), machine.nodes[0].rules[0].guard, {}) == shown


# Records


def test_a_step_tells_its_rule_its_guard_and_its_pay() -> None:
    step = traced(find_machine("doorkey_handset"), DOORKEY).steps[4]
    assert (step.node, step.target, step.counters) == ("after_unlocking", "after_unlocking", {"closed": 0})
    assert [str(event) for event in step.happened] == ["close_door yellow (4, 4)"]
    assert step.fired is not None
    assert step.fired.rule == "after_unlocking.1"
    assert step.fired.in_numbers == "close_door and 0 * -0.5 + 0.5 = 0.5 > 0"
    assert step.pay is not None
    assert (step.pay.written, step.pay.value) == ("?close", -0.5)


def test_a_rule_that_might_have_fired_says_why_it_did_not() -> None:
    step = traced(find_machine("doorkey_handset"), DOORKEY).steps[6]
    assert step.fired is None
    (refused,) = step.refused
    assert (refused.rule, refused.holds) == ("after_unlocking.1", False)
    assert refused.in_numbers == "close_door and 1 * -0.5 + 0.5 = 0 > 0 (false)"
    assert refused.holes == ("unlock", "close")


def test_a_rule_that_yields_is_told_from_one_that_does_not_hold() -> None:
    step = traced(find_machine("obstructedmaze_3_handset"), MAZE).steps[4]
    assert step.fired is not None
    assert step.fired.rule == "searching.1"
    assert [(reason.rule, reason.holds) for reason in step.refused] == [("searching.7", True)]


def test_hindsight_is_told_where_it_is_made_and_where_it_lands() -> None:
    steps = traced(find_machine("obstructedmaze_1_handset"), MAZE).steps
    changes = [(change.step, change.before, change.now.value, change.now.written) for change in steps[3].repaid]
    assert changes == [(0, 0.1, 0.0, "0"), (1, 0.1, 0.1, "?drop_ball"), (2, 0.1, 0.1, "?pick_key")]
    assert [step.repaid_at for step in steps] == [3, 3, 3, None, None]
    assert steps[0].pay is not None
    assert (steps[0].pay.value, steps[0].value) == (0.1, 0.0)


def test_the_trace_of_a_random_machine_pays_what_the_reference_pays() -> None:
    for seed in range(20):
        machine, stream = busy_machine(seed), busy_stream(seed, envs=1)
        over = np.flatnonzero((stream.terminated | stream.truncated)[:, 0])
        steps = int(over[0]) + 1 if len(over) else stream.events.steps
        rng = np.random.default_rng(seed)
        values = dict(zip(machine.hole_names, (rng.integers(-8, 9, 3) / 4).tolist(), strict=True))
        found = trace(machine, Told(piece(stream, 0, steps).events, WORDS), trajectory_of(steps), values)
        expected = by_reference(machine, [stream], np.array(list(values.values())))
        assert [step.value for step in found.steps] == expected[:steps, 0].tolist()
        sums = total(machine, values, [found])
        assert sum(row.amount for row in sums.holes) == pytest.approx(found.pay)
        assert sum(row.amount for row in sums.rules) == pytest.approx(found.pay)


# Totals


def test_the_return_by_hole_follows_the_coefficients_of_an_amortised_pay() -> None:
    machine = find_machine("keycorridor_revised")
    script = ("open_door red (2, 2)", "open_door blue (2, 4)", "pick_up_key green (1, 6)", "unlock_door green (6, 4)")
    sums = total(machine, machine.values(), [traced(machine, script)])
    rows = {row.hole: (row.paid, row.decided, round(row.amount, 9)) for row in sums.holes}
    assert rows["open"] == (2, 2, 0.0)  # 0.1 for a door, and -1 * 0.1 as an advance of the key
    assert rows["find_key"] == (1, 2, 0.1)
    assert rows["unlock"] == (1, 0, 0.5)
    assert rows["close"] == (0, 2, 0.0)  # pays nothing, but decides whether doors are paid
    assert sums.unused == ("target", "drop_used", "drop_unused", "pick_used")


def test_the_return_by_rule_tells_hindsight_from_what_was_paid_at_once() -> None:
    machine = find_machine("obstructedmaze_1_handset")
    sums = total(machine, machine.values(), [traced(machine, MAZE), traced(machine, ("hit_wall",))])
    rows = {row.rule: row for row in sums.rules}
    assert (rows["searching.2"].at_once, rows["searching.2"].hindsight) == pytest.approx((0.6, -0.1))
    assert (rows["searching.3"].fired, rows["searching.3"].trajectories, rows["searching.3"].amount) == (1, 1, 0.1)
    assert sums.pay == pytest.approx(0.1 + 0.1 + 0.6 + 1)
    assert sums.steps == 6


# Text and JSON


def test_idle_steps_are_folded_and_reasons_stand_below_their_step() -> None:
    assert told(find_machine("doorkey_handset"), DOORKEY) == [
        "step  node              events                     rule                 pay",
        "      2 idle steps",
        "   2  before_unlocking  pick_up_key yellow (1, 2)  before_unlocking.1   0.1  ?pick",
        "   3  before_unlocking  unlock_door yellow (4, 4)  before_unlocking.3   0.5  ?unlock  -> after_unlocking",
        "   4  after_unlocking   close_door yellow (4, 4)   after_unlocking.1   -0.5  ?close",
        "                        because close_door and 0 * -0.5 + 0.5 = 0.5 > 0",
        "      1 idle step",
        "   6  after_unlocking   close_door yellow (4, 4)   -",
        "                        not after_unlocking.1: close_door and 1 * -0.5 + 0.5 = 0 > 0 (false)",
        "                        counters #closed = 1",
        "   7  after_unlocking   reach_goal (6, 6)          after_unlocking.2      1  ?goal  -> end",
        "                        counters #closed = 2",
    ]


def test_hindsight_and_yielding_are_told_in_words() -> None:
    lines = told(find_machine("obstructedmaze_1_handset"), MAZE)
    assert any(line.endswith("?open_box, 0 in hindsight of step 3") for line in lines)
    assert any(line.endswith("pays step 0 anew: 0.1 -> 0  0  (open_box red (1, 1))") for line in lines)
    assert any(line.endswith("not searching.7: it holds, but yields to searching.1") for line in lines)


def test_a_step_that_earned_nothing_at_once_says_what_hindsight_paid_it() -> None:
    """Five advances of 0.12 use up ?unlock = 0.6, so the right key is refused its pay, until it has unlocked the door."""
    script = ("open_box red (1, 1)",) * 5 + ("pick_up_key green (2, 2)", "unlock_door green (5, 4)")
    lines = told(find_machine("obstructedmaze_1_handset"), script)
    assert any(line.endswith(" 0  0.1 in hindsight of step 6") for line in lines)


def test_all_steps_shows_idle_steps_too() -> None:
    lines = told(find_machine("doorkey_handset"), DOORKEY, all_steps=True)
    assert not any("idle" in line for line in lines)
    assert lines[1].split() == ["0", "before_unlocking", "-"]


def test_what_is_piped_has_no_colours_and_a_terminal_does() -> None:
    machine = find_machine("doorkey_handset")
    found = traced(machine, DOORKEY)
    for terminal in (False, True):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=80)
        show_trace(console, machine, found)
        show_totals(console, total(machine, machine.values(), [found]))
        show_exercised(console, {0: found}, machine)
        assert ("\x1b[" in out.getvalue()) == terminal


def test_json_has_the_documented_fields() -> None:
    machine = find_machine("obstructedmaze_1_handset")
    data = as_json(machine, machine.values(), {3: traced(machine, MAZE)})
    data = json.loads(json.dumps(data, allow_nan=False))
    assert set(data) == {"format", "machine", "values", "traces", "totals"}
    (only,) = data["traces"]
    assert set(only) == {"index", "steps", "terminated", "pay", "task_reward"}
    assert only["index"] == 3
    assert set(only["steps"][0]) == {
        "step", "action", "happened", "signals", "node", "counters", "fired", "refused", "pay", "repaid", "target",
        "kept", "repaid_at",
    }  # fmt: skip
    assert only["steps"][0]["kept"] == {"written": "0", "in_numbers": "0", "value": 0.0, "shares": []}
    assert only["steps"][0]["happened"] == [{"event": "open_box", "attributes": {"colour": "red", "place": "(1, 1)"}}]


def test_a_machine_with_foreign_words_is_refused() -> None:
    machine = parse("machine m\nstart one\n    fly // 1\n")
    with pytest.raises(MachineError, match="fly"):
        traced(machine, DOORKEY, {})
