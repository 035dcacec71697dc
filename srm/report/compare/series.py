"""What the charts of a comparison are drawn from, as plain data for their scripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from srm.report.compare.measure import THRESHOLDS, Comparison, MeasuredPanel
from srm.report.compare.stats import Band
from srm.report.html.strip import colour_name, dash


def panel_data(panel: MeasuredPanel) -> dict[str, Any]:
    slowest = max([float(curve.by_seconds.x[-1]) for curve in panel.curves])
    unit, size = next(
        (unit, size)
        for unit, size in (("hours", 3600), ("minutes", 60), ("seconds", 1))
        if slowest >= 10 * size or size == 1
    )
    drawn = [curve for curve in panel.curves if curve.by_frames.seeds.any()]
    return {
        "title": panel.env_id,
        "goal": None,
        "frames": {"x": _short(panel.curves[0].by_frames.x, 8), "unit": "frames"},
        "time": {"x": _short(panel.curves[0].by_seconds.x / size), "unit": unit},
        "curves": [
            {
                **_line(curve.curve.name, curve.curve.colour),
                "of": int(curve.by_frames.seeds.max()),
                "frames": _band_data(curve.by_frames)
                | {"marks": [[run.frames[-1], run.last_return] for run in curve.stopped]},
                "time": _band_data(curve.by_seconds)
                | {"marks": [[run.seconds[-1] / size, run.last_return] for run in curve.stopped]},
            }
            for curve in drawn
        ],
        "shares": [
            {**_line(each.curve.name, each.curve.colour), **_band_data(each.share), "of": len(each.curve.runs)}
            for each in panel.curves
        ],
    }


def profile_data(comparison: Comparison) -> dict[str, Any]:
    lines = []
    for profile in comparison.profiles:
        band = _band_data(profile.share)
        lines.append({**_line(profile.name, profile.colour), **band, "of": band["counted"][0]})
    rest = int(np.argmin(np.abs(THRESHOLDS - comparison.target)))
    return {"x": _short(THRESHOLDS), "rest": rest, "lines": lines}


def _line(name: str, colour: int) -> dict[str, Any]:
    return {"name": name, "colour": colour_name(colour), "dash": dash(colour) or None}


def _band_data(band: Band) -> dict[str, Any]:
    lines = {"y": band.value, "low": band.low, "high": band.high}
    return {**{name: _short(values) for name, values in lines.items()}, "counted": band.seeds.tolist()}


def _short(values: np.ndarray, digits: int = 5) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.{digits}g}") for value in values]
