"""Numbers on a line, small enough for a cell of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from srm.report.html.markup import Markup, join, tag
from srm.report.html.numbers import number

WIDTH, HEIGHT, EDGE = 220.0, 22.0, 6.0  # in pixels
APART = 7.0  # between the lines of seeds


class Scale:
    """From numbers to pixels of one width."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @staticmethod
    def of(values: Sequence[float]) -> Scale:
        low, high = min(values), max(values)
        return Scale(low, high if high > low else low + 1.0)

    def __call__(self, value: float) -> float:
        return round(EDGE + (WIDTH - 2 * EDGE) * (value - self.low) / (self.high - self.low), 1)


def interval(hole: Mapping[str, Any], scale: Scale) -> Markup:
    """The outer quantiles as a line, the inner ones as a bar, the value as a dot; all holes on one scale with zero."""
    quantiles = hole["quantiles"]
    low, lower, upper, high = (scale(quantiles[index]) for index in (0, 1, -2, -1))
    middle, title = HEIGHT / 2, f"from {number(quantiles[0])} to {number(quantiles[-1])}"
    shapes = [
        _zero(scale, HEIGHT),
        tag("line", class_="outer", x1=low, x2=high, y1=middle, y2=middle),
        tag("line", class_="inner", x1=lower, x2=upper, y1=middle, y2=middle),
        tag("circle", class_="value", cx=scale(hole["value"]), cy=middle, r=4),
    ]
    return join(
        [
            _picture(title, shapes, HEIGHT),
            tag("span", f"{number(quantiles[0])} … {number(quantiles[-1])}", class_="range"),
        ]
    )


def dots(title: str, values: Sequence[float], scale: Scale, middle: float, colour: int) -> Markup:
    """One dot a seed on one line, and a stroke at their middle if there is one."""
    shapes = [tag("circle", class_="seed", cx=scale(value), cy=HEIGHT / 2, r=4) for value in values]
    if scale.low <= middle <= scale.high:
        shapes.append(tag("line", class_="middle", x1=scale(middle), x2=scale(middle), y1=3, y2=HEIGHT - 3))
    return _coloured(_picture(title, [_zero(scale, HEIGHT), *shapes], HEIGHT), colour)


def spreads(title: str, values: Sequence[tuple[float, float]], scale: Scale, colour: int) -> Markup:
    """One line a seed: a dot for its value, a stroke for one spread to either side."""
    height = APART * (len(values) + 1)
    shapes = [_zero(scale, height)]
    for row, (value, spread) in enumerate(values, 1):
        low, high = (min(max(end, scale.low), scale.high) for end in (value - spread, value + spread))
        shapes.append(tag("line", class_="spread", x1=scale(low), x2=scale(high), y1=APART * row, y2=APART * row))
        shapes.append(tag("circle", class_="seed", cx=scale(value), cy=APART * row, r=3))
    return _coloured(_picture(title, shapes, height), colour)


def _zero(scale: Scale, height: float) -> Markup | None:
    return (
        tag("line", class_="zero", x1=scale(0.0), x2=scale(0.0), y1=0, y2=height)
        if scale.low <= 0 <= scale.high
        else None
    )


def _coloured(picture: Markup, colour: int) -> Markup:
    return tag("div", picture, class_="strip", style=f"--colour:var({colour_name(colour)})")


def _picture(title: str, shapes: Sequence[Markup | None], height: float) -> Markup:
    inside = join([tag("title", title), *shapes])
    return tag("svg", inside, viewBox=f"0 0 {WIDTH:g} {height:g}", width=WIDTH, height=height, role="img")


# Colours of curves


COLOURS = 7  # in page.css, as --curve-0 and on
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # the lines of the next seven curves


def colour_name(index: int) -> str:
    """The variable in page.css with the colour of a curve; with more curves than colours `dash` tells them apart."""
    return f"--curve-{index % COLOURS}"


def dash(index: int) -> str:
    return DASHES[index // COLOURS % len(DASHES)]
