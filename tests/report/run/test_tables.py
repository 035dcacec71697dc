"""The tables of a page: intervals, margins, findings, and who was paid what."""

from __future__ import annotations

import re
from typing import Any

import pytest

from srm.machine.language.parse import parse
from srm.report.run.checks import findings, margin_table, margins
from srm.report.run.holes import posterior_table
from srm.report.run.paid import outcome, paid_tables
from srm.report.run.read import flattened

MACHINE = parse(
    """
machine fetch
holes ?key = 0.5 ?door = 2 ?bell = 0
start outside
    pick_up_key // ?key
    ring: hit_wall // ?bell
    open_door   // ?door - 1 -> end
accept end
constraint both
    "the door is worth most" every hole <= ?door
    ?key >= 0
    ?key + ?bell = 0.4
    ?door <= ?door
"""
)


def text(markup: str) -> str:
    return re.sub("<.*?>", "", markup)


def test_margins_are_the_room_of_the_tightest_condition():
    # every hole <= ?door: 2 - 0.5 and 2 - 0; the equality is off by 0.1; the last atom says nothing
    found = [(margin.atom.label, margin.room) for margin in margins(MACHINE, MACHINE.constraints[0])]
    assert found == [("the door is worth most", 1.5), (None, 0.5), (None, pytest.approx(-0.1))]


def test_a_broken_condition_is_called_broken():
    made = text(margin_table(MACHINE, MACHINE.constraints[0]))
    assert "the door is worth most1.5kept" in made
    assert "?key + ?bell = 0.4−0.1broken" in made
    nearly = MACHINE.concretize({"key": 0.3995})
    assert "= 0.4−0.0005broken" in text(margin_table(nearly, MACHINE.constraints[0]))


def hole(name: str, **changes: Any) -> dict[str, Any]:
    quantiles = [-1.0, -0.5, 0.0, 0.5, 1.0]
    found = {"name": name, "value": 0.25, "spread": 0.5, "quantiles": quantiles, "demonstrated": 3, "played": 0}
    return found | {"exercised": True} | changes


def test_intervals_share_one_scale():
    far = hole("far", quantiles=[3.0, 3.0, 3.0, 3.0, 3.0], value=3.0)
    made = posterior_table(
        {"quantiles": [0.05, 0.25, 0.5, 0.75, 0.95], "constraint": None, "holes": [hole("near"), far]}
    )
    # from -1 at pixel 6 to 3 at pixel 214: 0.25 is at 6 + 208 * 1.25 / 4
    assert re.findall(r'cx="([\d.]+)"', made) == ["71.0", "214.0"]
    assert "−1 … 1" in made


@pytest.mark.parametrize(
    ("changes", "constraint", "told"),
    [
        ({}, "both", "demonstrations"),
        ({"demonstrated": 0, "played": 9}, "both", "play"),
        ({"played": 9}, "both", "demonstrations and play"),
        ({"demonstrated": 0, "exercised": False}, "both", "set by the constraint alone"),
        ({"demonstrated": 0, "exercised": False}, None, "set by nothing but its first guess"),
    ],
)
def test_every_hole_tells_what_set_it(changes: dict[str, Any], constraint: str | None, told: str):
    made = posterior_table({"quantiles": [0.05, 0.5, 0.95], "constraint": constraint, "holes": [hole("x", **changes)]})
    assert text(made).endswith(told)


def test_findings_begin_with_errors_and_carry_their_examples():
    step = {"node": "outside", "events": ["pick_up_key"], "rule": "outside.1", "pay": "?key"}
    idle = {"node": "outside", "events": [], "pay": "0"}
    check = {
        "findings": [
            {"severity": "note", "question": "rules", "place": "", "message": "every rule can fire"},
            {
                "severity": "error",
                "question": "farming",
                "place": "node outside",
                "message": "a < b",
                "witness": {"counters": {"seen": 2}, "assignment": {"key": "1/3"}, "steps": [step, idle]},
            },
        ]
    }
    made = findings(check)
    assert "a &lt; b" in made
    told = text(made)
    assert told.index("error") < told.index("note")
    assert "#seen = 2" in told
    assert "1. pick_up_key at outside: pays ?key\n2. nothing happens at outside: pays 0" in told


def episode(kind: str, number: int, **changes: Any) -> dict[str, Any]:
    told = {"kind": kind, "number": number, "seed": 1, "terminated": True, "return": 0.9, "pay": 2.0, "actions": [0, 1]}
    return (
        told
        | {"holes": {"key": 1.0, "door": 2.0, "": -1.0}, "rules": {"outside.1": [2, 1.0], "outside.3": [1, 1.0]}}
        | changes
    )


def test_outcomes():
    assert outcome(episode("policy", 1)) == "solved"
    assert outcome(episode("policy", 1, terminated=False, **{"return": 0.0})) == "time ran out"
    assert outcome(episode("policy", 1, **{"return": 0.0})) == "ended unsolved"


def test_pay_is_told_by_hole_and_by_rule_with_means_of_each_kind():
    failed = episode(
        "policy", 1, terminated=False, pay=0.5, holes={"key": 0.5}, rules={"outside.1": [1, 0.5]}, **{"return": 0.0}
    )
    made = paid_tables(MACHINE, [episode("demonstration", 1), episode("policy", 2), failed])
    by_hole, by_rule = (
        [[text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in re.findall(r"<tr>.*?</tr>", part)]
        for part in made.split('id="paid-by-rule"')
    )
    assert by_hole[0] == ["episode", "steps", "outcome", "return", "paid", "?key", "?door", "?bell", "no hole"]
    assert by_hole[2] == ["Demonstration 1", "2", "solved", "0.9", "+2", "+1", "+2", "·", "−1"]
    assert by_hole[3] == ["2 policy episodes, mean", "2", "50 % solved", "0.45", "+1.25", "+0.75", "+1", "·", "−0.5"]
    assert by_rule[0][5:] == ["outsidepick_up_key", "outsideopen_door"]
    assert by_rule[2][5:] == ["+1×2", "+1"]
    assert by_rule[-1][5:] == ["+0.5", "·"]
    assert "Rules that fired in none of them: ring." in made


def test_settings_are_told_with_their_full_names():
    settings = {"seed": 3, "ppo": {"clip_coef": 0.2, "net": {"sizes": [64, 64]}}, "machine": None}
    assert dict(flattened(settings)) == {"seed": "3", "ppo.clip_coef": "0.2", "ppo.net.sizes": "64, 64", "machine": "–"}
