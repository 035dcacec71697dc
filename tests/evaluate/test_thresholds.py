"""Where guards cut the readings of a signal, worked out by hand."""

from __future__ import annotations

from srm.evaluate.thresholds import thresholds
from srm.machine.language.parse import parse
from srm.machine.vocabulary import Event, Signal, Vocabulary

WORDS = Vocabulary(
    "road", (Event("crash", "two cars meet"),), signals=(Signal("gap", "metres"), Signal("speed", "m/s"))
)


def cuts(guards: str) -> dict[str, dict[str, float]]:
    machine = parse(
        f"machine road\nwords road\nholes ?safe = 3\nlet wide = 2 * ?safe + 1\ncounters\n    #crash counts crash\nstart drive\n    {guards} // 1\n",
        {"road": WORDS},
    )
    return thresholds(machine, machine.values())


def test_a_comparison_with_a_hole_or_a_named_term_cuts_at_its_value() -> None:
    assert cuts("gap > ?safe and not (speed >= 20 or gap < wide)") == {
        "gap": {"gap > ?safe": 3.0, "gap < wide": 7.0},
        "speed": {"speed >= 20": 20.0},
    }


def test_the_signal_may_be_scaled_and_stand_on_either_side() -> None:
    assert cuts("10 - 2 * gap < ?safe") == {"gap": {"10 - 2 * gap < ?safe": 3.5}}


def test_what_has_no_one_number_is_left_out() -> None:
    assert cuts("gap > speed and gap > #crash and gap * speed > 1 and #crash < 2 and crash") == {}
