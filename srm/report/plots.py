"""Figures of one inference and of one run, for notebooks and scripts: Matplotlib's objects, without its global state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes

from srm.infer.posterior.record import HoleRecord, Summary
from srm.report.compare.figures import palette, thousands
from srm.report.figure import STYLE, ShownFigure
from srm.runs.log import Columns

COLUMNS = 3  # holes beside each other
HOLE = "#8a3ffc"  # as on the pages


def posterior_figure(summary: Summary) -> ShownFigure:
    """A histogram for each hole: draws of the posterior, filled, over the prior's outline, with the 90 % interval below."""
    holes = summary.holes
    rows = -(-len(holes) // COLUMNS)
    with rc_context(STYLE):
        figure = ShownFigure(figsize=(7.2, 0.6 + 1.7 * rows))
        grid = figure.subplots(rows, COLUMNS, squeeze=False)
        for axes, hole in zip(grid.flat, holes, strict=False):
            _marginal(axes, hole)
        for axes in grid.flat[len(holes) :]:
            axes.set_axis_off()
        verdict = "" if summary.convergence.converged else " (has NOT converged)"
        figure.suptitle(f"{summary.machine}: what each hole is worth{verdict}", fontsize=10)
    return figure


def _marginal(axes: Axes, hole: HoleRecord) -> None:
    low, high = hole.extent
    edges = np.linspace(low, high, len(hole.drawn) + 1)
    drawn, before = (np.array(counts) / max(1, sum(counts)) for counts in (hole.drawn, hole.before))
    axes.stairs(drawn, edges, fill=True, color=HOLE, alpha=0.4)
    axes.stairs(before, edges, color="#57606a", linewidth=0.9)
    axes.axvline(hole.mean, color=HOLE, linewidth=1.2)
    axes.plot([hole.low, hole.high], [0, 0], color=HOLE, linewidth=4, solid_capstyle="butt", clip_on=False)
    if low <= 0 <= high:
        axes.axvline(0.0, color="#57606a", linewidth=0.8, linestyle="--")
    axes.set_title(f"?{hole.name}  {hole.mean:.{hole.decimals}f}", fontsize=9, loc="left")
    axes.set_yticks([])
    axes.grid(visible=False)


def learning_figure(log: Columns, title: str, goal: float | None = None) -> ShownFigure:
    """Return and success over frames and, where holes were inferred, each hole with its spread."""
    holes = [name.removeprefix("hole.") for name in log if name.startswith("hole.")]
    frames = _numbers(log["frames"])
    with rc_context(STYLE):
        figure = ShownFigure(figsize=(7.2, 2.9 if not holes else 5.6))
        grid = figure.subplots(2 if holes else 1, squeeze=False, sharex=True)
        returns, shades = grid[0, 0], palette()
        for name, shade in (("return", shades[0]), ("success", shades[2])):
            means = _numbers(log[name])
            alone = np.isfinite(means).sum() == 1  # through one point no line can be drawn
            returns.plot(frames, means, color=shade, label=name, marker="o" if alone else None, markersize=4)
        if goal is not None:
            returns.axhline(goal, color="#1a7f37", linewidth=0.9, linestyle="--", label="goal")
        low, high = returns.get_ylim()
        returns.set(title=title, ylabel="mean of 100 episodes", ylim=(min(0.0, low), max(1.03, high)))
        returns.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        if holes:
            _holes(grid[1, 0], frames, holes, log)
        grid[-1, 0].set(xlabel="frames", xlim=(0, None))
        grid[-1, 0].xaxis.set_major_formatter(thousands())
    return figure


def _holes(axes: Axes, frames: np.ndarray, holes: Sequence[str], log: Columns) -> None:
    shades = palette()
    axes.axhline(0.0, color="#57606a", linewidth=0.8)
    for place, name in enumerate(holes):
        value, spread = _numbers(log[f"hole.{name}"]), _numbers(log.get(f"spread.{name}", [None] * len(frames)))
        shade, style = shades[place % len(shades)], ("-", "--", ":", "-.")[place // len(shades) % 4]
        axes.plot(frames, value, style, color=shade, label=f"?{name}")
        axes.fill_between(frames, value - spread, value + spread, color=shade, alpha=0.12, linewidth=0)
    axes.set_ylabel("what each hole pays")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, dtype=float)  # None: NaN
