"""The page that compares curves over seeds: how they learnt, when they were good, how they ended, what they believe, and every run.

`write_comparison` writes index.html, with figures and tables of the same numbers beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from srm.errors import RunError
from srm.experiment.run import write_bytes
from srm.report.collect import Curve, Run
from srm.report.compare import Comparison, Measured, MeasuredPanel, hole_extent, hole_values
from srm.report.figures import curves_figure, write_figures
from srm.report.learning import REPORT
from srm.report.markup import Markup, join, table, tag
from srm.report.notebook import display, picture
from srm.report.numbers import counted, duration, number, whole
from srm.report.page import Section, page
from srm.report.series import panel_data, profile_data
from srm.report.spreadsheets import write_spreadsheets
from srm.report.stats import LEVEL, Estimate
from srm.report.strip import Scale, colour_name, dots, spreads

PAGE = "index.html"
SCRIPTS = ("elements", "chart", "choices", "compare")
PERCENT = f"{100 * LEVEL:.0f} %"


def write_comparison(comparison: Comparison, out: Path, spreadsheets: bool = False) -> Path:
    """Writes the page into a folder, its figures and, if asked for, its numbers beside it; tells where the page is."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out} cannot be made: {error.strerror}; choose another -o") from None
    written = write_figures(comparison, out)
    if spreadsheets:
        written += write_spreadsheets(comparison, out)
    path = out / PAGE
    write_bytes(path, comparison_page(comparison, out, written).encode())
    return path


def comparison_page(comparison: Comparison, out: Path, files: Sequence[str] = ()) -> str:
    data = {
        "panels": [panel_data(panel) for panel in comparison.panels],
        "profiles": profile_data(comparison),
    }
    sections = [section for section in _sections(comparison, out, files) if section is not None]
    return page(_title(comparison), _header(comparison), sections, SCRIPTS, data)


def comparison_display(comparison: Comparison) -> str:
    """What it shows of itself in a notebook: the head of the page, the curves and the final returns."""
    drawn = [panel for panel in comparison.panels if any(curve.by_frames.seeds.any() for curve in panel.curves)]
    curves = (picture(curves_figure(panel), f"Learning curves in {panel.env_id}") for panel in drawn)
    return display(_header(comparison), *curves, tag("h3", "Final returns"), *_finals(comparison))


# The head of the page


def _title(comparison: Comparison) -> str:
    suites = {str(run.suite["title"]) if run.suite else "" for run in comparison.runs}
    told = suites.pop() if len(suites) == 1 else ""
    names = [panel.env_id for panel in comparison.panels]
    return told or (", ".join(names) if len(names) < 3 else f"{len(names)} environments")


def _header(comparison: Comparison) -> Markup:
    runs = comparison.runs
    finished = sum(run.finished for run in runs)
    names = {curve.curve.name for curve in comparison.curves}
    scales = {str(run.suite.get("scale", "")) for run in runs if run.suite} - {""}
    told = {
        "curves": whole(len(names)),
        "runs": whole(len(runs)),
        "finished": whole(finished),
        "frames": whole(sum(run.frames[-1] for run in runs if len(run.frames))),
        "time of all runs": duration(sum(run.seconds[-1] for run in runs if len(run.seconds))),
        **({"scale": ", ".join(sorted(scales))} if scales else {}),
    }
    going = len(runs) - finished
    rest = f" {counted(going, 'run')} {'is' if going == 1 else 'are'} not over yet." if going else ""
    return tag(
        "header",
        tag("p", "Symbolic reward machines · comparison", class_="kind"),
        tag("h1", _title(comparison)),
        tag("p", f"{_best(comparison)}.{rest}", class_="outcome"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in told.items()), class_="figures"),
    )


def _best(comparison: Comparison) -> str:
    """A sentence for each environment: which curve ended highest."""
    clauses = []
    for panel in comparison.panels:
        ended = [curve for curve in panel.curves if not np.isnan(curve.final.value)]
        if not ended:
            clauses.append(f"In {panel.env_id} no run is over")
            continue
        best = max(ended, key=lambda curve: curve.final.value)
        among = f" of {counted(len(panel.curves), 'curve')}" if len(panel.curves) > 1 else ""
        verb = "ends highest" if among else "ends"
        returned = _told(best.final)
        clauses.append(f"In {panel.env_id}{among}, {best.curve.name} {verb} with a return of {returned}")
    return ". ".join(clauses)


def _told(estimate: Estimate) -> str:
    """0.93 [0.91, 0.95]"""
    if np.isnan(estimate.low):
        return number(estimate.value)
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


# Its parts


def _sections(comparison: Comparison, out: Path, files: Sequence[str]) -> Iterator[Section | None]:
    charts = join(tag("div", id=f"by-{axis}", data_choice=f"against {axis}") for axis in ("frames", "time"))
    yield Section("curves", "Learning curves", charts, _curve_note(comparison))
    yield Section(
        "reach", f"Frames to a return of {number(comparison.target)}", join(_reach(comparison)), _reach_note(comparison)
    )
    yield _profile_section(comparison)
    yield _holes(comparison)
    yield Section("final", "Final returns", join(_finals(comparison)), _final_note(comparison))
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
    heads = ["curve", _right("seeds that did"), _right("median frames"), _right("median time"), "each seed"]

    def made(panel: MeasuredPanel) -> Markup:
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

    return _panel_tables(comparison, made)


