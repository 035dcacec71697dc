"""Formulas as coloured pieces, how wide they are, and how they fold into lines.

The text of a term, a guard or a whole machine is cut into pieces, each of one kind (hole, counter, event, ...); the terminal
and the pictures colour the same kinds. A picture cannot ask a font for its widths, so they come from a small table: those of
the widest fonts that the pictures name, so that text drawn with another font only leaves more room.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from srm.machine.model import Machine
from srm.machine.validate import RESERVED

# Pieces


@dataclass(frozen=True)
class Piece:
    kind: str  # hole, counter, event, term, number, word, sign, label, space, name; pictures add kinds of their own
    text: str


Line = tuple[Piece, ...]

_TOKENS = re.compile(
    r'(?P<label>"[^"]*")|(?P<hole>\?\w+)|(?P<counter>#\w+)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<number>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<space>\s+)|(?P<sign>//|->|\+-|\.\.|<=|>=|!=|.)"
)
_BINDS = frozenset(("", *"(<>=≤≥≠·*−+,", "<=", ">=", "!=", "//", "+-", "in", ".."))  # `-` after these is a number's own
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "-": "−", "*": "·", "+-": "±"}


@dataclass(frozen=True)
class Lexicon:
    """The names of a machine that are neither holes nor counters, which their first letter tells."""

    events: frozenset[str]
    terms: frozenset[str]

    def pieces(self, text: str) -> Line:
        """The text, cut into pieces; joining them gives the text back."""
        pieces: list[Piece] = []
        last = ""  # text of the piece before, spaces aside
        for match in _TOKENS.finditer(text):
            piece = self._piece(match.lastgroup or "sign", match.group())
            if piece.kind == "number" and pieces and pieces[-1].text == "-" and last in _BINDS:
                piece = Piece("number", f"{pieces.pop().text}{piece.text}")
            elif piece.kind != "space" and piece.text != "-":
                last = piece.text
            pieces.append(piece)
        return tuple(pieces)

    def _piece(self, kind: str, text: str) -> Piece:
        if kind == "name":
            known = (("word", RESERVED), ("term", self.terms), ("event", self.events))
            kind = next((kind for kind, names in known if text in names), "name")
        return Piece(kind, text)


def lexicon(machine: Machine) -> Lexicon:
    return Lexicon(machine.events, frozenset(name for name, _ in machine.terms))


def typeset(line: Line) -> Line:
    """The pieces with the signs of print in place of those of the keyboard: ≤ for <=, · for *."""
    return tuple(Piece(p.kind, _printed(p)) for p in line)


def _printed(piece: Piece) -> str:
    if piece.kind == "number" and piece.text.startswith("-"):
        return f"−{piece.text[1:]}"
    return _SIGNS.get(piece.text, piece.text) if piece.kind == "sign" else piece.text


# Widths


@dataclass(frozen=True)
class Font:
    size: float
    mono: bool = True
    bold: bool = False


_MONO = 0.62  # em; SF Mono is the widest of the fonts named
_WIDTHS = {  # hundredths of an em in DejaVu Sans, rounded up
    30: "ijlIJ'", 41: " .,:;|/\\-!()[]tf", 46: 'r"', 53: "sz?*_`", 60: "ckvxyFLP",
    66: "abdeghnopquEKSTY$0123456789{}", 70: "ABCRVXZ", 79: "DGHNOQU&", 84: "+<>=~^#", 100: "mwMW%@",
}  # fmt: skip
_SANS = {letter: hundredths / 100 for hundredths, letters in _WIDTHS.items() for letter in letters}
_BOLD = 1.25


@cache  # panels are set in many widths to find the best
def text_width(text: str, font: Font) -> float:
    """How wide the text is at most, in pixels."""
    ems = sum(max(_wide(c), _MONO) if font.mono else max(_wide(c), _SANS.get(c, 0.85)) for c in text)
    return ems * font.size * (_BOLD if font.bold and not font.mono else 1.0)


def _wide(letter: str) -> float:
    return 1.0 if not letter.isascii() and unicodedata.east_asian_width(letter) in "WF" else 0.0


def line_width(line: Sequence[Piece], font: Font) -> float:
    return sum(text_width(piece.text, font) for piece in line)


# Folding

_BREAK_BEFORE = frozenset(("and", "or", "+", "-", "−", "where", "except", "resets", "at"))
HANGING = (Piece("space", "  "),)  # begins every line but the first
WHOLE = 44  # letters; what stands between two places outside parentheses is broken only if it is longer


def fold(line: Line, first: float, rest: float, font: Font) -> list[Line]:
    """The line in lines no wider than `first` and then `rest`, unless a single word is wider.

    Lines break where a formula may be cut (before `and` or `+`, after a comma), outside parentheses if that is enough.
    """
    lines: list[list[Piece]] = [[]]
    room = first
    for segment in _segments(line, outermost=True):
        narrow = line_width(segment, font) <= max(rest, WHOLE * text_width("m", font))
        for part in [segment] if narrow else _segments(segment, outermost=False):
            if lines[-1] and line_width([*lines[-1], *_stripped(part, right=True)], font) > room:
                lines.append([*HANGING, *_stripped(part)])
                room = rest
            else:
                lines[-1] += part
    return [_stripped(tuple(pieces), left=False, right=True) for pieces in lines]


def _segments(line: Line, *, outermost: bool) -> list[Line]:
    """The line cut at the places where it may be broken; with `outermost` only at those outside parentheses."""
    segments: list[list[Piece]] = [[]]
    depth = 0
    last = ""  # text of the piece before, spaces aside
    for piece in line:
        breaks = last == "," or (piece.text in _BREAK_BEFORE and last not in _BINDS)
        if breaks and piece.kind != "space" and not (outermost and depth):
            segments.append([])
        segments[-1].append(piece)
        depth += (piece.text == "(") - (piece.text == ")")
        last = last if piece.kind == "space" else piece.text
    return [tuple(segment) for segment in segments]


def _stripped(line: Line, *, left: bool = True, right: bool = False) -> Line:
    pieces = list(line)
    while left and pieces and pieces[0].kind == "space":
        pieces.pop(0)
    while right and pieces and pieces[-1].kind == "space":
        pieces.pop()
    return tuple(pieces)
