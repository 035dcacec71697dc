"""The page that compares curves over seeds: how they learnt, when they were good, how they ended, what they believe, and every run.

`write_comparison` writes index.html, with figures and tables of the same numbers beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from srm.errors import RunError
from srm.report.compare.figures import curves_figure, write_figures
from srm.report.compare.measure import Comparison, MeasuredPanel
from srm.report.compare.sections import comparison_sections, final_tables
from srm.report.compare.series import panel_data, profile_data
from srm.report.compare.spreadsheets import write_spreadsheets
from srm.report.html.markup import Markup, tag
from srm.report.html.numbers import counted, duration, number, whole
from srm.report.html.page import page
from srm.report.html.parts import figures
from srm.report.notebook import display, picture
from srm.runs.folder import write_bytes

PAGE = "index.html"
SCRIPTS = ("elements", "chart", "choices", "compare")


def write_comparison(comparison: Comparison, out: Path, spreadsheets: bool = False) -> Path:
    """Writes the page into a folder, its figures and, if asked for, its numbers beside it; returns where the page is."""
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
    sections = [section for section in comparison_sections(comparison, out, files) if section is not None]
    return page(_title(comparison), _header(comparison), sections, SCRIPTS, data)


def comparison_display(comparison: Comparison) -> str:
    """What it shows of itself in a notebook: the head of the page, the curves and the final returns."""
    drawn = [panel for panel in comparison.panels if any(curve.by_frames.seeds.any() for curve in panel.curves)]
    curves = (picture(curves_figure(panel), f"Learning curves in {panel.env_id}") for panel in drawn)
    return display(_header(comparison), *curves, tag("h3", "Final returns"), *final_tables(comparison))


def _title(comparison: Comparison) -> str:
    suites = {str(run.suite["title"]) if run.suite else "" for run in comparison.runs}
    title = suites.pop() if len(suites) == 1 else ""
    names = [panel.env_id for panel in comparison.panels]
    return title or (", ".join(names) if len(names) < 3 else f"{len(names)} environments")


def _header(comparison: Comparison) -> Markup:
    runs = comparison.runs
    finished = sum(run.finished for run in runs)
    names = {curve.curve.name for curve in comparison.curves}
    scales = {str(run.suite.get("scale", "")) for run in runs if run.suite} - {""}
    values = {
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
        figures(values),
    )


def _nothing_ended(panel: MeasuredPanel) -> str:
    """Why no curve has a final return: only runs that are over have one, and only if an episode of theirs ended."""
    return "no episode has ended" if any(curve.finished for curve in panel.curves) else "no run is over"


def _best(comparison: Comparison) -> str:
    """A sentence for each environment: which curve ended highest."""
    clauses = []
    for panel in comparison.panels:
        measured = [curve for curve in panel.curves if not np.isnan(curve.final.value)]
        if not measured:
            clauses.append(f"In {panel.env_id} {_nothing_ended(panel)}")
            continue
        best = max(measured, key=lambda curve: curve.final.value)
        among = f" of {counted(len(panel.curves), 'curve')}" if len(panel.curves) > 1 else ""
        verb = "ends highest" if among else "ends"
        final = best.final
        interval = "" if np.isnan(final.low) else f" [{number(final.low)}, {number(final.high)}]"
        returned = f"{number(final.value)}{interval}"
        clauses.append(f"In {panel.env_id}{among}, {best.curve.name} {verb} with a return of {returned}")
    return ". ".join(clauses)
