"""The whole picture of a machine, measured and placed but not yet painted.

title
cards, one for each node, with the arrows between them
panels: holes, counters, terms, constraint
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from srm.machine.drawing.arrange import BETWEEN, Arrangement, Placed, SkylineStep, arrange
from srm.machine.drawing.cards import HEADER, SMALL, Card, Text, cards_of
from srm.machine.drawing.layout import GAP, Box, GraphLayout, Link, Point, Route, place
from srm.machine.drawing.panels import panels_of
from srm.machine.drawing.pieces import Font, Piece
from srm.machine.holes import Constraint
from srm.machine.model import Machine

TITLE = Font(17, bold=True)
SUBTITLE = Font(12, mono=False)
MARGIN = 28.0
BELOW_TITLE = 92.0  # where cards begin
START = 30.0  # left of the start node, for the mark that points at it
LOWER = 7.0  # arrows into the start node arrive this much lower than its mark


@dataclass(frozen=True)
class PlacedCard:
    x: float
    y: float
    card: Card


@dataclass(frozen=True)
class Arrow:
    """The arrow of a rule that leaves its node."""

    rule: str
    source: str
    target: str
    route: Route


@dataclass(frozen=True)
class MachineScene:
    width: float
    height: float
    titles: tuple[Text, ...]
    cards: tuple[PlacedCard, ...]
    arrows: tuple[Arrow, ...]
    start: Point  # where the mark of the start node points
    panels: tuple[Placed, ...]


def scene_of(machine: Machine, constraint: Constraint | None) -> MachineScene:
    # What is drawn: a box for each card, a link for each rule that leaves
    cards = cards_of(machine)
    leaving = [(card, row) for card in cards for row in card.rows if row.target]
    links = [Link(card.node, row.port, row.target or "") for card, row in leaving]
    entered = any(link.target == machine.start for link in links)
    boxes = [Box(c.node, c.width, c.height, HEADER / 2 + (LOWER if c.start and entered else 0)) for c in cards]

    # Where: cards first, panels under them, then the cards again with the room that wide panels leave
    layout = place(boxes, links, machine.start)
    titles = _titles(machine)
    panels = arrange(panels_of(machine, constraint), _skyline(layout, boxes), layout.width + START, SMALL)
    layout = _widened(layout, boxes, links, machine.start, panels)
    width = max(panels.width, *(title.right for title in titles))

    # All of it inside the margins
    left, top = MARGIN + START, BELOW_TITLE
    placed = tuple(
        PlacedCard(left + x, top + y, replace(card, width=layout.widths[card.node]))
        for card in cards
        for x, y in [layout.corners[card.node]]
    )
    start = next(p for p in placed if p.card.start)
    return MachineScene(
        width=width + 2 * MARGIN,
        height=top + panels.height + MARGIN,
        titles=tuple(replace(title, x=title.x + MARGIN) for title in titles),
        cards=placed,
        arrows=tuple(
            Arrow(row.label, card.node, row.target or "", _moved(route, left, top))
            for (card, row), route in zip(leaving, layout.routes, strict=True)
        ),
        start=(start.x, start.y + HEADER / 2 - (LOWER if entered else 0)),
        panels=tuple(replace(p, x=p.x + MARGIN, y=p.y + top) for p in panels.placed),
    )


def _widened(layout: GraphLayout, boxes: list[Box], links: list[Link], start: str, panels: Arrangement) -> GraphLayout:
    """Room to spare goes between the cards, as much of it as brings none over a panel."""
    spare = min((panels.width - START - layout.width) / max(1, layout.layers - 1), GAP)
    for part in (1.0, 0.75, 0.5, 0.25):
        wider = place(boxes, links, start, GAP + part * spare)
        if panels.stays_below(_skyline(wider, boxes)):
            return wider
    return layout


def _skyline(layout: GraphLayout, boxes: Sequence[Box]) -> list[SkylineStep]:
    """What the cards and arrows take up, seen from below; arrows that lead back run below everything."""
    steps = [SkylineStep(0.0, START, HEADER)]
    for box in boxes:
        x, y = layout.corners[box.name]
        steps.append(SkylineStep(START + x - BETWEEN, START + x + layout.widths[box.name] + BETWEEN, y + box.height))
    for route in layout.routes:
        xs, ys = zip(*route.points, strict=True)
        steps.append(SkylineStep(START + min(xs), START + max(xs), max(ys)))
    return steps


def _moved(route: Route, right: float, down: float) -> Route:
    return replace(route, points=tuple((x + right, y + down) for x, y in route.points))


def _titles(machine: Machine) -> list[Text]:
    counts = [
        _counted(len(machine.nodes), "node"),
        _counted(len(machine.rules), "rule"),
        *([_counted(len(machine.holes), "hole")] if machine.holes else []),
        *([f"words of {machine.words}"] if machine.words and not machine.info else []),
        *([f"info of {machine.info.env_id}"] if machine.info else []),
    ]
    return [
        Text(0, 44, (Piece("title", machine.name),), TITLE),
        Text(0, 64, (Piece("note", " · ".join(counts)),), SUBTITLE),
    ]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
