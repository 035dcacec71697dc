"""Paints a scene as one self-contained SVG: no script, no font, no network; light or dark as the reader's system is.

A page that holds the picture can follow a run in it. Cards carry `data-node`, rules and their arrows `data-rule` (the label
that traces use), and the class `active` lights one up. `data-theme="light"` or `"dark"` on the picture overrides the system.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from srm.machine.drawing.arrange import Placed
from srm.machine.drawing.cards import EDGE, HEADER, PAD, Card, RuleRow, Text
from srm.machine.drawing.layout import Point, Route
from srm.machine.drawing.panels import NotePanel
from srm.machine.drawing.scene import Arrow, MachineScene, PlacedCard
from srm.machine.drawing.style import STYLE
from srm.machine.model import Machine

ROUND = 10.0  # corners of arrows that lead back
HEAD = 9.0  # length of an arrowhead


def paint(machine: Machine, scene: MachineScene) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="srm-machine" data-machine="{machine.name}" role="img"'
        f' aria-labelledby="{machine.name}-title {machine.name}-desc"'
        f' viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" width="{_n(scene.width)}" height="{_n(scene.height)}">',
        f'<title id="{machine.name}-title">Symbolic reward machine {machine.name}</title>',
        f'<desc id="{machine.name}-desc">{escape(describe(machine), quote=False)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="canvas" x="0.5" y="0.5" width="{_n(scene.width - 1)}" height="{_n(scene.height - 1)}" rx="12"/>',
        *(_text(text) for text in scene.titles),
        *_start(scene.start),
        *(line for arrow in scene.arrows for line in _arrow(arrow)),
        *(line for card in scene.cards for line in _card(card)),
        *(line for panel in scene.panels for line in _panel(panel)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def describe(machine: Machine) -> str:
    """The rules in words, for a reader who hears the picture."""
    sentences = [f"It starts at {machine.start}."]
    for node in machine.nodes:
        clauses = [f"{rule.guard} pays {rule.pay}{_leads(rule.target)}" for rule in node.rules]
        kind = "Accepting node" if node.accepting else "Node"
        sentences.append(f"{kind} {node.name}: {'; '.join(clauses)}." if clauses else f"{kind} {node.name}.")
    return " ".join(sentences)


def _leads(target: str | None) -> str:
    return f" and leads to {target}" if target else ""


# Parts


def _text(text: Text, x: float = 0.0, y: float = 0.0) -> str:
    pieces = "".join(
        piece.text
        if piece.kind == "space"
        else f'<tspan class="{piece.kind}">{escape(piece.text, quote=False)}</tspan>'
        for piece in text.line
    )
    family = "mono" if text.font.mono else "sans"
    weight = " bold" if text.font.bold else ""
    size = f"s{_n(text.font.size).replace('.', '_')}"
    return f'<text class="{family} {size}{weight}" x="{_n(x + text.x)}" y="{_n(y + text.y)}">{pieces}</text>'


def _start(at: Point) -> Iterator[str]:
    x, y = at
    yield '<g class="start-mark">'
    yield f'<circle cx="{_n(x - 24)}" cy="{_n(y)}" r="5"/>'
    yield f'<path class="line" d="M{_n(x - 19)} {_n(y)}H{_n(x - HEAD)}"/>{_head(at)}</g>'


def _head(tip: Point) -> str:
    x, y = tip
    return f'<path class="head" d="M{_n(x)} {_n(y)}l{_n(-HEAD)} -4.5v9z"/>'


def _arrow(arrow: Arrow) -> Iterator[str]:
    tip = arrow.route.points[-1]
    data = f'data-rule="{arrow.rule}" data-source="{arrow.source}" data-target="{arrow.target}"'
    yield f'<g class="arrow" {data}><path class="line" d="{_path(arrow.route)}"/>{_head(tip)}</g>'


def _path(route: Route) -> str:
    (x, y), *rest = route.points
    rest[-1] = (rest[-1][0] - HEAD + 1, rest[-1][1])  # the line ends inside its arrowhead
    path = f"M{_n(x)} {_n(y)}"
    if not route.smooth:
        return path + _rounded([(x, y), *rest])
    for index, (to_x, to_y) in enumerate(rest):
        if index % 2:  # along its lane
            path += f"H{_n(to_x)}"
        else:
            bend = (to_x - x) * 0.55
            path += f"C{_n(x + bend)} {_n(y)} {_n(to_x - bend)} {_n(to_y)} {_n(to_x)} {_n(to_y)}"
        x, y = to_x, to_y
    return path


def _rounded(points: list[Point]) -> str:
    path = ""
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        begin, end = _towards(here, before), _towards(here, after)
        path += f"L{_n(begin[0])} {_n(begin[1])}Q{_n(here[0])} {_n(here[1])} {_n(end[0])} {_n(end[1])}"
    return path + f"L{_n(points[-1][0])} {_n(points[-1][1])}"


def _towards(here: Point, other: Point) -> Point:
    """The point ROUND away from here (or half-way, if that is nearer) on the level or upright way to the other."""
    dx, dy = other[0] - here[0], other[1] - here[1]
    length = abs(dx) + abs(dy)
    part = min(ROUND, length / 2) / length if length else 0.0
    return here[0] + dx * part, here[1] + dy * part


def _card(placed: PlacedCard) -> Iterator[str]:
    x, y, card = placed.x, placed.y, placed.card
    kind = "node accepting" if card.accepting else "node"
    yield f'<g class="{kind}" data-node="{card.node}">'
    yield f'<rect class="card" x="{_n(x)}" y="{_n(y)}" width="{_n(card.width)}" height="{_n(card.height)}" rx="8"/>'
    yield f'<path class="header" d="{_header(x, y, card)}"/>'
    yield f'<rect class="outline" x="{_n(x)}" y="{_n(y)}" width="{_n(card.width)}" height="{_n(card.height)}" rx="8"/>'
    if card.accepting:  # a double edge, as automata are drawn
        inner = f'width="{_n(card.width - 7)}" height="{_n(card.height - 7)}" rx="5"'
        yield f'<rect class="ring" x="{_n(x + 3.5)}" y="{_n(y + 3.5)}" {inner}/>'
        yield f'<path class="tick" d="M{_n(x + PAD)} {_n(y + HEADER / 2)}l4 4.5 7.5 -9"/>'
    yield _text(card.title, x, y)
    for text in card.dividers:
        yield f'<path class="divider" d="M{_n(x + text.right + 8)} {_n(y + text.y - 3.5)}H{_n(x + card.width - PAD)}"/>'
        yield _text(text, x, y)
    for index, row in enumerate(card.rows):
        follows = index > 0 and not any(card.rows[index - 1].top < d.y < row.top + 2 for d in card.dividers)
        yield from _row(row, card, x, y, hairline=follows)
    yield "</g>"


def _header(x: float, y: float, card: Card) -> str:
    """The top of a card, or all of a card that has no rules."""
    right, corner = card.width - 16, "a8 8 0 0 1 "
    across = f"M{_n(x)} {_n(y + 8)}{corner}8 -8h{_n(right)}{corner}8 8"
    if card.height > HEADER:
        return f"{across}v{_n(HEADER - 8)}h{_n(-card.width)}z"
    return f"{across}v{_n(HEADER - 16)}{corner}-8 8h{_n(-right)}{corner}-8 -8z"


def _row(row: RuleRow, card: Card, x: float, y: float, *, hairline: bool) -> Iterator[str]:
    middle, edge = y + row.port, x + card.width
    yield f'<g class="rule{" leaving" if row.target else ""}" data-rule="{row.label}">'
    yield f'<rect class="row" x="{_n(x + 1.5)}" y="{_n(y + row.top)}" width="{_n(card.width - 3)}" height="{_n(row.height)}"/>'
    if hairline:
        yield f'<path class="hairline" d="M{_n(x + PAD)} {_n(y + row.top)}h{_n(card.width - 2 * PAD)}"/>'
    if row.bar:
        yield f'<path class="bar" d="M{_n(x + PAD + 4)} {_n(y + row.bar[0])}V{_n(y + row.bar[1])}"/>'
    for text in row.texts:
        yield _text(text, x, y)
    if row.target:
        yield f'<circle class="port" cx="{_n(edge)}" cy="{_n(middle)}" r="4"/>'
    else:
        yield _loop(edge - EDGE + 8, middle)
    yield "</g>"


def _loop(x: float, y: float) -> str:
    """A small round arrow: the rule stays."""
    return (
        f'<path class="loop" d="M{_n(x + 3.4)} {_n(y - 3)}a4.4 4.4 0 1 0 1 3.6"/>'
        f'<path class="loop-head" d="M{_n(x + 4.6)} {_n(y - 6.2)}v4.6h-4.6z"/>'
    )


def _panel(placed: Placed) -> Iterator[str]:
    x, y, panel = placed.x, placed.y, placed.panel
    yield '<g class="panel">'
    yield f'<rect class="sheet" x="{_n(x)}" y="{_n(y)}" width="{_n(panel.width)}" height="{_n(panel.height)}" rx="8"/>'
    yield _text(panel.title, x, y)
    yield from _bars(panel, x, y)
    for text in panel.texts:
        yield _text(text, x, y)
    yield "</g>"


def _bars(panel: NotePanel, x: float, y: float) -> Iterator[str]:
    for zero in sorted({bar.zero for bar in panel.bars}):
        along = [bar.y for bar in panel.bars if bar.zero == zero]
        yield f'<path class="axis" d="M{_n(x + zero)} {_n(y + min(along) - 8)}V{_n(y + max(along) + 8)}"/>'
    for bar in panel.bars:
        left, wide = x + min(bar.zero, bar.end), abs(bar.end - bar.zero)
        kind = "gain-bar" if bar.end >= bar.zero else "loss-bar"
        yield f'<rect class="{kind}" x="{_n(left)}" y="{_n(y + bar.y - 3.5)}" width="{_n(wide)}" height="7" rx="1.5"/>'
        if bar.high > bar.low:
            yield f'<path class="whisker" d="M{_n(x + bar.low)} {_n(y + bar.y)}H{_n(x + bar.high)}"/>'


def _n(number: float) -> str:
    """A coordinate to a tenth of a pixel, without needless zeros."""
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
