"""What is believed of each hole, and on what ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from srm.report.markup import Markup, join, table, tag
from srm.report.numbers import number, whole

WIDTH, HEIGHT, EDGE = 220.0, 22.0, 6.0  # of the picture of an interval


def posterior_table(posterior: Mapping[str, Any]) -> Markup:
    """One row a hole: value, spread, interval, and how often the pay of a step depended on it."""
    holes, levels = posterior["holes"], posterior["quantiles"]
    scale = Scale.of([*(q for hole in holes for q in hole["quantiles"]), *(hole["value"] for hole in holes), 0.0])
    percent = f"{100 * (levels[-1] - levels[0]):.0f} % interval"
    heads = ["hole", "value", "spread", percent, "demonstrated", "played", "set by"]
    rows = [
        [
            tag("th", tag("code", f"?{hole['name']}", class_="hole"), scope="row"),
            tag("td", number(hole["value"], 6), class_="number", data_value=hole["value"]),
            tag("td", f"± {number(hole['spread'], 2)}", class_="number"),
            tag("td", interval(hole, scale), class_="interval"),
            tag("td", whole(hole["demonstrated"]), class_="number"),
            tag("td", whole(hole["played"]), class_="number"),
            tag("td", _ground(hole, posterior["constraint"])),
        ]
        for hole in holes
    ]
    return table(heads, rows, label="What is believed of each hole", class_="posterior")


def _ground(hole: Mapping[str, Any], constraint: str | None) -> Markup | str:
    if not hole["exercised"]:
        alone = "set by the constraint alone" if constraint else "set by nothing but its first guess"
        return tag("span", alone, class_="badge warning")
    return " and ".join(name for steps, name in (("demonstrated", "demonstrations"), ("played", "play")) if hole[steps])


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
    middle, told = HEIGHT / 2, f"from {number(quantiles[0])} to {number(quantiles[-1])}"
    shapes = join(
        [
            tag("title", told),
            tag("line", class_="zero", x1=scale(0.0), x2=scale(0.0), y1=0, y2=HEIGHT),
            tag("line", class_="outer", x1=low, x2=high, y1=middle, y2=middle),
            tag("line", class_="inner", x1=lower, x2=upper, y1=middle, y2=middle),
            tag("circle", class_="value", cx=scale(hole["value"]), cy=middle, r=4),
        ]
    )
    picture = tag("svg", shapes, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", width=WIDTH, height=HEIGHT, role="img")
    return join([picture, tag("span", f"{number(quantiles[0])} … {number(quantiles[-1])}", class_="range")])