def _reach_note(comparison: Comparison) -> str:
    note = "When the mean return of the last hundred episodes was first that high. A seed that never got there counts as later than all"
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
    told = f"from {_large(min(reached))} to {_large(max(reached))} frames"
    return dots(told, reached, scale, curve.reach.median_frames, curve.curve.colour)


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
    note = "What each seed believes of each hole: value, and one spread to either side. A run that is not over is told as it stands."
    return Section("holes", "Holes learnt", body, note)


def _curve_heading(curve: Curve) -> Markup:
    return tag("h3", _swatch(curve), curve.name, " ", tag("span", curve.env_id, class_="of"), class_="name")


def _hole_table(curve: Curve) -> Markup:
    values = hole_values(curve)
    scale = Scale.of(hole_extent(values))
    shown = [place for place, run in enumerate(curve.runs) if run.holes]
    seeds = [
        _right(f"seed {curve.runs[place].seed}{'' if curve.runs[place].finished else ' so far'}") for place in shown
    ]
    heads = ["hole", "each seed", _right("mean"), *seeds]
    rows = []
    for name, row in values.items():
        known = [value for value, _ in row.values()]
        told = f"from {number(min(known))} to {number(max(known))}"
        cells = [_hole_cell(row.get(place)) for place in shown]
        strip = tag("td", spreads(told, list(row.values()), scale, curve.colour))
        mean = tag("td", number(float(np.mean(known))), class_="number")
        rows.append([tag("th", tag("code", f"?{name}", class_="hole"), scope="row"), strip, mean, *cells])
    return table(heads, rows, label=f"Holes of {curve.name}", class_="comparison")


def _hole_cell(found: tuple[float, float] | None) -> Markup:
    if found is None:
        return tag("td", "–", class_="number")
    value, spread = found
    return tag(
        "td", number(value), tag("span", f" ± {number(spread, 2)}", class_="of"), class_="number", data_value=value
    )


def _finals(comparison: Comparison) -> Iterator[Markup]:
    heads = [
        "curve",
        _right("seeds"),
        _right("return"),
        _right(f"{PERCENT} interval"),
        _right("mean"),
        _right("average return"),
        _right(f"{PERCENT} interval"),
    ]

    def made(panel: MeasuredPanel) -> Markup:
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

    return _panel_tables(comparison, made)


def _final_note(comparison: Comparison) -> str:
    horizons = ", ".join(_large(panel.horizon) for panel in comparison.panels)
    each = " of each environment in turn" if len(comparison.panels) > 1 else ""
    return (
        "Interquartile mean over the seeds that are over, of the return in the last hundred episodes; the plain mean beside it. The average "
        f"return is that over the first {horizons} frames{each}, which tells how soon a curve was good."
    )


def _interval(estimate: Estimate) -> str:
    return "–" if np.isnan(estimate.low) else f"{number(estimate.low)} … {number(estimate.high)}"


def _runs(comparison: Comparison, out: Path) -> Markup:
    heads = ["curve", _right("seed"), "folder", _right("frames"), _right("time"), _right("return"), "", "command"]
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


def _links(run: Run, out: Path) -> Iterator[Markup]:
    towards = Path(os.path.relpath(run.place, out.absolute())).as_posix()
    yield tag("a", "/".join(run.place.parts[-2:]), href=f"{quote(towards)}/")
    if (run.folder / REPORT).exists():
        yield tag("a", "page", href=quote(f"{towards}/{REPORT}"))


def _state(run: Run) -> Markup:
    if run.goal is not None:
        return tag("span", f"stopped at {number(run.goal)}", class_="badge note")
    if run.finished:
        return tag("span", "finished", class_="badge note")
    return tag("span", "not over" if len(run.frames) else "no round yet", class_="badge warning")


def _command(run: Run) -> str:
    command = run.config.get("command")
    if command is None and run.suite is not None:
        asked = run.suite["curves"].get(run.place.parent.name)
        command = None if asked is None else f"srm {asked} --seed {run.seed}"
    return "" if command is None else command if isinstance(command, str) else " ".join(command)


# Cells


def _right(head: str) -> Markup:
    return tag("th", head, scope="col", class_="number")


def _cell(value: float, told: str | None = None) -> Markup:
    known = value if np.isfinite(value) else None
    return tag("td", number(known) if told is None else told, class_="number", data_value=known)


def _name(curve: Curve) -> Markup:
    return tag("th", _swatch(curve), curve.name, class_="name", scope="row")


def _swatch(curve: Curve) -> Markup:
    return tag("span", class_="swatch", style=f"background:var({colour_name(curve.colour)})", aria_hidden="true")


def _large(frames: float) -> str:
    return whole(frames) if np.isfinite(frames) else "–"


def _time(seconds: float) -> str:
    return duration(seconds) if np.isfinite(seconds) else "–"
