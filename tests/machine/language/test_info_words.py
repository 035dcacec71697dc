"""`words info`: a machine brings its vocabulary along, as data."""

from __future__ import annotations

from itertools import product

import pytest

from srm.errors import MachineError
from srm.machine.drawing.draw import svg
from srm.machine.language.parse import parse
from srm.machine.vocabulary import Signal

RULES = "\nholes ?a\nstart s\n    always // ?a * x\n"


def read(words: str) -> object:
    return parse(f"machine m\nwords {words}{RULES}")


@pytest.mark.parametrize(("low", "high", "missing"), list(product((None, -3.0), (None, 0.0, 2.5), (None, 0.0, -1.0))))
def test_every_range_and_substitute_reads_back_as_it_was_printed(
    low: float | None, high: float | None, missing: float | None
) -> None:
    span = f"in {'' if low is None else low} .. {'' if high is None else high}" if (low, high) != (None, None) else ""
    instead = "" if missing is None else f"or {missing}"
    machine = parse(f'machine m\nwords info "A-v0"\n    x = "a key" {span} {instead}\n    y{RULES}')
    assert machine.info is not None
    word = machine.info.words[0]
    assert (word.signal, word.key, word.missing) == (Signal("x", "a key of info", low, high), "a key", missing)
    assert parse(str(machine)) == machine
    assert machine.own_vocabulary == machine.info.vocabulary
    assert "info of A-v0" in svg(machine)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("info", 'needs its environment: words info "Hopper-v5"'),
        ('info "module:A-v0"\n    x', "a file imports no module"),
        ('lander "A-v0"\n    x', "only `words info` is followed by an environment"),
        ('info "A-v0"\n    x in 2 .. 1', "the lower first"),
        ('info "A-v0"\n    x\n    x', "two signals named x"),
        ('info "A-v0"\n    y', "vocabulary info has no signal x"),
        ('info "A-v0"\n    x\nlet x = 1', "a signal and a term named by `let`"),
        ('info "A-v0"\n    x = ""', "cannot be a key of info"),
        ("minigrid\n    x", "a line outside any section"),
    ],
)
def test_mistakes_are_one_sentence_at_their_place(words: str, message: str) -> None:
    with pytest.raises(MachineError, match=message) as refused:
        read(words)
    assert len(refused.value.problems) == 1
