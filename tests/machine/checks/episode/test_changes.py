"""What an episode can earn by changes of a signal: no more than its range is wide."""

from __future__ import annotations

from srm.machine.checks.check import check
from srm.machine.language.parse import parse
from srm.machine.vocabulary import Event, Signal, Vocabulary

WORDS = Vocabulary(
    "w",
    (Event("land", ""), Event("go", "")),
    signals=(Signal("far", "", 0, 3), Signal("change_far", "", -3, 3, change_of="far")),
)
TEXT = "machine m\nholes ?land ?far in -1 .. 0\nstart up\n    land // ?land -> done\n    otherwise\n    always // ?far * change_far\naccept done\n"


def said(text: str) -> list[str]:
    return [finding.message for finding in check(parse(text), WORDS, horizon=100).of("episode")]


def test_changes_add_up_to_the_range_of_the_signal_and_not_to_a_hundred_times_it() -> None:
    assert said(TEXT)[0].endswith("pays -3 to 3 times ?far")
    assert any("never pays more" in line for line in said(TEXT + "constraint\n    ?land + 3 * ?far >= 0\n"))
    assert any("can pay -3 * ?far" in line for line in said(TEXT))


def test_where_some_steps_are_not_paid_for_them_they_may_add_up_to_more() -> None:
    partly = TEXT.replace(
        "    always // ?far * change_far", "    far > 1 // ?far * change_far\n    otherwise\n    always // 0"
    )
    assert any(line.endswith("pays -300 to 300 times ?far") for line in said(partly))
