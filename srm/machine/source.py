"""The text of a machine: where its logical lines begin and end, and how a mistake in it is shown.

A logical line is one line of the file, plus the lines that continue it: those inside its parentheses, the one after a label
(`name:` alone on a line), and those that begin with `and`, `or`, `//`, `->`, `+` or `*`. A comment begins with `#` and a space (a counter has no space after its `#`).
Comments are blanked, not removed, so that every place in a logical line is a place in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from srm.errors import MachineError

LARGEST_FILE = 1 << 20  # bytes; the largest shipped machine has 3,000
DEEPEST_NESTING = 50
WIDEST_SHOWN = 110  # characters of a faulty line that are shown

_COMMENT = re.compile(r'("[^"\n]*")|#(?=[ \t#!]|$)[^\n]*', re.MULTILINE)
_CONTINUES = re.compile(r"(and\b|or\b|//|->|[+*])")
_HEADER = re.compile(r"(machine|words|holes|counters|let|start|node|accept|constraint|otherwise|hindsight)\b")


@dataclass(frozen=True)
class LogicalLine:
    start: int  # offset in the file
    text: str

    @property
    def first_word(self) -> str:
        found = re.match(r"\w+", self.text)
        return found.group() if found else ""


@dataclass(frozen=True)
class Source:
    """A file's name and text; `show` turns an offset into file:line:column, the line and a caret."""

    file: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def show(self, message: str, offset: int, length: int = 1) -> str:
        number = bisect_right(self.line_starts, offset)
        start = self.line_starts[number - 1]
        line = self.text[start:].split("\n", 1)[0].rstrip("\r")
        column = offset - start
        place = f"{self.file}:{number}:{column + 1}: {message}"
        left = max(0, column - WIDEST_SHOWN // 2) if len(line) > WIDEST_SHOWN else 0
        shown = line[left : left + WIDEST_SHOWN]
        shown = "".join(c if c.isprintable() else " " for c in shown)
        length = max(1, min(length, len(shown) - (column - left)))
        return f"{place}\n    {shown}\n    {' ' * (column - left)}{'^' * length}"

    def logical_lines(self) -> tuple[list[LogicalLine], list[str]]:
        """The logical lines, and what is wrong with their parentheses."""
        blanked = _COMMENT.sub(lambda m: m.group(1) or " " * len(m.group()), self.text)
        lines: list[LogicalLine] = []
        problems: list[str] = []
        opened: list[int] = []  # where the open parentheses of the line under way stand
        start, end = -1, 0  # of the line under way
        for begin, text in _physical_lines(blanked):
            stripped = text.strip()
            if not stripped:
                continue
            first = begin + len(text) - len(text.lstrip())
            if opened and _HEADER.match(stripped):
                problems.append(self.show("this parenthesis is never closed", opened[-1]))
                start, opened = -1, []
            elif start >= 0 and not (opened or _CONTINUES.match(stripped) or blanked[end - 1] == ":"):
                lines.append(LogicalLine(start, blanked[start:end]))
                start = -1
            if start < 0:
                start = first
            too_deep = _follow_parentheses(text, begin, opened)
            if too_deep is not None:
                problems.append(self.show(f"nested deeper than {DEEPEST_NESTING} parentheses", too_deep))
                return lines, problems
            end = begin + len(text.rstrip())
        if opened:
            problems.append(self.show("this parenthesis is never closed", opened[-1]))
        elif start >= 0:
            lines.append(LogicalLine(start, blanked[start:end]))
        return lines, problems


def _physical_lines(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for line in text.split("\n"):
        yield begin, line
        begin += len(line) + 1


def _follow_parentheses(text: str, begin: int, opened: list[int]) -> int | None:
    """Updates the offsets of open parentheses; returns the offset at which they are too many."""
    for found in re.finditer(r'"[^"\n]*"|[()]', text):
        if found.group() == "(":
            opened.append(begin + found.start())
            if len(opened) > DEEPEST_NESTING:
                return opened[-1]
        elif found.group() == ")" and opened:
            opened.pop()
    return None


def read_source(path: str | Path) -> Source:
    """The text of a machine file; whatever cannot be one is refused by name."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise MachineError(
            f"{path}: cannot be read ({error.strerror or error}); give the path of an .srm file"
        ) from None
    return source_of(data, str(path))


def source_of(data: bytes | str, file: str) -> Source:
    if len(data) > LARGEST_FILE:
        raise MachineError(f"{file}: larger than {LARGEST_FILE:,} bytes, so this is not a machine")
    if isinstance(data, str):
        return Source(file, data.removeprefix("\ufeff"))
    try:
        return Source(file, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise MachineError(f"{file}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from None
