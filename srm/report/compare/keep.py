"""Runs made small enough to publish: what a comparison reads of them, and no weights, episodes or demonstrations.

They lie in CURVE/seedS folders, so that `srm report` draws the same page from them. Final returns and holes stay to the letter; a
log keeps its first row, its last and at most 398 between, so that where a return was first reached may be found up to 1/400 late.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import chain, count, pairwise
from pathlib import Path

from srm.errors import RunError
from srm.files import MOST_JSON, read_whole, refuse_link_outside
from srm.report.compare.collect import MeasuredRun, find_runs
from srm.report.compare.curves import panels
from srm.report.run.read import evenly
from srm.runs.folder import CHECK, CONFIG, LEARNT, LOG, MACHINE, POSTERIOR, SUMMARY, create_folder, write_bytes
from srm.runs.log import log_lines
from srm.runs.records import SUITE

SMALL = (CONFIG, SUMMARY, MACHINE, LEARNT, POSTERIOR, CHECK)
EPISODES = "episodes"
COLUMNS = ("round", "frames", "seconds", "return", "success", "length", EPISODES, "paid", "entropy")
PREFIXES = ("hole.", "spread.")
MOST_ROWS = 400


def keep(folders: Sequence[Path], target: Path) -> list[MeasuredRun]:
    """Copies the small files of the runs in these folders into one; what was made of them there."""
    runs = find_runs(folders)
    for run in runs:
        if not any(run.folder.resolve().is_relative_to(folder.resolve()) for folder in folders):
            raise RunError(f"{run.folder} is a link to a run outside of what is kept; name that run, or leave it out")
        if target.resolve().is_relative_to(run.folder.resolve()):
            raise RunError(f"--keep {target} lies in the run {run.folder}; choose a folder outside of the runs")
    places = kept_places(runs)
    for folder in (target / place for place in places):
        if folder.exists():
            raise RunError(f"{folder} exists, and a run is never overwritten: choose another --keep, or delete it")
    try:
        for run, place in zip(runs, places, strict=True):
            folder = target / place
            create_folder(folder, {}, partial(_keep_run, run))
            if run.suite is not None:
                _copy(run.place.parent.parent / SUITE, folder.parent.parent / SUITE)
    except OSError as error:
        raise RunError(f"{target} cannot be kept: {error.strerror}; make room, or choose another --keep") from None
    return find_runs([target / place for place in places])


def _keep_run(run: MeasuredRun, folder: Path) -> None:
    for name in SMALL:
        if (run.folder / name).exists():
            _copy(run.folder / name, folder / name)
    refuse_link_outside(run.folder / LOG, run.folder)
    lines = log_lines(run.folder / LOG)
    if lines:
        try:
            rows = thinned(lines)
        except (ValueError, IndexError):
            raise RunError(
                f"{run.folder / LOG} is damaged: a row is cut short, or holds no numbers; leave this run out"
            ) from None
        write_bytes(folder / LOG, "".join(f"{line}\n" for line in rows).encode())


def _copy(source: Path, target: Path) -> None:
    refuse_link_outside(source, source.parent)
    try:
        write_bytes(target, read_whole(source, MOST_JSON))
    except ValueError as problem:
        raise RunError(f"{source} cannot be kept: {problem}; leave this run out") from None


def thinned(lines: Sequence[str], most: int = MOST_ROWS) -> list[str]:
    """A log with few rows and columns. Cells are left as they were, but for the episodes that ended since the row before."""
    names, *rows = (line.split(",") for line in lines)
    kept = evenly(len(rows), most)
    if EPISODES in names:
        at = names.index(EPISODES)
        since = [sum(int(row[at] or 0) for row in rows[a + 1 : b + 1]) for a, b in pairwise([-1, *kept])]
        for index, episodes in zip(kept, since, strict=True):
            rows[index][at] = str(episodes)
    chosen = [at for at, name in enumerate(names) if name in COLUMNS or name.startswith(PREFIXES)]
    return [",".join(row[at] for at in chosen) for row in [names, *(rows[index] for index in kept)]]


def kept_places(runs: Sequence[MeasuredRun]) -> list[Path]:
    """CURVE/seedS of each run; below the folder around CURVE where runs of several such folders are kept."""
    around = {run.place.parent.parent for run in runs if run.in_curve_folder}
    curves = {run.place: curve.name for panel in panels(runs) for curve in panel.curves for run in curve.runs}
    places: list[Path] = []
    for run in runs:
        if run.in_curve_folder:
            curve = Path(run.place.parent.name)
            curve = run.place.parent.parent.name / curve if len(around) > 1 else curve
            wanted = curve / run.place.name
        else:
            wanted = Path(re.sub(r"[^\w.]+", "-", curves[run.place]).strip("-.") or "run") / f"seed{run.seed}"
        others = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
        places.append(next(path for path in chain([wanted], others) if path not in places))
    return places
