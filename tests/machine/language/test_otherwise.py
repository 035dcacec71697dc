"""`otherwise` with and without a guard of its own."""

from __future__ import annotations

import pytest

from srm.machine.language.parse import parse
from srm.machine.terms import Always, Happens

TEXT = "machine m\nstart here\n    see_target // 1 -> end\n    {line}\naccept end\n"


@pytest.mark.parametrize(
    ("line", "name", "guard"),
    [
        ("otherwise // 2", None, Always()),
        ("otherwise rest: // 2", "rest", Always()),
        ("otherwise open_door // 2", None, Happens("open_door")),
        ("otherwise rest: open_door // 2", "rest", Happens("open_door")),
    ],
)
def test_the_guard_and_the_name_after_otherwise_may_be_left_out(line, name, guard):
    machine = parse(TEXT.format(line=line))
    rule = machine.nodes[0].rules[1]
    assert (rule.name, rule.guard, rule.tier) == (name, guard, 1)
    assert parse(str(machine)) == machine
