"""Every proposal is proved, whatever was demonstrated; too little to go by gets a sentence."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srm.errors import DemonstrationError
from srm.infer.propose.propose import propose_machine
from srm.infer.propose.reading import Account
from srm.machine.checks.check import check
from srm.machine.language.parse import parse
from tests.infer.propose.accounts import accounts


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(accounts(), st.booleans())
def test_a_proposal_from_any_demonstrations_is_proved_or_refused(drawn: Account, match: bool) -> None:
    try:
        proposal = propose_machine(drawn, "drawn", "Drawn-v0", match)
    except DemonstrationError:
        return
    known = {drawn.vocabulary.name: drawn.vocabulary}
    assert parse(proposal.text, known) == proposal.machine
    report = check(proposal.machine, drawn.vocabulary)
    assert report.count("error") == 0
    assert report.count("warning") == 0
