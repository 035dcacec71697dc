"""The grammar, and the message when a line does not follow it.

A parser expects many things at once; a person wants to hear of the one or two that would most likely mend the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from srm.machine.language.source import LogicalLine, Span
from srm.machine.validate import RESERVED

HEADERS = ("machine", "words", "holes", "counters", "let", "start", "node", "accept", "constraint")
_BODIES = ("word", "hole", "counter", "rule", "otherwise", "hindsight", "repay_every", "repay_last", "atom")

_TERM = "HOLE COUNTER NUMBER NAME LPAR MINUS ALWAYS"  # `always` is read as any term is, and refused afterwards
_SPOKEN = (  # the first whose terminals are all expected speaks for them
    (f"{_TERM} NOT", "an event or a comparison"),
    (_TERM, "a term of numbers, ?holes, #counters and signals"),
    ("PLUS MINUS STAR", "an operator"),
    ("LPAR NAME NONE", "a value, `none`, a cell (x, y) or an attribute of the rule's event"),
    ("MINUS NUMBER", "a number"),
    ("NAME RULE", "an event or `rule NAME`"),
    ("COMMA RELATION", "a comparison (<=, >= or =)"),
    ("RELATION", "a comparison (<=, >= or =)"),
    ("NUMBER", "a number"),
    ("HOLE", "a hole (?name)"),
    ("COUNTER", "a counter (#name)"),
    ("NAME ACCEPT", "a name"),
    ("NAME", "a name"),
    ("NEXT", "`next to`"),
    ("_PLUS_MINUS _PLUS_OR_MINUS", "`+-`"),
)


_HABITS = {  # signs of other languages, and what they are here
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "/": "write `//` before what is paid",
    '"': 'a label ends with " on its own line',
    "#": "a comment needs a space after its #",
}


@cache
def _grammar() -> Lark:
    text = (files("srm.machine.language") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", start=[f"{kind}_line" for kind in HEADERS + _BODIES], propagate_positions=True)


def parse_line(text: str, kind: str) -> Tree[Token]:
    """The tree of one logical line; raises what `explain` explains."""
    return _grammar().parse(text, start=f"{kind}_line")


def explain(line: LogicalLine, error: UnexpectedInput) -> tuple[str, Span]:
    """What is wrong with the line, and where."""
    offset = line.start + max(0, error.pos_in_stream or 0)
    match error:
        case UnexpectedToken() if error.token.type == "$END":
            wanted = _wanted(error.accepts - {"AND"})  # what is missing, not what could also be there
            return f"the line ends too soon; {wanted}", (line.start + len(line.text), 1)
        case UnexpectedToken():
            word = str(error.token)
            reserved = ", a word of the language," if word in RESERVED else ""
            message = f"{word[:40]}{reserved} does not belong here; {_wanted(error.accepts)}"
            noted = "#" in (line.text[0], word[0]) and " counts " not in line.text
            return message + (f"; {_HABITS['#']}" if noted else ""), (offset, len(word))
        case UnexpectedCharacters():
            habit = f"; {_HABITS[error.char]}" if error.char in _HABITS else ""
            return f"{error.char!r} does not belong here{habit}", (offset, 1)
        case _:
            raise AssertionError(error)  # the two above are all that this parser raises


def _wanted(terminals: Iterable[str]) -> str:
    remaining = set(terminals)
    if "_PAYS" in remaining:
        return (
            "expected `and`, `or`, or `//` and what is paid" if "AND" in remaining else "expected `//` and what is paid"
        )
    meanings = []
    for names, meaning in _SPOKEN:
        group = set(names.split())
        if group <= remaining:
            remaining -= group
            meanings.append(meaning)
    meanings += sorted(f"`{terminal.pattern.value}`" for terminal in _grammar().terminals if terminal.name in remaining)
    meanings += ["the end of the line"] if "$END" in remaining else []
    return "expected " + " or ".join(meanings)
