"""Whatever is given to the parser, only our own error comes out, soon, and without filling the memory."""

from __future__ import annotations

import time
import tracemalloc
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srm.errors import SrmError
from srm.machine.language.parse import library, parse
from srm.machine.language.source import LONGEST_LINE, MOST_WORDS
from srm.machine.model import Machine
from tests.machines import WORDS, machines

HEAD = "machine m\nholes ?a ?b\ncounters\n    #c counts wait\nstart s\n"
SHIPPED = [(files("srm.machine") / "library" / f"{name}.srm").read_text(encoding="utf-8") for name in library()]
BITS = (
    *"machine words holes counters counts rule at resets on let start node accept constraint every hole except".split(),
    *"always otherwise and or not where next to none hindsight since last ?a ?b #c wait push speed red place s m".split(),
    *'( ) + - * // -> : , . = != <= >= < > +- " # \n \t \r \0 \ufeff ± é 1 -1 0.5 1e999 1e-999 99999999999999999999'.split(" "),
    "    ", "\n\n", "\n    ", "# ", "\u2028", "\x0b", "\ud800",
)  # fmt: skip


def read(text: str | bytes) -> Machine | None:
    """The machine, or None where it was refused as it should be."""
    try:
        return parse(text, {WORDS.name: WORDS})
    except SrmError as error:
        told = str(error)
    assert told.startswith("<text>:")
    return None


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_noise_is_refused(noise: bytes | str) -> None:
    read(noise)


