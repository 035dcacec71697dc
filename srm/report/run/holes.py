"""What is believed of each hole, and on what ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from srm.report.html.markup import Markup, table, tag
from srm.report.html.numbers import number, whole
from srm.report.html.parts import hole_head
from srm.report.html.strip import Scale, interval


def posterior_table(posterior: Mapping[str, Any]) -> Markup:
    """One row a hole: value, spread and quantiles of draws of q, and how often the pay of a step depended on it."""
    holes, levels = posterior["holes"], posterior["quantiles"]
    scale = Scale.of([*(q for hole in holes for q in hole["quantiles"]), *(hole["value"] for hole in holes), 0.0])
    percent = f"{100 * (levels[-1] - levels[0]):.0f} % of draws"
    heads = ["hole", "value", "spread", percent, "demonstrated", "played", "set by"]
    rows = [
        [
            hole_head(hole["name"]),
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
