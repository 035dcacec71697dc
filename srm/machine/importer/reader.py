"""The lines of a `reward_machines` file, and every mistake in them with its place.

0                                           # initial state
[2]                                         # terminal states
(0, 1, 'e&!n', ConstantRewardFunction(0))   # from, to, formula, reward function
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from srm.errors import MachineError
from srm.machine.importer.formula import Formula, grammar, read_formula
from srm.machine.language.source import Source

CONSTANT = "ConstantRewardFunction"
MOST_WORDS = 100_000  # words, numbers and signs of a file, read in about two seconds; the package's own have 250
_KINDS = ("initial_line", "terminal_line", "edge_line")  # of the first line, the second, and all others
_EXPECTED = {  # the first of what the grammar accepts speaks for the rest
    "EDGE": "( and an edge, as in (0, 1, 'a&!b', ConstantRewardFunction(1))",
    "LIST": "[ and the terminal states, as in [2]",
    "STATE": "the number of a state",
    "FORMULA": "a formula in quotation marks",
    "NAME": "the name of a reward function",
    "ARGUMENTS": "( after {}",
    "NUMBER": "a number",
    "LIST_END": ", or ]",
    "ARGUMENTS_END": ", or )",
    "EDGE_END": ") at the end of the edge",
    "COMMA": ",",
}


class Mistake(Exception):
    def __init__(self, message: str, column: int, length: int = 1) -> None:
        super().__init__(message)
        self.column = column
        self.length = length


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


@dataclass(frozen=True)
class RewardMachineFile:
    initial: int
    terminal: tuple[int, ...]
    edges: tuple[Edge, ...]


def read_lines(source: Source) -> RewardMachineFile:
    """What the file says; raises all its mistakes together."""
    too_many = next(islice(re.finditer(r"\w+|[^\w\s]", source.text), MOST_WORDS, None), None)
    if too_many:
        message = f"more than {MOST_WORDS:,} words and signs before this one, so this is not a machine"
        raise MachineError(source.show(message, too_many.start()))
    mistakes: list[str] = []
    values: list[Any] = []  # one a line that is not empty; of a line with a mistake None
    offset = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        text = line.partition("#")[0].rstrip()
        if text.strip():
            try:
                values.append(None)
                values[-1] = _read_line(text, _KINDS[min(len(values), len(_KINDS)) - 1], number, offset)
            except Mistake as mistake:
                mistakes.append(source.show(str(mistake), offset + mistake.column, mistake.length))
        offset += len(line) + 1
    if not mistakes and len(values) < 2:
        missing = "the terminal states, as in [2]" if values else "the initial state, as in 0"
        mistakes.append(f"{source.file}:{len(source.line_starts)}: the file ends before {missing}")
    if mistakes:
        raise MachineError(*mistakes)
    initial, terminal, *edges = values
    read = RewardMachineFile(initial, terminal, tuple(edges))
    contradictions = list(_contradictions(read, source))
    if contradictions:
        raise MachineError(*contradictions)
    return read


# One line


def _read_line(text: str, kind: str, number: int, offset: int) -> Any:
    try:
        tree = grammar().parse(text, start=kind)
    except (UnexpectedToken, UnexpectedCharacters) as error:  # all that this parser raises
        raise _explain(text, error) from None
    tokens: dict[str, list[Token]] = {}
    for token in tree.scan_values(lambda value: True):
        tokens.setdefault(token.type, []).append(token)
    states = tuple(int(token) for token in tokens.get("STATE", ()))
    if kind == "initial_line":
        return states[0]
    if kind == "terminal_line":
        return states
    (written,), (reward,) = tokens["FORMULA"], tokens["NAME"]
    formula = read_formula(written[1:-1])
    if isinstance(formula, str):
        raise Mistake(formula, _column(written), len(written))
    arguments = tuple(float(token) for token in tokens.get("NUMBER", ()))
    begin = _column(tokens["ARGUMENTS"][0]) + 1
    if not all(map(math.isfinite, arguments)):
        raise Mistake("a number too large to be held", begin)
    if reward == CONSTANT and len(arguments) != 1:
        raise Mistake(f"{CONSTANT} takes one number, found {len(arguments)}", begin)
    start, (source, target) = offset + _column(tokens["EDGE"][0]), states
    return Edge(number, start, source, target, formula, written[1:-1], str(reward), arguments)


def _column(token: Token) -> int:
    return token.start_pos or 0


def _explain(text: str, error: UnexpectedToken | UnexpectedCharacters) -> Mistake:
    if isinstance(error, UnexpectedToken):
        accepted = error.accepts
        column = len(text) if error.token.type == "$END" else _column(error.token)
    else:
        accepted, column = error.allowed, error.pos_in_stream or 0
    expected = next((meaning for terminal, meaning in _EXPECTED.items() if terminal in accepted), "the end of the line")
    before, after = re.findall(r"\w+", text[:column]), re.findall(r"^\w+|^.", text[column:])
    instead = f"found {after[0]}" if after else "the line ends"
    return Mistake(f"expected {expected.format(*before[-1:])}, {instead}", column, len("".join(after)) or 1)


# The machine as a whole


def _contradictions(read: RewardMachineFile, source: Source) -> Iterator[str]:
    known = {edge.source for edge in read.edges} | set(read.terminal)
    if read.initial in read.terminal or read.initial not in known:
        why = "is terminal" if read.initial in read.terminal else "has no edge"
        yield f"{source.file}: the initial state {read.initial} {why}, so nothing can be rewarded"
    first: dict[tuple[int, str], Edge] = {}
    for edge in read.edges:
        if edge.target not in known:
            known.add(edge.target)
            message = f"state {edge.target} has no edge and is not listed as terminal; list it"
            yield source.show(message, edge.offset)
        before = first.setdefault((edge.source, edge.written), edge)
        if before is not edge:
            message = f"state {edge.source} has the formula '{edge.written}' on line {before.line} already"
            yield source.show(f"{message}, and both cannot be taken; remove one", edge.offset)
