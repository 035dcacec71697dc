"""Logical lines, and how a place in a file is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srm.errors import MachineError
from srm.machine.language.parse import load
from srm.machine.language.source import WIDEST_SHOWN, Mistakes, Source, source_of, split_lines


def lines(text: str) -> list[str]:
    mistakes = Mistakes(source := Source("m.srm", text))
    found = split_lines(source, mistakes)
    mistakes.refuse()
    return [line.text for line in found]


def test_every_line_stands_for_itself() -> None:
    assert lines("machine m\n\n  start s  \n\twait // 1") == ["machine m", "start s", "wait // 1"]


@pytest.mark.parametrize("sign", ["and", "or", "//", "->", "+", "*"])
def test_a_line_that_begins_with_a_joining_sign_continues_the_one_above(sign: str) -> None:
    assert lines(f"wait\n\n    {sign} x\npush") == [f"wait\n\n    {sign} x", "push"]


@pytest.mark.parametrize("word", ["android", "order", "-1", "/"])
def test_other_beginnings_do_not(word: str) -> None:
    assert len(lines(f"wait\n{word} x")) == 2


def test_parentheses_and_labels_hold_lines_together() -> None:
    assert len(lines("let a = (1\n - 2\n) * 3\nwait")) == 2
    assert len(lines("named:\n    # a note between\n    wait // 1\npush // 1")) == 2
    assert len(lines('"(" ?a <= 1\n?b <= 1')) == 2  # one within a label opens nothing


def test_comments_are_blanked_so_that_places_stay() -> None:
    (line,) = split_lines(source := Source("m.srm", "let a = (1 # one (\n + 2)"), Mistakes(source))
    assert line.text == "let a = (1        \n + 2)"
    assert line.start == 0


def test_a_hash_needs_a_space_to_be_a_comment() -> None:
    assert lines("#c counts wait #\n# c\n#!x\n##\n#\twait") == ["#c counts wait"]


def test_a_header_ends_a_line_whose_parenthesis_is_open() -> None:
    mistakes = Mistakes(source := Source("m.srm", "let a = (1 +\nstart s\n    wait // (2"))
    assert [line.text for line in split_lines(source, mistakes)] == ["start s"]
    with pytest.raises(MachineError) as wrong:
        mistakes.refuse()
    assert [told.split("\n")[0] for told in wrong.value.problems] == [
        "m.srm:1:9: this parenthesis is never closed",
        "m.srm:3:13: this parenthesis is never closed",
    ]


def test_mistakes_are_told_in_the_order_of_the_text() -> None:
    mistakes = Mistakes(Source("m.srm", "one\ntwo\n"))
    mistakes.add("second", (4, 3))
    mistakes.add("first", (0, 3))
    with pytest.raises(MachineError) as wrong:
        mistakes.refuse()
    assert str(wrong.value) == "m.srm:1:1: first\n    one\n    ^^^\nm.srm:2:1: second\n    two\n    ^^^"


# Showing


def shown(text: str, offset: int, length: int = 1) -> list[str]:
    return Source("m.srm", text).show("wrong", offset, length).split("\n")


def test_the_line_is_shown_with_a_caret_below_the_place() -> None:
    assert shown("one\n  two three\n", 10, 5) == ["m.srm:2:7: wrong", "      two three", "          ^^^^^"]


def test_a_place_after_the_last_word_is_shown_after_it() -> None:
    assert shown("wait", 4) == ["m.srm:1:5: wrong", "    wait", "        ^"]


def test_carets_do_not_run_beyond_the_line() -> None:
    assert shown("one\ntwo", 0, 100)[-1] == "    ^^^"


def test_an_empty_line_is_not_shown() -> None:
    assert shown("", 0) == ["m.srm:1:1: wrong"]


def test_tabs_and_unprintable_characters_take_one_column() -> None:
    assert shown("\ta\0b\x1b\n", 4) == [
        "m.srm:1:5: wrong",
        "     a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}",
        "        ^",
    ]


def test_carriage_returns_are_not_shown() -> None:
    assert shown("one\r\ntwo\r\n", 5, 3) == ["m.srm:2:1: wrong", "    two", "    ^^^"]


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    place, line, caret = shown("a" * 500 + "b" + "a" * 500, 500)
    assert place == "m.srm:1:501: wrong"
    assert len(line) == WIDEST_SHOWN + 4
    assert line[caret.index("^")] == "b"


@given(st.text(max_size=60), st.data())
def test_any_place_of_any_text_can_be_shown(text: str, data: st.DataObject) -> None:
    offset, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 80))
    place, *rest = Source("m.srm", text).show("wrong", offset, length).split("\n")
    before = text[:offset].split("\n")
    assert place == f"m.srm:{len(before)}:{len(before[-1]) + 1}: wrong"
    assert all(line.isprintable() for line in rest)


# Reading


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert source_of(b"\xef\xbb\xbfmachine", "m").text == source_of("\ufeffmachine", "m").text == "machine"


def test_the_place_of_a_byte_that_is_no_text() -> None:
    with pytest.raises(MachineError, match=r"^m:3:2: byte 5 is not UTF-8"):
        source_of(b"a\nb\nc\xffd", "m")


def test_a_file_s_name_cannot_add_lines_to_a_message() -> None:
    with pytest.raises(MachineError) as wrong:
        load("a\nb.srm")
    assert str(wrong.value).startswith(r"'a\nb.srm': cannot be read")
    assert source_of("", "a\nb.srm").show("wrong", 0) == r"'a\nb.srm':1:1: wrong"
