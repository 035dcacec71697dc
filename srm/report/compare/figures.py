"""The charts of a comparison as PNG and SVG files, in the colours of its page. The same runs give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.errors import RunError
from srm.report.compare.measure import Comparison, MeasuredPanel, hole_extent, hole_values
from srm.report.compare.stats import Band
from srm.report.html.strip import COLOURS, dash
from srm.runs.folder import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from srm.report.figure import ShownFigure


def write_figures(comparison: Comparison, out: Path) -> list[str]:
    """Writes every figure twice, and returns the names of the files."""
    from matplotlib import rc_context

    from srm.report.figure import ABOUT, STYLE

    written = []
    with rc_context(STYLE):
        for name, figure in _figures(comparison):
            figure.draw_without_rendering()  # lays it out,
            figure.set_layout_engine("none")  # once for both files
            for kind, about in ABOUT.items():
                content = io.BytesIO()
                figure.savefig(content, format=kind, dpi=160, metadata=about)
                write_bytes(out / f"{name}.{kind}", content.getvalue())
                written.append(f"{name}.{kind}")
    return written


def palette(scheme: int = 0) -> list[str]:
    """The colours of curves on a light page, or with 1 on a dark one."""
    style = (files("srm.report.html") / "assets" / "page.css").read_text(encoding="utf-8")
    return re.findall(r"--curve-\d+: (#\w{6})", style)[COLOURS * scheme :][:COLOURS]


def _figures(comparison: Comparison) -> Iterator[tuple[str, ShownFigure]]:
    for panel in comparison.panels:
        if any(curve.by_frames.seeds.any() for curve in panel.curves):
            of = "" if len(comparison.panels) == 1 else f"-{_slug(panel.env_id)}"
            yield f"curves{of}", _curves(panel)
            yield f"reached{of}", _reached(panel, comparison.target)
    if comparison.profiles:
        yield "profiles", _profiles(comparison)
    if comparison.with_holes:
        yield "holes", _holes(comparison)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)


def _figure(width: float, height: float) -> ShownFigure:
    from srm.report.figure import ShownFigure

    return ShownFigure(figsize=(width, height))


def curves_figure(panel: MeasuredPanel) -> ShownFigure:
    """The curves of one environment, in the style of these figures."""
    from matplotlib import rc_context

    from srm.report.figure import STYLE

    if not any(curve.by_frames.seeds.any() for curve in panel.curves):
        raise RunError(f"no run in {panel.env_id} has a return yet; try again later")
    with rc_context(STYLE):
        return _curves(panel)


def _curves(panel: MeasuredPanel) -> ShownFigure:
    drawn = [measured for measured in panel.curves if measured.by_frames.seeds.any()]
    figure, axes = _lines([(each.curve.name, each.curve.colour, each.by_frames) for each in drawn])
    for measured in drawn:
        ends = np.array([(run.frames[-1], run.last_return) for run in measured.stopped]).reshape(-1, 2)
        shade = palette()[measured.curve.colour % COLOURS]
        axes.plot(*ends.T, "o", markersize=4, markerfacecolor="white", color=shade)
    low, high = axes.get_ylim()
    axes.set(title=panel.env_id, xlabel="frames", ylabel="return", xlim=(0, None), ylim=(min(0.0, low), max(1.0, high)))
    axes.xaxis.set_major_formatter(thousands())
    return figure


def _reached(panel: MeasuredPanel, target: float) -> ShownFigure:
    figure, axes = _lines([(each.curve.name, each.curve.colour, each.share) for each in panel.curves])
    axes.set(title=panel.env_id, xlabel="frames", ylabel=f"share of runs at {target:g}", xlim=(0, None), ylim=(0, 1.03))
    axes.xaxis.set_major_formatter(thousands())
    return figure


def _profiles(comparison: Comparison) -> ShownFigure:
    figure, axes = _lines([(profile.name, profile.colour, profile.share) for profile in comparison.profiles])
    axes.set(xlabel="final return τ", ylabel="share of runs with return ≥ τ", xlim=(0, 1), ylim=(0, 1.03))
    return figure


def _lines(lines: Sequence[tuple[str, int, Band]]) -> tuple[ShownFigure, Axes]:
    """Lines with their bands, and a legend below them, where it hides none, in as many columns as their names leave room for."""
    longest = max(len(name) for name, _, _ in lines)
    columns = 3 if longest < 20 else 2 if longest < 40 else 1
    figure = _figure(6.4, 3.3 + 0.18 * -(-len(lines) // columns))
    axes = figure.subplots()
    handles = [_line(axes, colour, band) for _, colour, band in lines]
    names = [name for name, _, _ in lines]
    long = 4  # enough of a line to tell dashes apart
    figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=8, handlelength=long)
    return figure, axes


def _line(axes: Axes, colour: int, band: Band) -> Line2D:
    """Dotted where not all runs are that far."""
    shade = palette()[colour % COLOURS]
    strokes = [float(length) for length in dash(colour).split()]
    style: Any = (0, strokes) if strokes else "-"
    whole = band.seeds == band.seeds.max()
    beside = ~whole | ~np.append(whole[1:], True) | ~np.append(True, whole[:-1])
    (line,) = axes.plot(band.x, np.where(whole, band.value, np.nan), linestyle=style, color=shade, linewidth=1.6)
    if not whole.all():
        axes.plot(band.x, np.where(beside, band.value, np.nan), ":", color=shade, linewidth=1.1)
    axes.fill_between(band.x, band.low, band.high, color=shade, alpha=0.18, linewidth=0)
    return line


def thousands() -> Any:
    from matplotlib.ticker import EngFormatter

    return EngFormatter(sep="\N{THIN SPACE}")


def _holes(comparison: Comparison) -> ShownFigure:
    """One axes a curve: holes below each other, a line a seed."""
    curves = comparison.with_holes
    tables = [hole_values(curve) for curve in curves]
    figure = _figure(6.4, sum(0.8 + 0.36 * len(values) for values in tables))
    grid = figure.subplots(len(curves), squeeze=False, height_ratios=[1.0 + len(values) for values in tables])
    for axes, curve, values in zip(grid[:, 0], curves, tables, strict=True):
        shade = palette()[curve.colour % COLOURS]
        axes.axvline(0.0, color="#57606a", linewidth=0.8)
        marks = np.array(
            [
                (value, row + 0.6 * ((place + 0.5) / len(curve.runs) - 0.5), spread)
                for row, by_run in enumerate(values.values())
                for place, (value, spread) in by_run.items()
            ]
        )  # value, height and spread of each seed of each hole
        axes.errorbar(*marks[:, :2].T, xerr=marks[:, 2], fmt="o", color=shade, markersize=3.2, elinewidth=0.8)
        axes.set(ylim=(len(values) - 0.4, -0.6))
        axes.set_title(f"{curve.name}\n{curve.env_id}", loc="left", fontsize=8)
        axes.set_yticks(range(len(values)), [f"?{name}" for name in values])
        low, high = min(hole_extent(values)), max(hole_extent(values))
        axes.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    return figure
