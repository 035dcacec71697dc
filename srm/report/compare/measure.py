"""Everything that is measured of curves beside each other: pure functions of the runs that were read.

Curves are put on one grid an environment. A run that stopped because it reached its goal is carried on at its last value; any other
counts up to where it ended or has got to, and until its next row would have come. Only runs that are over have a final return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from srm.errors import SettingError
from srm.report.compare.collect import MeasuredRun
from srm.report.compare.curves import Curve, Panel, panels
from srm.report.compare.stats import (
    Band,
    SeedEstimate,
    average,
    band,
    carried,
    estimate,
    first_reach,
    profile,
    share_reached,
)

if TYPE_CHECKING:
    from srm.report.figure import ShownFigure

POINTS = 200  # between the start of a curve and its end
THRESHOLDS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class Reach:
    """When the runs of a curve first had a return: one number a run, infinite where it never did."""

    frames: tuple[float, ...]
    seconds: tuple[float, ...]
    undecided: int  # runs that have not, and are not over; they are not among the numbers

    @property
    def reached(self) -> int:
        return sum(np.isfinite(self.frames))

    @property
    def median_frames(self) -> float:
        return float(np.median(self.frames)) if self.frames else np.nan

    @property
    def median_seconds(self) -> float:
        return float(np.median(self.seconds)) if self.seconds else np.nan


@dataclass(frozen=True, eq=False)
class Measured:
    """A curve with what is measured of it."""

    curve: Curve
    by_frames: Band
    by_seconds: Band
    final: SeedEstimate  # of the returns of runs that are over
    mean: float  # of the same
    average: SeedEstimate  # of the return over the frames up to the panel's horizon
    reach: Reach
    share: Band  # of the runs that have reached the return, by frames

    @property
    def finished(self) -> int:
        return sum(run.finished for run in self.curve.runs)

    @property
    def stopped(self) -> list[MeasuredRun]:
        """Runs that ended early, at their goal; beyond it their last value is carried."""
        return [run for run in self.curve.runs if run.goal is not None]


@dataclass(frozen=True, eq=False)
class MeasuredPanel:
    env_id: str
    horizon: float  # frames over which average returns are taken
    curves: tuple[Measured, ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """How many runs of a curve, over all environments, end with at least each return."""

    name: str
    colour: int
    share: Band


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    runs: tuple[MeasuredRun, ...]
    target: float  # whose frames to reach are counted
    panels: tuple[MeasuredPanel, ...]
    profiles: tuple[Profile, ...]

    @property
    def curves(self) -> Iterator[Measured]:
        return (curve for panel in self.panels for curve in panel.curves)

    @property
    def with_holes(self) -> list[Curve]:
        return [measured.curve for measured in self.curves if any(run.holes for run in measured.curve.runs)]

    def plot(self, env_id: str | None = None) -> ShownFigure:
        """The learning curves in one environment, the first unless given, with the bands of their seeds."""
        from srm.report.compare.figures import curves_figure  # draws comparisons, so it cannot be imported before them

        known = {panel.env_id: panel for panel in self.panels}
        if env_id is not None and env_id not in known:
            raise SettingError(f"there is no {env_id} here; there are {', '.join(known)}")
        return curves_figure(known[env_id or self.panels[0].env_id])

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        for panel in self.panels:
            yield panel.env_id
            for each in panel.curves:
                final = each.final
                interval = "" if np.isnan(final.low) else f" [{final.low:.3f}, {final.high:.3f}]"
                reached = "" if np.isnan(final.value) else f", final return {final.value:.3f}{interval}"
                yield f"  {each.curve.name}: {each.finished} of {len(each.curve.runs)} runs finished{reached}"

    def _repr_html_(self) -> str:
        from srm.report.compare.page import comparison_display

        return comparison_display(self)


def compare(runs: Sequence[MeasuredRun], target: float) -> Comparison:
    by_env = panels(runs)
    return Comparison(
        tuple(run for panel in by_env for run in panel.runs),
        target,
        tuple(_measured(panel, target) for panel in by_env),
        tuple(_profiles(by_env)),
    )


def _measured(panel: Panel, target: float) -> MeasuredPanel:
    frames, seconds = (grid(getattr(run, axis) for run in panel.runs) for axis in ("frames", "seconds"))
    end = horizon(panel.runs)
    curves = []
    for curve in panel.curves:
        finals = np.array([run.final_return for run in curve.runs])
        averages = np.array([run_average(run, end) for run in curve.runs])
        measured = Measured(
            curve,
            band(frames, [on_grid(curve.runs, [run.frames for run in curve.runs], frames)]),
            band(seconds, [on_grid(curve.runs, [run.seconds for run in curve.runs], seconds)]),
            estimate([finals]),
            estimate([finals], np.mean).value,
            estimate([averages]),
            reach(curve.runs, target),
            share_by(curve.runs, target, frames),
        )
        curves.append(measured)
    return MeasuredPanel(panel.env_id, end, tuple(curves))


def on_grid(runs: Sequence[MeasuredRun], axes: Sequence[np.ndarray], grid: np.ndarray) -> np.ndarray:
    """Returns of runs [S, X], from where all that have one have begun: the first to begin is not what the rest will be."""
    values = np.stack([carried(x, run.returns, grid, _until(run, x)) for run, x in zip(runs, axes, strict=True)])
    known = ~np.isnan(values)
    begun = known[known.any(axis=1)].argmax(axis=1)  # [S], its first point of each run that has any
    values[:, : begun.max(initial=0)] = np.nan
    return values


def grid(axes: Iterator[np.ndarray]) -> np.ndarray:
    """From the start to the end of the longest, [X]."""
    return np.linspace(0.0, max([x[-1] for x in axes if len(x)] or [1.0]), POINTS + 1)


def _until(run: MeasuredRun, x: np.ndarray) -> float:
    """Where its last value ends to count."""
    if run.goal is not None:
        return np.inf
    return float(x[-1] + (x[-1] - x[-2])) if len(x) > 1 else float(x[-1]) if len(x) else 0.0


def horizon(runs: Sequence[MeasuredRun]) -> float:
    """The frames that every run covers which is over; one that stopped at its goal covers any."""
    begun = [run for run in runs if len(run.frames)]
    played = [run.frames[-1] for run in begun if run.finished and run.goal is None]
    return float(min(played) if played else max([run.frames[-1] for run in begun] or [0.0]))


def run_average(run: MeasuredRun, end: float) -> float:
    """The return over the frames up to an end; not known of a run that is not that far."""
    covered = run.goal is not None or (len(run.frames) > 0 and run.frames[-1] >= end)
    return average(run.frames, run.returns, end) if covered else np.nan


def reach(runs: Sequence[MeasuredRun], target: float) -> Reach:
    first = [tuple(first_reach(x, run.returns, target) for x in (run.frames, run.seconds)) for run in runs]
    decided = [at for at, run in zip(first, runs, strict=True) if run.finished or np.isfinite(at[0])]
    return Reach(tuple(at[0] for at in decided), tuple(at[1] for at in decided), len(runs) - len(decided))


def share_by(runs: Sequence[MeasuredRun], target: float, grid: np.ndarray) -> Band:
    reached = np.array([first_reach(run.frames, run.returns, target) for run in runs])
    watched = np.array([run.frames[-1] if len(run.frames) else 0.0 for run in runs])
    return share_reached(grid, reached, watched)


def _profiles(by_env: Sequence[Panel]) -> Iterator[Profile]:
    """Of each name, over the environments that have it: they are the strata."""
    by_name: dict[str, list[Curve]] = {}
    for panel in by_env:
        for curve in panel.curves:
            by_name.setdefault(curve.name, []).append(curve)
    for name, curves in by_name.items():
        finals = [np.array([run.final_return for run in curve.runs]) for curve in curves]
        if not np.isnan(np.concatenate(finals)).all():
            yield Profile(name, curves[0].colour, profile(finals, THRESHOLDS))


# What learning runs believe


def hole_values(curve: Curve) -> dict[str, dict[int, tuple[float, float]]]:
    """By hole, by place among the runs: value and spread."""
    values: dict[str, dict[int, tuple[float, float]]] = {}
    for place, run in enumerate(curve.runs):
        for hole in run.holes:
            values.setdefault(hole.name, {})[place] = (hole.value, hole.spread or 0.0)
    return values


def hole_extent(values: Mapping[str, Mapping[int, tuple[float, float]]]) -> list[float]:
    """Zero, and every value with its spread."""
    pairs = [pair for row in values.values() for pair in row.values()]
    return [0.0, *(end for value, spread in pairs for end in (value - spread, value + spread))]
