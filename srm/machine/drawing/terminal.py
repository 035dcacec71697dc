"""A machine in the terminal: its text in columns, coloured by what each word is.

The colours are those of the pictures: holes, counters, events and named terms each have their own. Without colours the text
is that of an `.srm` file, so what is piped into a file can be read again.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from srm.machine.drawing.pieces import Line, Piece, lexicon
from srm.machine.model import Machine

STYLES = {
    "hole": "magenta",
    "counter": "cyan",
    "event": "bright_blue",
    "term": "yellow",
    "label": "green",
    "word": "italic dim",
    "sign": "dim",
    "header": "bold italic",
    "node": "bold",
}
_HEADERS = frozenset("machine words holes counters let start node accept constraint".split())
_BEFORE_NODES = frozenset(("machine", "start", "node", "accept", "->", "at"))


def coloured(machine: Machine) -> Text:
    """The machine's text, with styles for rich to print."""
    names = lexicon(machine)
    text = Text()
    for number, line in enumerate(str(machine).splitlines()):
        text.append("\n" if number else "")
        for piece in _in_context(names.pieces(line)):
            text.append(piece.text, STYLES.get(piece.kind))
    return text


def show(machine: Machine, console: Console) -> None:
    console.print(coloured(machine), soft_wrap=True, highlight=False)


def _in_context(line: Line) -> Line:
    """The pieces of a line, with section headers and the names of nodes told by where they stand."""
    pieces: list[Piece] = []
    named = False  # whether a node's name comes next
    for piece in line:
        if piece.kind == "space":
            pieces.append(piece)
        elif not any(p.kind != "space" for p in pieces) and piece.text in _HEADERS:
            pieces.append(Piece("header", piece.text))
        elif named and piece.kind != "word":
            pieces.append(Piece("node", piece.text))
        else:
            pieces.append(piece)
        if piece.kind != "space":  # `at` may be followed by several names
            named = piece.text in _BEFORE_NODES or (piece.text == "," and pieces[-2].kind == "node")
    return tuple(pieces)
