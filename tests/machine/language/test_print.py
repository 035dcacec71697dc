"""A machine's text reads back as the same machine."""

from __future__ import annotations

import pytest
from hypothesis import given

from srm.machine.language.parse import find_machine, library, parse
from srm.machine.model import Machine
from tests.machines import WORDS, machines


@given(machines())
def test_any_machine_reads_back_as_itself(machine: Machine) -> None:
    assert parse(str(machine), {WORDS.name: WORDS}) == machine


@pytest.mark.parametrize("name", library())
def test_shipped_machines_read_back_as_themselves(name: str) -> None:
    machine = find_machine(name)
    assert parse(str(machine)) == machine
    assert str(parse(str(machine))) == str(machine)
