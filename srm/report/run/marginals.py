"""Draws as small pictures: a hole before and after the evidence, and two holes against each other."""

from __future__ import annotations

from collections.abc import Sequence

from srm.infer.posterior.record import HoleRecord, PairRecord
from srm.report.html.markup import Markup, join, tag
from srm.report.html.numbers import number
from srm.report.html.parts import hole_code

WIDTH, EDGE, TOP, BASE = 260.0, 8.0, 6.0, 88.0  # of a hole's picture, in pixels
BAR, LABELS, HEIGHT = 99.0, 120.0, 126.0
SMOOTH = 3  # bins of the prior drawn as one: it has fewer draws
SIDE, LEFT, BOTTOM = 192.0, 44.0, 24.0  # of a pair's picture


class _Axis:
    """From numbers to pixels."""

    def __init__(self, extent: Sequence[float], first: float, last: float) -> None:
        (self.low, self.high), self.first, self.last = extent, first, last

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.first + (self.last - self.first) * share, 1)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def end(self, value: float) -> str:
        """An end of the axis, with no more digits than its length deserves."""
        return "0" if abs(value) < 0.01 * (self.high - self.low) else number(value, 2)


def amount(value: float, decimals: int = 2) -> str:
    """Always so many decimals, for numbers that stand below each other."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def interval(hole: HoleRecord) -> str:
    return f"{amount(hole.low, hole.decimals)} … {amount(hole.high, hole.decimals)}"


def _with_zero(extent: Sequence[float]) -> tuple[float, float]:
    """The extent up to 0, unless that is farther away than the extent is wide."""
    low, high = extent
    width = high - low
    return min(low, 0.0) if low < width else low, max(high, 0.0) if -high < width else high


def marginal(hole: HoleRecord) -> Markup:
    """The posterior as a filled histogram over the prior's outline, the mean and the 90 % interval below, zero marked."""
    axis = _Axis(_with_zero(hole.extent), EDGE, WIDTH - EDGE)
    first, last = axis(hole.extent[0]), axis(hole.extent[1])
    after = _shares(hole.drawn, 1)
    before = _shares(hole.before, SMOOTH if len(hole.before) % SMOOTH == 0 and len(hole.before) > 2 * SMOOTH else 1)
    most = max(*after, *before)
    zero = axis(0.0)
    shapes = [
        tag("title", _words(hole)),
        tag("path", class_="drawn", d=f"{_steps(after, most, first, last)} Z"),
        tag("path", class_="prior", d=_steps(before, most, first, last)),
        tag("line", class_="axis", x1=EDGE, x2=WIDTH - EDGE, y1=BASE, y2=BASE),
        tag("line", class_="zero", x1=zero, x2=zero, y1=TOP, y2=BASE + 16) if axis.holds(0.0) else None,
        tag("line", class_="mean", x1=axis(hole.mean), x2=axis(hole.mean), y1=TOP, y2=BASE),
        tag("line", class_="inner", x1=axis(hole.low), x2=axis(hole.high), y1=BAR, y2=BAR),
        tag("circle", class_="value", cx=axis(hole.mean), cy=BAR, r=3.5),
        tag("text", axis.end(axis.low), x=EDGE, y=LABELS),
        tag("text", axis.end(axis.high), x=WIDTH - EDGE, y=LABELS, text_anchor="end"),
        tag("text", "0", x=zero, y=LABELS, text_anchor="middle")
        if axis.holds(0.0) and EDGE + 34 < zero < WIDTH - EDGE - 34
        else None,
    ]
    return tag("svg", *shapes, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img")


def _words(hole: HoleRecord) -> str:
    return (
        f"?{hole.name}: mean {amount(hole.mean, hole.decimals)}, 90 % of the draws {interval(hole)}; "
        f"before the evidence {amount(hole.prior_mean)} ± {amount(hole.prior_spread)}"
    )


def _shares(counts: Sequence[int], together: int) -> list[float]:
    """Of all draws, in each bin; several bins together share evenly."""
    total = max(1, sum(counts))
    groups = [counts[place : place + together] for place in range(0, len(counts), together)]
    return [sum(group) / (total * together) for group in groups for _ in group]


def _steps(shares: Sequence[float], most: float, first: float, last: float) -> str:
    """The outline of a histogram, from its lower left corner to its lower right one."""
    width = (last - first) / len(shares)
    parts = [f"M {first:g} {BASE:g}"]
    for place, share in enumerate(shares, 1):
        height = BASE - (BASE - TOP) * (share / most if most > 0 else 0.0)
        parts.append(f"V {height:.1f} H {first + width * place:.1f}")
    return " ".join(parts) + f" V {BASE:g}"


def pair(record: PairRecord) -> Markup:
    """Draws of two holes: the darker a cell, the more of them."""
    across = _Axis(record.first_range, LEFT, LEFT + SIDE)
    up = _Axis(record.second_range, TOP + SIDE, TOP)
    most = max(max(row) for row in record.cells) or 1
    wide, high = SIDE / len(record.cells[0]), SIDE / len(record.cells)
    cells = [
        tag(
            "rect",
            x=round(LEFT + wide * column, 1),
            y=round(TOP + SIDE - high * (row + 1), 1),
            width=round(wide, 1),
            height=round(high, 1),
            fill_opacity=f"{(count / most) ** 0.5:.2f}",
        )
        for row, counts in enumerate(record.cells)
        for column, count in enumerate(counts)
        if count
    ]

    # Cells, and the axes of 0 where they lie within
    title = f"?{record.first} against ?{record.second}, correlation {number(record.correlation)}"
    x, y = across(0.0), up(0.0)
    shapes = [
        tag("title", title),
        tag("rect", class_="frame", x=LEFT, y=TOP, width=SIDE, height=SIDE),
        tag("line", class_="zero", x1=x, x2=x, y1=TOP, y2=TOP + SIDE) if across.holds(0.0) else None,
        tag("line", class_="zero", x1=LEFT, x2=LEFT + SIDE, y1=y, y2=y) if up.holds(0.0) else None,
        tag("g", *cells, class_="cells", shape_rendering="crispEdges"),
        *_ends(across, up),
    ]

    # The picture and what stands below it
    size = (LEFT + SIDE + EDGE, TOP + SIDE + BOTTOM)
    picture = tag("svg", *shapes, viewBox=f"0 0 {size[0]:g} {size[1]:g}", role="img")
    names = join([hole_code(record.first), " → against ", hole_code(record.second), " ↑"])
    about = tag("figcaption", names, tag("span", f"correlation {number(record.correlation, 2)}", class_="range"))
    return tag("figure", about, picture)


def _ends(across: _Axis, up: _Axis) -> list[Markup]:
    below = TOP + SIDE + 16
    return [
        tag("text", across.end(across.low), x=LEFT, y=below),
        tag("text", across.end(across.high), x=LEFT + SIDE, y=below, text_anchor="end"),
        tag("text", up.end(up.low), x=LEFT - 5, y=TOP + SIDE, text_anchor="end"),
        tag("text", up.end(up.high), x=LEFT - 5, y=TOP + 10, text_anchor="end"),
    ]
