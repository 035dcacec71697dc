"""Where the panels go: of all ways to put them into columns, below the cards or beside the short ones, the lowest.

Cards leave a skyline: a step for each layer, down to its lowest box or arrow. A column of panels begins below the steps that
it stands under, so that a machine of one long card and two short ones has its panels under the short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from srm.machine.drawing.panels import Fit, Panel
from srm.machine.drawing.pieces import Font, text_width

BETWEEN = 16.0  # panels
BELOW = 28.0  # cards
NARROWEST = 820.0
PER_WIDTH = 0.8  # a picture may be this much higher for each pixel that it is narrower
PER_FOLD = 8.0  # and this much for each formula that stays in one line
WORTH = 60.0  # a column begins beside cards only if it begins this much higher
STRETCH = 70.0  # a panel is made higher by no more than this to end in line with the others


@dataclass(frozen=True)
class Step:
    """Part of the skyline: nothing may stand between left and right above bottom."""

    left: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Placed:
    x: float
    y: float
    panel: Panel


@dataclass(frozen=True)
class Arrangement:
    placed: tuple[Placed, ...]
    width: float
    height: float

    def stays_below(self, skyline: Sequence[Step]) -> bool:
        return all(
            p.y >= step.bottom + BELOW or step.right <= p.x or p.x + p.panel.width <= step.left
            for p in self.placed
            for step in skyline
        )


def arrange(panels: Callable[[Fit], list[Panel]], skyline: Sequence[Step], width: float, font: Font) -> Arrangement:
    """`panels` gives the panels for a measure, which is in pixels of that font; `width` is that of the cards."""
    width = max(NARROWEST, width)
    if not panels(Fit(0.0, 1)):
        return Arrangement((), width, max(step.bottom for step in skyline))
    options: list[tuple[float, Arrangement]] = []
    for letters, abreast in product((52, 44, 36, 28), (1, 2, 3, 4)):
        fit = Fit(letters * text_width("m", font), abreast)
        for columns, sharing in product(_columns(panels(fit)), _SHARINGS):
            found = _set(columns, skyline, width, sharing)
            folds = sum(placed.panel.folds for placed in found.placed)
            cost = found.height + PER_WIDTH * (found.width - width) + PER_FOLD * folds + abreast / 1e3
            options.append((cost, found))
    return min(options, key=lambda option: option[0])[1]


def _columns(panels: list[Panel]) -> Iterator[list[list[Panel]]]:
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


def _set(
    columns: list[list[Panel]], skyline: Sequence[Step], least: float, sharing: Callable[[int], list[float]]
) -> Arrangement:
    natural = [max(panel.width for panel in column) for column in columns]
    width = max(least, sum(natural) + BETWEEN * (len(columns) - 1))
    spare = width - sum(natural) - BETWEEN * (len(columns) - 1)
    lowest = max(step.bottom for step in skyline)
    placed: list[list[Placed]] = []
    x = 0.0
    for column, own, part in zip(columns, natural, sharing(len(columns)), strict=True):
        wide = own + spare * part
        above = max((step.bottom for step in skyline if step.left < x + wide and x < step.right), default=0.0)
        y = (above if above < lowest - WORTH else lowest) + BELOW
        placed.append([])
        for panel in column:
            placed[-1].append(Placed(x, y, replace(panel, width=wide)))
            y += panel.height + BETWEEN
        x += wide + BETWEEN
    height = max(lowest, *(column[-1].y + column[-1].panel.height for column in placed))
    levelled = (one for column in placed for one in (*column[:-1], _level(column[-1], height)))
    return Arrangement(tuple(levelled), width, height)


def _level(placed: Placed, bottom: float) -> Placed:
    """The panel made higher to end at the bottom, if that is near."""
    room = bottom - placed.y - placed.panel.height
    return replace(placed, panel=replace(placed.panel, height=placed.panel.height + room * (room <= STRETCH)))
