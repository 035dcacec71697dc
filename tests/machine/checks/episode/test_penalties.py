"""What an episode can earn: a penalty ahead is no milestone to be outweighed."""

from __future__ import annotations

from srm.machine.checks.check import check
from srm.machine.language.parse import parse
from srm.machine.vocabulary import Event, Signal, Vocabulary

WORDS = Vocabulary("w", (Event("land", ""), Event("crash", "")), signals=(Signal("near", "", 0, 1),))
TEXT = """machine m
holes ?land ?crash ?near
start up
    land // ?land -> done
    crash // ?crash -> lost
    otherwise
    always // ?near * near
accept done
node lost
constraint
    ?land >= 0
    ?near >= 0
    ?crash <= 0
"""


def test_staying_away_from_a_penalty_is_no_warning_and_outweighing_a_reward_is() -> None:
    report = check(parse(TEXT), WORDS, horizon=100)
    warnings = [finding.message for finding in report.of("episode", "warning")]
    assert len(warnings) == 1
    assert "more than rule `land // ?land -> done`" in warnings[0]