@given(
    st.lists(st.sampled_from(BITS), max_size=60).map(" ".join)
    | st.lists(st.sampled_from(BITS), max_size=60).map("".join)
)
def test_words_in_any_order_are_refused_or_read_back(text: str) -> None:
    for start in ("", HEAD, HEAD + "    wait // ", HEAD + "    wait // 1\n", HEAD + "constraint\n    "):
        machine = read(start + text)
        assert machine is None or parse(str(machine)) == machine


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of a valid machine with a few things cut, doubled, moved or put in."""
    text = draw(st.sampled_from(SHIPPED) | machines().map(str))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 12) | st.integers(0, 200)))
        truncated = text[begin:end]
        text = draw(
            st.sampled_from(
                (text[:begin] + text[end:], text[:end] + truncated + text[end:], truncated + text[:begin] + text[end:])
            )
            | st.sampled_from(BITS).map(lambda bit: text[:begin] + bit + text[end:])  # noqa: B023
        )
    return text


@given(mutated())
def test_a_damaged_machine_is_refused_or_read_back(text: str) -> None:
    machine = read(text)
    assert machine is None or parse(str(machine)) == machine


@given(machines().map(str), st.data())
def test_damaged_bytes_are_refused_or_read(text: str, data: st.DataObject) -> None:
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(raw))


# Hostile files

MILLION = 10**6
COUNTERS = "machine m\ncounters\n" + "".join(f"    #c{i} counts wait\n" for i in range(256))

HOSTILE = {
    "parentheses": "(" * MILLION,
    "parentheses in a rule": HEAD + "(" * MILLION,
    "parentheses, closed": HEAD + "(" * (MILLION // 2) + "?a" + ")" * (MILLION // 2) + " > 0 // 1",
    "closing parentheses": HEAD + ")" * MILLION,
    "not": HEAD + "not " * (MILLION // 4) + "wait // 1",
    "minus": HEAD + "wait // " + "-" * MILLION + "1",
    "a long name": HEAD + "x" * MILLION + " // 1",
    "a long number": HEAD + "wait // " + "9" * MILLION,
    "a long fraction": HEAD + "wait // 0." + "0" * MILLION + "1",
    "a long exponent": HEAD + "wait // 1e-" + "9" * MILLION,
    "a long label": HEAD + 'constraint\n"' + "x" * MILLION + '" ?a <= 1',
    "a label without end": HEAD + 'constraint\n"' + "x" * MILLION,
    "quotation marks": HEAD + 'constraint\n"' + '"' * MILLION,
    "a long sum": HEAD + "wait // " + "1+" * (MILLION // 2) + "1",
    "a long product": HEAD + "wait // " + "?a*" * (MILLION // 3) + "1",
    "a long guard": HEAD + "wait and " * (MILLION // 9) + "wait // 1",
    "NUL": "\0" * MILLION,
    "NUL in a rule": HEAD + "wait // \0 1",
    "lines": HEAD + "wait // 1\n" * (MILLION // 10),
    "nonsense lines": "x\n" * (MILLION // 2),
    "labels": HEAD + "a:\n" * (MILLION // 3),
    "continued lines": HEAD + "wait // 1\n" + "+\n" * (MILLION // 2),
    "blank lines": HEAD + "\n" * MILLION,
    "spaces": HEAD + " " * MILLION,
    "comments": "# " * (MILLION // 2),
    "too large": "x" * 2 * MILLION,
    "not UTF-8": b"\xff\xfe" * (MILLION // 2),
    "UTF-16": HEAD.encode("utf-16"),
    "infinite numbers": HEAD + "wait // 1e999 * 1e999 - 1e999",
    "a huge product": HEAD + "wait // " + " * ".join(["1e308"] * 32),
    "a tiny product": HEAD + "wait // " + " * ".join(["1e-308"] * 32),
    "squares of squares": "machine m\nlet t0 = 3\n"
    + "".join(f"let t{i + 1} = t{i} * t{i}\n" for i in range(60))
    + "start s",
    "sums of sums": "machine m\nlet t0 = 3\n"
    + "".join(f"let t{i + 1} = t{i} + t{i}\n" for i in range(1100))
    + "start s",
    "powers": HEAD + "let t0 = #c + speed + 1\n" + "".join(f"let t{i + 1} = t{i} * t{i}\n" for i in range(60)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_little_time_and_memory(name: str) -> None:
    read(HEAD)  # the grammar is loaded once
    text = HOSTILE[name]
    tracemalloc.start()
    begin = time.perf_counter()
    machine = read(text)
    seconds = time.perf_counter() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert machine is None or name in ("blank lines", "spaces")
    assert seconds < 10  # a tenth of that where nothing else runs
    # blanking comments, decoding and splitting into lines each copy the text; a million empty strings are 60 MB
    assert peak < 16e6 + 80 * len(text)


# As much as is just allowed: what takes longest of everything that is read at all. Seconds on an idle core: 2 to 5.
ALLOWED = {
    "rules": HEAD + "wait // 1\n" * 12_000,
    "nodes": HEAD + "".join(f"node n{i}\n" for i in range(24_000)),
    "rules that lead nowhere": HEAD + "".join(f"wait // 1 -> n{i}\n" for i in range(7_000)),
    "holes nearly known": "machine m\nholes\n"
    + "".join(f"?hole{i}\n" for i in range(12_000))
    + "start s\n"
    + "".join(f"wait // ?hole_{i}\n" for i in range(5_000)),
    "hindsight": HEAD + "wait // 1\nhindsight\n" + "every wait // 1\n" * 9_000,
    "atoms": HEAD + "constraint\n" + "?a <= 1\n" * 9_000,
    "long sums": HEAD + ("wait // " + "1+" * 4900 + "1\n") * 5,
    "a large term, used often": f"{COUNTERS}let t = {'+'.join(f'#c{i}' for i in range(256))}\nstart s\n"
    + ("wait // " + "t+" * 4900 + "t\n") * 4,
    "products of a large term": f"{COUNTERS}let t = {'+'.join(f'#c{i}' for i in range(16))}\nstart s\n" + "wait // t*t\n" * 7_000,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ALLOWED)
def test_the_largest_files_are_read_in_seconds(name: str) -> None:
    text = ALLOWED[name]
    assert max(map(len, text.split("\n"))) <= LONGEST_LINE
    begin = time.perf_counter()
    machine = read(text)
    assert time.perf_counter() - begin < 60
    assert machine is None or str(machine)


def test_limits_are_told() -> None:
    with pytest.raises(SrmError, match=f"more than {MOST_WORDS:,} words and signs before this one"):
        parse(HOSTILE["minus"])
    with pytest.raises(SrmError, match=f"a line of more than {LONGEST_LINE:,} characters"):
        parse(HOSTILE["a long name"])
    with pytest.raises(SrmError, match="larger than 1,048,576 bytes"):
        parse(HOSTILE["too large"])
    with pytest.raises(SrmError, match="nested deeper than 30 parentheses"):
        parse(HEAD + "(" * 31)
    with pytest.raises(SrmError, match="nested deeper than 30; name a part of it with `let`"):
        parse(HEAD + "wait // " + "-" * 32 + "?a")
