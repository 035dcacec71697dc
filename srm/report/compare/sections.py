"""The sections of the page of a comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from srm.report.compare.collect import MeasuredRun
from srm.report.compare.curves import Curve
from srm.report.compare.measure import Comparison, Measured, MeasuredPanel, hole_extent, hole_values
from srm.report.compare.stats import LEVEL, SeedEstimate
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import counted, duration, number, whole
from srm.report.html.page import Section
from srm.report.html.parts import hole_head, right
from srm.report.html.strip import Scale, colour_name, dots, spreads
from srm.report.run.parts import REPORT

PERCENT = f"{100 * LEVEL:.0f} %"


def comparison_sections(comparison: Comparison, out: Path, files: Sequence[str]) -> Iterator[Section | None]:
    charts = join(tag("div", id=f"by-{axis}", data_choice=f"against {axis}") for axis in ("frames", "time"))
    yield Section("curves", "Learning curves", charts, _curve_note(comparison))
    reach = join([tag("div", id="share-charts"), *_reach(comparison)])
    yield Section("reach", f"Frames to a return of {number(comparison.target)}", reach, _reach_note(comparison))
    yield _profile_section(comparison)
    yield _holes(comparison)
    yield Section("final", "Final returns", join(final_tables(comparison)), _final_note(comparison))
    yield Section("runs", "Every run", _runs(comparison, out))
    if files:
        links = tag("ul", *(tag("li", tag("a", name, href=quote(name))) for name in files), class_="files")
        yield Section("files", "Files", links, "The figures and tables of this page, to be used elsewhere.")


def _curve_note(comparison: Comparison) -> str:
    note = (
        "Task return, a mean over the last hundred episodes of each run. Lines are interquartile means over seeds (means of fewer than "
        f"four), bands their {PERCENT} bootstrap intervals; one seed has none. Dotted: not all seeds are that far."
    )
    if any(curve.stopped for curve in comparison.curves):
        note += " A ring is a run that reached its goal and stopped; from there its last value is carried on."
    return note


def _panel_tables(comparison: Comparison, make: Callable[[MeasuredPanel], Markup]) -> Iterator[Markup]:
    """A heading and a table for each environment."""
    for panel in comparison.panels:
        if len(comparison.panels) > 1:
            yield tag("h3", panel.env_id)
        yield make(panel)


def _reach(comparison: Comparison) -> Iterator[Markup]:
    heads = ["curve", right("seeds that did"), right("median frames"), right("median time"), "each seed"]

    def table_of(panel: MeasuredPanel) -> Markup:
        known = [frames for curve in panel.curves for frames in curve.reach.frames if np.isfinite(frames)]
        scale = Scale.of([0.0, *known])
        rows = [
            [
                _name(curve.curve),
                tag("td", _seeds_that_did(curve), class_="number"),
                _cell(curve.reach.median_frames, _large(curve.reach.median_frames)),
                tag("td", _time(curve.reach.median_seconds), class_="number"),
                tag("td", _reach_strip(curve, scale)),
            ]
            for curve in panel.curves
        ]
        return table(heads, rows, label=f"Frames to a return in {panel.env_id}", class_="comparison")

    return _panel_tables(comparison, table_of)


def _reach_note(comparison: Comparison) -> str:
    note = (
        f"The share of runs in which the mean return of the last hundred episodes has been that high, with Wilson's {PERCENT} intervals, and the "
        "frames at which it first was. A seed that never got there counts as later than all"
    )
    undecided = sum(curve.reach.undecided for curve in comparison.curves)
    return note + (
        f"; {counted(undecided, 'run')} that may still get there {'is' if undecided == 1 else 'are'} left out."
        if undecided
        else "."
    )


def _seeds_that_did(curve: Measured) -> Markup:
    return join([whole(curve.reach.reached), tag("span", f" of {len(curve.reach.frames)}", class_="of")])


def _reach_strip(curve: Measured, scale: Scale) -> Markup | str:
    reached = [frames for frames in curve.reach.frames if np.isfinite(frames)]
    if not reached:
        return "–"
    title = f"from {_large(min(reached))} to {_large(max(reached))} frames"
    return dots(title, reached, scale, curve.reach.median_frames, curve.curve.colour)


def _profile_section(comparison: Comparison) -> Section | None:
    if not comparison.profiles:
        return None
    note = (
        "The share of finished runs whose final return is at least what stands below; the curve that is higher is better, and the area "
        f"under it is the mean return. Bands: {PERCENT} bootstrap intervals"
    )
    pooled = len(comparison.panels) > 1 and len(comparison.profiles) < sum(1 for _ in comparison.curves)
    note += ", drawn from each environment by itself." if pooled else "."
    return Section("profiles", "Performance profiles", tag("div", id="profile-chart"), note)


def _holes(comparison: Comparison) -> Section | None:
    if not comparison.with_holes:
        return None
    body = join(part for curve in comparison.with_holes for part in (_curve_heading(curve), _hole_table(curve)))
    note = "What each seed believes of each hole: value, and one spread to either side. A run that is not over is shown as it stands."
    return Section("holes", "Holes learnt", body, note)


def _curve_heading(curve: Curve) -> Markup:
    return tag("h3", _swatch(curve), curve.name, " ", tag("span", curve.env_id, class_="of"), class_="name")


def _hole_table(curve: Curve) -> Markup:
    values = hole_values(curve)
    scale = Scale.of(hole_extent(values))
    indices = [index for index, run in enumerate(curve.runs) if run.holes]
    seeds = [
        right(f"seed {curve.runs[index].seed}{'' if curve.runs[index].finished else ' so far'}") for index in indices
    ]
    heads = ["hole", "each seed", right("mean"), *seeds]
    rows = []
    for name, row in values.items():
        known = [value for value, _ in row.values()]
        title = f"from {number(min(known))} to {number(max(known))}"
        cells = [_hole_cell(row.get(index)) for index in indices]
        strip = tag("td", spreads(title, list(row.values()), scale, curve.colour))
        mean = tag("td", number(float(np.mean(known))), class_="number")
        rows.append([hole_head(name), strip, mean, *cells])
    return table(heads, rows, label=f"Holes of {curve.name}", class_="comparison")


def _hole_cell(belief: tuple[float, float] | None) -> Markup:
    if belief is None:
        return tag("td", "–", class_="number")
    value, spread = belief
    return tag(
        "td", number(value), tag("span", f" ± {number(spread, 2)}", class_="of"), class_="number", data_value=value
    )


def final_tables(comparison: Comparison) -> Iterator[Markup]:
    heads = [
        "curve",
        right("seeds"),
        right("return"),
        right(f"{PERCENT} interval"),
        right("mean"),
        right("average return"),
        right(f"{PERCENT} interval"),
    ]

    def table_of(panel: MeasuredPanel) -> Markup:
        rows = [
            [
                _name(curve.curve),
                tag(
                    "td",
                    whole(curve.finished),
                    tag("span", f" of {len(curve.curve.runs)}", class_="of"),
                    class_="number",
                ),
                _cell(curve.final.value),
                tag("td", _interval(curve.final), class_="number"),
                _cell(curve.mean),
                _cell(curve.average.value),
                tag("td", _interval(curve.average), class_="number"),
            ]
            for curve in panel.curves
        ]
        return table(heads, rows, label=f"Final returns in {panel.env_id}", class_="comparison final")

    return _panel_tables(comparison, table_of)


def _final_note(comparison: Comparison) -> str:
    horizons = ", ".join(_large(panel.horizon) for panel in comparison.panels)
    each = " of each environment in turn" if len(comparison.panels) > 1 else ""
    return (
        "Interquartile mean over the seeds that are over, of the return in the last hundred episodes; the plain mean beside it. The average "
        f"return is that over the first {horizons} frames{each}, which says how soon a curve was good."
    )


def _interval(estimate: SeedEstimate) -> str:
    return "–" if np.isnan(estimate.low) else f"{number(estimate.low)} … {number(estimate.high)}"


def _runs(comparison: Comparison, out: Path) -> Markup:
    heads = ["curve", right("seed"), "folder", right("frames"), right("time"), right("return"), "", "command"]
    rows = [
        [
            _name(curve.curve),
            tag("td", run.seed, class_="number"),
            tag("td", join(_links(run, out), " ")),
            tag("td", whole(run.frames[-1]) if len(run.frames) else "0", class_="number"),
            tag("td", duration(run.seconds[-1]) if len(run.seconds) else "–", class_="number"),
            _cell(run.last_return),
            tag("td", _state(run)),
            tag("td", tag("code", command) if (command := _command(run)) else "–"),
        ]
        for curve in comparison.curves
        for run in curve.curve.runs
    ]
    return table(heads, rows, label="Every run", class_="comparison runs")


def _links(run: MeasuredRun, out: Path) -> Iterator[Markup]:
    towards = Path(os.path.relpath(run.place, out.absolute())).as_posix()
    yield tag("a", "/".join(run.place.parts[-2:]), href=f"{quote(towards)}/")
    if (run.folder / REPORT).exists():
        yield tag("a", "page", href=quote(f"{towards}/{REPORT}"))


def _state(run: MeasuredRun) -> Markup:
    if run.goal is not None:
        return tag("span", f"stopped at {number(run.goal)}", class_="badge note")
    if run.finished:
        return tag("span", "finished", class_="badge note")
    return tag("span", "not over" if len(run.frames) else "no round yet", class_="badge warning")


def _command(run: MeasuredRun) -> str:
    command = run.config.get("command")
    if command is None and run.suite is not None:
        curve = run.suite["curves"].get(run.place.parent.name)
        command = None if curve is None else f"srm {curve} --seed {run.seed}"
    return "" if command is None else command if isinstance(command, str) else " ".join(map(str, command))


# Cells


def _cell(value: float, text: str | None = None) -> Markup:
    known = value if np.isfinite(value) else None
    return tag("td", number(known) if text is None else text, class_="number", data_value=known)


def _name(curve: Curve) -> Markup:
    return tag("th", _swatch(curve), curve.name, class_="name", scope="row")


def _swatch(curve: Curve) -> Markup:
    return tag("span", class_="swatch", style=f"background:var({colour_name(curve.colour)})", aria_hidden="true")


def _large(frames: float) -> str:
    return whole(frames) if np.isfinite(frames) else "–"


def _time(seconds: float) -> str:
    return duration(seconds) if np.isfinite(seconds) else "–"
