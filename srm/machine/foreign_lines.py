"""The lines of a `reward_machines` file, matched letter by letter; every mistake with its place.

0                                           # initial state
[2]                                         # terminal states
(0, 1, 'e&!n', ConstantRewardFunction(0))   # from, to, formula, reward function
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from srm.machine.foreign_formula import Formula, read_formula
from srm.machine.language.source import Source

CONSTANT = "ConstantRewardFunction"


class Mistake(Exception):
    def __init__(self, message: str, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.offset = offset
        self.length = length


@dataclass
class Cursor:
    """Takes one thing after another off a line that begins at `start` in the file."""

    text: str
    start: int
    at: int = 0

    def take(self, pattern: str, wanted: str) -> str:
        found = re.compile(rf"\s*({pattern})").match(self.text, self.at)
        if found is None:
            self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
            rest = re.match(r"\w+|.?", self.text[self.at :])
            word = rest.group() if rest else ""
            instead = f"found {word}" if word else "the line ends"
            raise Mistake(f"expected {wanted}, {instead}", self.start + self.at, len(word) or 1)
        self.at = found.end()
        return found.group(1)

    def sees(self, pattern: str) -> bool:
        return re.compile(rf"\s*({pattern})").match(self.text, self.at) is not None

    def end(self) -> None:
        self.take(r"\Z", "the end of the line")

    def state(self) -> int:
        return int(self.take(r"[+-]?\d{1,9}(?![\w.])", "the number of a state"))


@dataclass(frozen=True)
class Edge:
    line: int
    offset: int  # in the file
    source: int
    target: int
    formula: Formula
    written: str
    reward: str
    arguments: tuple[float, ...]


@dataclass
class Reader:
    source: Source
    mistakes: list[str] = field(default_factory=list)
    initial: int | None = None
    terminal: list[int] | None = None
    edges: list[Edge] = field(default_factory=list)

    def read(self) -> None:
        offset = 0
        for number, line in enumerate(self.source.text.split("\n"), start=1):
            text = re.sub(r"#.*", "", line).rstrip()
            if text.strip():
                try:
                    self.line(Cursor(text, offset), number)
                except Mistake as mistake:
                    self.mistakes.append(self.source.show(str(mistake), mistake.offset, mistake.length))
            offset += len(line) + 1
        if not self.mistakes:
            self.mistakes.extend(self.disagreements())

    def line(self, cursor: Cursor, number: int) -> None:
        if self.initial is None:
            self.initial = 0  # a mistake in this line is one mistake, not one for each line after it
            self.initial = cursor.state()
        elif self.terminal is None:
            self.terminal = []
            self.terminal = self.states(cursor)
        else:
            self.edges.append(self.edge(cursor, number))
        cursor.end()

    def states(self, cursor: Cursor) -> list[int]:
        cursor.take(r"\[", "[ and the terminal states, as in [2]")
        found: list[int] = []
        while not cursor.sees(r"\]"):
            found.append(cursor.state())
            if not cursor.sees(r"\]"):
                cursor.take(",", ", or ]")
        cursor.take(r"\]", "]")
        return found

    def edge(self, cursor: Cursor, number: int) -> Edge:
        cursor.take(r"\(", "( and an edge, as in (0, 1, 'a&!b', ConstantRewardFunction(1))")
        begin = cursor.start + cursor.at - 1
        source = cursor.state()
        cursor.take(",", ",")
        target = cursor.state()
        cursor.take(",", ",")
        written = cursor.take(r"'[^'\\]*'|\"[^\"\\]*\"", "a formula in quotation marks")
        formula = read_formula(written[1:-1])
        if isinstance(formula, str):
            raise Mistake(formula, cursor.start + cursor.at - len(written), len(written))
        cursor.take(",", ",")
        reward = cursor.take(r"[A-Za-z_]\w*", "the name of a reward function")
        arguments = self.arguments(cursor, reward)
        cursor.take(r"\)", ") at the end of the edge")
        return Edge(number, begin, source, target, formula, written[1:-1], reward, arguments)

    def arguments(self, cursor: Cursor, reward: str) -> tuple[float, ...]:
        cursor.take(r"\(", f"( after {reward}")
        begin = cursor.at
        found: list[float] = []
        while not cursor.sees(r"\)"):
            number = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.])"
            found.append(float(cursor.take(number, "a number")))
            if not cursor.sees(r"\)"):
                cursor.take(",", ", or )")
        cursor.take(r"\)", ")")
        if any(value in (float("inf"), float("-inf")) for value in found):
            raise Mistake("a number too large to be held", cursor.start + begin)
        if reward == CONSTANT and len(found) != 1:
            raise Mistake(f"{CONSTANT} takes one number, found {len(found)}", cursor.start + begin)
        return tuple(found)

    # The machine as a whole

    def disagreements(self) -> list[str]:
        if self.initial is None or self.terminal is None:
            missing = "the terminal states, as in [2]" if self.initial is not None else "the initial state, as in 0"
            return [f"{self.source.file}:{len(self.source.line_starts)}: the file ends before {missing}"]
        found: list[str] = []
        left = {edge.source for edge in self.edges} | set(self.terminal)
        if self.initial in self.terminal or self.initial not in left:
            why = "is terminal" if self.initial in self.terminal else "has no edge"
            found.append(f"{self.source.file}: the initial state {self.initial} {why}, so nothing can be rewarded")
        told: set[int] = set()
        seen: dict[tuple[int, str], Edge] = {}
        for edge in self.edges:
            if edge.target not in left and edge.target not in told:
                told.add(edge.target)
                found.append(self.at(edge, f"state {edge.target} has no edge and is not listed as terminal; list it"))
            first = seen.setdefault((edge.source, edge.written), edge)
            if first is not edge:
                found.append(
                    self.at(
                        edge,
                        f"state {edge.source} has the formula '{edge.written}' on line {first.line} already, and both cannot "
                        "be taken; remove one",
                    )
                )
        return found

    def at(self, edge: Edge, message: str) -> str:
        return self.source.show(message, edge.offset)
