"""The text of a machine: where its logical lines begin and end, and how mistakes in it are shown.

A logical line is one line of the file, plus the lines that continue it: those inside its parentheses, the one after a label
(`name:` alone on a line), and those that begin with `and`, `or`, `//`, `->`, `+` or `*`. A comment begins with `#` and a
space (a counter has no space after its `#`). Comments are blanked, not removed, so that every place in a logical line is a
place in the file.

The limits are far above any machine that people or programs write. They keep the time and the memory that a hostile file can
take in proportion: a machine of `MOST_WORDS` words is read in about three seconds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from srm.errors import MOST_SHOWN, MachineError
from srm.files import read_whole
from srm.machine.terms import DEEPEST_NESTING

LARGEST_FILE = 1 << 20  # bytes; the largest shipped machine has 6,000
MOST_WORDS = 50_000  # words, numbers and signs of a file; the largest shipped machine has 1,100
LONGEST_LINE = 10_000  # characters of a logical line; the longest shipped one has 230
WIDEST_SHOWN = 110  # characters of a faulty line that are shown

_COMMENT = re.compile(r'("[^"\n]*")|#(?=[ \t\r#!]|$)[^\n]*', re.MULTILINE)
_CONTINUES = re.compile(r"(and\b|or\b|//|->|[+*])")
_HEADER = re.compile(r"(machine|words|holes|counters|let|start|node|accept|constraint|otherwise|hindsight)\b")
_WORD = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]  # offset and length in the file


@dataclass(frozen=True)
class LogicalLine:
    start: int  # offset in the file
    text: str

    @property
    def first_word(self) -> str:
        match = re.match(r"\w+", self.text)
        return match.group() if match else ""

    @property
    def span(self) -> Span:
        """Of its first physical line."""
        return self.start, len(self.text.split("\n", 1)[0])


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
        end = self.text.find("\n", start)
        line = self.text[start : len(self.text) if end < 0 else end].rstrip("\r")
        column = offset - start
        place = f"{self.file}:{number}:{column + 1}: {message}"
        if not line.strip():
            return place
        begin = max(0, column - WIDEST_SHOWN // 2) if len(line) > WIDEST_SHOWN else 0
        excerpt = line[begin : begin + WIDEST_SHOWN]
        excerpt = "".join(
            c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in excerpt
        )
        length = max(1, min(length, len(excerpt) - (column - begin)))
        return f"{place}\n    {excerpt.rstrip()}\n    {' ' * (column - begin)}{'^' * length}"


@dataclass
class Mistakes:
    """What is wrong with a source."""

    source: Source
    messages: list[tuple[Span, str]] = field(default_factory=list)

    @property
    def enough(self) -> bool:
        """Whether there are more than will be printed."""
        return len(self.messages) > MOST_SHOWN

    def add(self, message: str, span: Span) -> None:
        if not self.enough:
            self.messages.append((span, message))

    def refuse(self) -> None:
        """Raises them in the order of the text, if there are any."""
        if self.messages:
            in_order = sorted(self.messages, key=lambda mistake: mistake[0][0])
            raise MachineError(*(self.source.show(message, *span) for span, message in in_order))


def split_lines(source: Source, mistakes: Mistakes) -> list[LogicalLine]:
    """The logical lines; what is wrong with their parentheses or their size is added to the mistakes."""
    # Comments become spaces, so that places stay
    blanked = _COMMENT.sub(lambda m: m.group(1) or " " * len(m.group()), source.text)
    too_many = next(islice(_WORD.finditer(blanked), MOST_WORDS, None), None)
    if too_many:
        message = f"more than {MOST_WORDS:,} words and signs before this one, so this is not a machine"
        mistakes.add(message, (too_many.start(), 1))
        return []

    # Line by line of the file, which either goes on with the logical line under way or begins the next
    lines: list[LogicalLine] = []
    opened: list[int] = []  # where the open parentheses of the line under way stand
    start, end = -1, 0  # of the line under way
    for begin, text in _physical_lines(blanked):
        stripped = text.strip()
        if not stripped:
            continue
        if opened and _HEADER.match(stripped):
            mistakes.add("this parenthesis is never closed", (opened[-1], 1))
            start, opened = -1, []
        elif start >= 0 and not (opened or _CONTINUES.match(stripped) or blanked[end - 1] == ":"):
            lines.append(LogicalLine(start, blanked[start:end]))
            start = -1
        if start < 0:
            start = begin + len(text) - len(text.lstrip())
        end = begin + len(text.rstrip())
        too_far = _follow_parentheses(text, begin, opened)
        if too_far is not None:
            mistakes.add(f"nested deeper than {DEEPEST_NESTING} parentheses", (too_far, 1))
            return lines
        if end - start > LONGEST_LINE:
            mistakes.add(f"a line of more than {LONGEST_LINE:,} characters", (start, 1))
            return lines

    # The last one
    if opened:
        mistakes.add("this parenthesis is never closed", (opened[-1], 1))
    elif start >= 0:
        lines.append(LogicalLine(start, blanked[start:end]))
    return lines


def _physical_lines(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for line in text.split("\n"):
        yield begin, line
        begin += len(line) + 1


def _follow_parentheses(text: str, begin: int, opened: list[int]) -> int | None:
    """Updates the offsets of open parentheses; returns the offset at which they are too many."""
    for match in re.finditer(r'"[^"\n]*"|[()]', text):
        if match.group() == "(":
            opened.append(begin + match.start())
            if len(opened) > DEEPEST_NESTING:
                return opened[-1]
        elif match.group() == ")" and opened:
            opened.pop()
    return None


def read_source(path: str | Path) -> Source:
    """The text of a machine file; whatever cannot be one is refused by name."""
    path = Path(path)
    try:
        data = read_whole(path, LARGEST_FILE)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        remedy = (
            "give one of its .srm files" if isinstance(error, IsADirectoryError) else "give the path of an .srm file"
        )
        raise MachineError(f"{printable(str(path))}: cannot be read ({reason}); {remedy}") from None
    return source_of(data, str(path))


def source_of(data: bytes | str, file: str) -> Source:
    file = printable(file)
    if len(data) > LARGEST_FILE:
        raise MachineError(f"{file}: larger than {LARGEST_FILE:,} bytes, so this is not a machine")
    if isinstance(data, str):
        return Source(file, data.removeprefix("\ufeff"))
    try:
        return Source(file, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise MachineError(f"{file}: not a text file, so this is not a machine; give one that is") from None
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise MachineError(
            f"{file}:{line}:{column}: byte {error.start} is not UTF-8; save the file as UTF-8 text"
        ) from None


def printable(name: str) -> str:
    """A file's name for messages, to which it must not add lines."""
    return name if name.isprintable() else repr(name)
