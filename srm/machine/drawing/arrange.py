"""Where the panels go: of all ways to put them into columns, below the cards or beside the short ones, the lowest.

Cards leave a skyline: a step for each layer, down to its lowest box or arrow. A column of panels begins below the steps that
it stands under, so that a machine of one long card and two short ones has its panels under the short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from srm.machine.drawing.panels import Fit, NotePanel
from srm.machine.drawing.pieces import Font, text_width

BETWEEN = 16.0  # panels
BELOW = 28.0  # cards
NARROWEST = 820.0
PER_WIDTH = 0.8  # a picture may be this much higher for each pixel that it is narrower
PER_FOLD = 8.0  # and this much for each formula that stays in one line
WORTH = 60.0  # a column begins beside cards only if it begins this much higher
STRETCH = 70.0  # a panel is made higher by no more than this to end in line with the others


@dataclass(frozen=True)
class SkylineStep:
    """Part of the skyline: nothing may stand between left and right above bottom."""

    left: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Placed:
    x: float
    y: float
    panel: NotePanel


@dataclass(frozen=True)
class Arrangement:
    placed: tuple[Placed, ...]
    width: float
    height: float

    def stays_below(self, skyline: Sequence[SkylineStep]) -> bool:
        return all(
            p.y >= step.bottom + BELOW or step.right <= p.x or p.x + p.panel.width <= step.left
            for p in self.placed
            for step in skyline
        )


def arrange(
    panels: Callable[[Fit], list[NotePanel]], skyline: Sequence[SkylineStep], width: float, font: Font
) -> Arrangement:
    """`panels` gives the panels for a measure, which is in pixels of that font; `width` is that of the cards."""
    if not panels(Fit(0.0, 1)):
        return Arrangement((), width, max(step.bottom for step in skyline))
    width = max(NARROWEST, width)
    best, least = None, inf
    for letters, abreast in product((52, 44, 36, 28), (1, 2, 3, 4)):
        fit = Fit(letters * text_width("m", font), abreast)
        for columns, sharing in product(_columns(panels(fit)), _SHARINGS):
            plan = _plan(columns, skyline, width, sharing)
            folds = sum(panel.folds for column in columns for panel in column)
            cost = plan.height + PER_WIDTH * (plan.width - width) + PER_FOLD * folds + abreast / 1e3
            if cost < least:
                best, least = plan, cost
    assert best is not None
    return best.carried_out()


def _columns(panels: list[NotePanel]) -> Iterator[list[list[NotePanel]]]:
    """Every way to share the panels between two columns, in their order; all in one; each in its own."""
    for sides in product((0, 1), repeat=len(panels)):
        columns = [[panel for panel, side in zip(panels, sides, strict=True) if side == wanted] for wanted in (0, 1)]
        yield [column for column in columns if column]
    yield [[panel] for panel in panels]
    if len(panels) > 3:
        yield [[panels[0]], panels[1:-1], [panels[-1]]]


# how the columns share the width that is left over: number of columns -> part of each
_SHARINGS: tuple[Callable[[int], list[float]], ...] = (
    lambda count: [1 / count] * count,
    lambda count: [1.0] + [0.0] * (count - 1),
    lambda count: [0.0] * (count - 1) + [1.0],
)


@dataclass(frozen=True)
class _Plan:
    """Columns of panels, with where each begins and how wide it is made."""

    columns: list[list[NotePanel]]
    begins: list[tuple[float, float, float]]  # x, y, width
    width: float
    height: float

    def carried_out(self) -> Arrangement:
        placed: list[Placed] = []
        for column, (x, y, width) in zip(self.columns, self.begins, strict=True):
            for panel in column:
                placed.append(Placed(x, y, replace(panel, width=width)))
                y += panel.height + BETWEEN
            placed[-1] = _level(placed[-1], self.height)
        return Arrangement(tuple(placed), self.width, self.height)


def _plan(
    columns: list[list[NotePanel]], skyline: Sequence[SkylineStep], least: float, sharing: Callable[[int], list[float]]
) -> _Plan:
    natural = [max(panel.width for panel in column) for column in columns]
    needed = sum(natural) + BETWEEN * (len(columns) - 1)
    width = max(least, needed)
    lowest = max(step.bottom for step in skyline)
    begins: list[tuple[float, float, float]] = []
    x, height = 0.0, lowest
    for column, own, part in zip(columns, natural, sharing(len(columns)), strict=True):
        wide = own + (width - needed) * part
        above = max((step.bottom for step in skyline if step.left < x + wide and x < step.right), default=0.0)
        y = (above if above < lowest - WORTH else lowest) + BELOW
        begins.append((x, y, wide))
        height = max(height, y + sum(panel.height for panel in column) + BETWEEN * (len(column) - 1))
        x += wide + BETWEEN
    return _Plan(columns, begins, width, height)


def _level(placed: Placed, bottom: float) -> Placed:
    """The panel made higher to end at the bottom, if that is near."""
    room = bottom - placed.y - placed.panel.height
    return replace(placed, panel=replace(placed.panel, height=placed.panel.height + room * (room <= STRETCH)))
