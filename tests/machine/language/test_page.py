"""docs/language.md: each example is read, each wrong one gives the message below it, each table of steps is what is paid."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import MachineError
from srm.evaluate.reference import Walk
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import NOTHING, Vocabulary, pack_cell

PAGE = (Path(__file__).parents[3] / "docs" / "language.md").read_text(encoding="utf-8")
BLOCKS = [(found[1], found[2]) for found in re.finditer(r"^```([^\n]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
PAIRS = list(zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True))  # each block with the one after it


def completed(text: str, words: str = "words minigrid\n") -> str:
    """An example as a whole file: what every machine needs is added below it, so that its lines keep their numbers."""
    machine = "" if re.search(r"^machine", text, re.MULTILINE) else f"machine example\n{words}"
    start = "" if re.search(r"^start", text, re.MULTILINE) else "start here\n"
    return text + machine + start


def read(text: str) -> Machine:
    return parse(completed(text), {MINIGRID_WORDS.name: MINIGRID_WORDS}, "example.srm")


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {kind for kind, _ in BLOCKS} == {"srm", "srm wrong", "srm any words", "steps", "text", "python", "lark"}


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "srm"])
def test_examples_are_machines(text: str) -> None:
    machine = read(text)
    assert parse(str(machine)) == machine


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "srm any words"])
def test_examples_with_words_of_elsewhere_are_machines(text: str) -> None:
    assert parse(completed(text, words=""))


@pytest.mark.parametrize(("wrong", "after"), [(one, two) for one, two in PAIRS if one[0] == "srm wrong"])
def test_wrong_examples_give_the_message_below_them(wrong: tuple[str, str], after: tuple[str, str]) -> None:
    with pytest.raises(MachineError) as refused:
        read(wrong[1])
    assert after == ("text", f"{refused.value}\n")


@pytest.mark.parametrize(("example", "table"), [(one[1], two[1]) for one, two in PAIRS if two[0] == "steps"])
def test_steps_are_paid_as_the_table_says(example: str, table: str) -> None:
    machine = read(example)
    first, *rest = table.splitlines()
    assignment = {name: float(value) for name, value in re.findall(r"\?(\w+) = (\S+?)(?:,|$)", first)}
    rows = rest if assignment else [first, *rest]
    walk = Walk(machine, MINIGRID_WORDS, assignment)
    expected = []
    for row in rows:
        happened, pay = row.rsplit(None, 1)
        walk.step(happenings(happened, MINIGRID_WORDS), {})
        expected.append(float(pay))
    assert walk.pay == pytest.approx(expected)


def happenings(text: str, vocabulary: Vocabulary) -> dict[str, dict[str, int]]:
    """`open_door colour=red, see_target`: the events of a step with their attributes."""
    if text.strip() == "(nothing)":
        return {}
    found = {}
    for part in re.split(r",(?![^(]*\))", text):
        name = part.split()[0]
        attributes = dict.fromkeys(vocabulary.events[vocabulary.event_index[name]].attributes, NOTHING)
        for attribute, value, x, y in re.findall(r"(\w+)=(?:(\w+)|\((\d+), (\d+)\))", part):
            values = vocabulary.attributes[vocabulary.attribute_index[attribute]].values
            attributes[attribute] = values.index(value) if values else pack_cell(int(x), int(y))
        found[name] = attributes
    return found


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (text for kind, text in BLOCKS if kind == "python")
    exec(compile(code, "docs/language.md", "exec"), {})
    assert "?goal = 1" in capsys.readouterr().out


def test_the_page_quotes_the_grammar() -> None:
    (quoted,) = (text for kind, text in BLOCKS if kind == "lark")
    assert quoted == (files("srm.machine.language") / "grammar.lark").read_text(encoding="utf-8")
