"""The numbers of a comparison as CSV, for other programs. What is not known is empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from srm.report.compare.measure import Comparison
from srm.runs.folder import write_bytes

CURVES, FINAL = "curves.csv", "final.csv"
CURVE_COLUMNS = ("env_id", "curve", "frames", "iqm", "low", "high", "seeds")
FINAL_COLUMNS = (
    *("env_id", "curve", "seeds", "finished", "return", "return_low", "return_high", "return_mean"),
    *("horizon", "average", "average_low", "average_high", "reach", "reached", "frames_to_reach", "seconds_to_reach"),
)
Row = Sequence[str | float]


def write_spreadsheets(comparison: Comparison, out: Path) -> list[str]:
    """Writes curves.csv and final.csv into a folder; their names."""
    write_bytes(out / CURVES, _text(CURVE_COLUMNS, curve_rows(comparison)))
    write_bytes(out / FINAL, _text(FINAL_COLUMNS, final_rows(comparison)))
    return [CURVES, FINAL]


def curve_rows(comparison: Comparison) -> Iterator[Row]:
    """The points of each curve that any seed has."""
    for measured in comparison.curves:
        band = measured.by_frames
        for point in np.flatnonzero(band.seeds):
            numbers = (float(values[point]) for values in (band.x, band.value, band.low, band.high))
            yield (measured.curve.env_id, measured.curve.name, *numbers, int(band.seeds[point]))


def final_rows(comparison: Comparison) -> Iterator[Row]:
    for panel in comparison.panels:
        for measured in panel.curves:
            final, average, reach = measured.final, measured.average, measured.reach
            yield (
                *(panel.env_id, measured.curve.name, len(measured.curve.runs), measured.finished),
                *(final.value, final.low, final.high, measured.mean),
                *(panel.horizon, average.value, average.low, average.high),
                *(comparison.target, reach.reached, reach.median_frames, reach.median_seconds),
            )


def _text(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue().encode()


def _cell(value: str | float) -> str | int:
    if isinstance(value, str | int):
        return value
    return f"{value:.8g}" if np.isfinite(value) else ""
