"""Which runs are compared: found in folders, read, and put together to curves, one panel an environment.

Runs in CURVE/seed0, CURVE/seed1, ... are the seeds of CURVE. Elsewhere runs that were asked for the same but for their seed make a
curve, which is named after its task, its pay, its learner and its network.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from srm.errors import RunError
from srm.experiment.run import CONFIG, LOG, SUMMARY, read_config
from srm.report.run import POSTERIOR, SUITE, flattened, log_lines, read_columns, read_json

COLUMNS = ("frames", "seconds", "return", "episodes")
SURE = 100  # episodes that a return is the mean of
DEPTH = 4  # folders below one that is given
MAKE = "`srm train TASK -o RUN` or `srm learn TASK -o RUN`"
SEED_FOLDER = re.compile(r"seed(\d+)(-\d+)?")
OF_NO_CONSEQUENCE = ("seed", "cores", "checkpoint_seconds", "episodes")  # to what is learnt, but for chance


@dataclass(frozen=True)
class Hole:
    """What a run believes of a hole."""

    name: str
    value: float
    spread: float | None


@dataclass(frozen=True, eq=False)
class Run:
    """A run of `srm train` or `srm learn`, as far as it got."""

    folder: Path
    config: Mapping[str, Any]
    frames: np.ndarray  # [N]
    seconds: np.ndarray  # [N]
    returns: np.ndarray  # [N], NaN where it is not known
    holes: tuple[Hole, ...]
    summary: Mapping[str, Any] | None  # None: under way, or killed
    suite: Mapping[str, Any] | None  # that it is part of

    @property
    def kind(self) -> str:
        return str(self.config["kind"])

    @property
    def settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.config["training" if self.kind == "train" else "learning"]
        return settings

    @property
    def env_id(self) -> str:
        return str(self.config["env_id"])

    @property
    def seed(self) -> int:
        return int(self.settings["seed"])

    @property
    def finished(self) -> bool:
        return self.summary is not None

    @property
    def goal(self) -> float | None:
        """The return at which it stopped; None: it was not to stop, or has not reached it."""
        goal = self.settings.get("stop_at")
        reached = None if self.summary is None else self.summary["return"]
        return None if goal is None or reached is None or reached < goal else float(goal)

    @cached_property
    def last_return(self) -> float:
        known = self.returns[~np.isnan(self.returns)]
        return float(known[-1]) if len(known) else np.nan

    @property
    def final_return(self) -> float:
        """The same of a run that is over."""
        return self.last_return if self.finished else np.nan

    @property
    def place(self) -> Path:
        return Path(os.path.abspath(self.folder))

    @property
    def in_curve_folder(self) -> bool:
        return bool(SEED_FOLDER.fullmatch(self.place.name))


@dataclass(frozen=True, eq=False)
class Curve:
    """The runs that differ by their seeds alone."""

    name: str
    env_id: str
    runs: tuple[Run, ...]
    colour: int  # the same for the same name


@dataclass(frozen=True, eq=False)
class Panel:
    """What is compared in one environment."""

    env_id: str
    curves: tuple[Curve, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(run for curve in self.curves for run in curve.runs)


# Finding and reading


def find_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in these folders, which may be runs themselves; each once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise RunError(f"{folder}: there is no such folder; give runs that {MAKE} made")
        below = [path for path in sorted(_runs_below(folder, DEPTH), key=_in_order) if _has_curve(path)]
        if not below:
            raise RunError(
                f"{folder} is not a run: it has no {CONFIG}, nor has a folder in it; give runs that {MAKE} made"
            )
        for path in below:
            found.setdefault(Path(os.path.abspath(path)), path)
    return [read_measures(path) for path in found.values()]


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / CONFIG).exists():
        yield folder
    elif depth:
        for entry in os.scandir(folder):
            if entry.is_dir() and not entry.name.startswith("."):
                yield from _runs_below(folder / entry.name, depth - 1)


def _has_curve(folder: Path) -> bool:
    """Whether there is anything to compare: `srm infer` trains nothing."""
    return read_config(folder).get("kind") != "infer"


def _in_order(path: Path) -> list[tuple[str, int]]:
    """seed2 before seed10."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", str(path))]


def read_measures(folder: Path) -> Run:
    """What is compared of a run; its weights and episodes are not looked at."""
    config, path = read_config(folder), folder / LOG
    _check(folder / CONFIG, config)
    lines = log_lines(path)
    begun = len(lines) > 1
    columns = read_columns(path, lines, COLUMNS) if begun else {}
    frames, seconds, returns, episodes = (np.array(columns.get(name, []), dtype=float) for name in COLUMNS)
    holes = _posterior_holes(folder / POSTERIOR) or (_last_holes(path, lines) if begun else ())
    place = Path(os.path.abspath(folder))
    suite = read_json(place.parent.parent / SUITE) if SEED_FOLDER.fullmatch(place.name) else None
    return Run(folder, config, frames, seconds, sure(returns, episodes), holes, read_json(folder / SUMMARY), suite)


def sure(returns: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """Returns [N] without those of the first hundred episodes [N], of which the solved ones end first; all of a run with fewer."""
    ended = np.cumsum(np.nan_to_num(episodes))
    return returns if not len(ended) or ended[-1] < SURE else np.where(ended < SURE, np.nan, returns)


def _check(path: Path, config: Mapping[str, Any]) -> None:
    part = {"train": "training", "learn": "learning"}.get(str(config.get("kind")))
    if part is None:
        raise RunError(f"{path} is not of a run; leave its folder out, or give runs that {MAKE} made")
    settings = config.get(part)
    if not isinstance(settings, Mapping) or not isinstance(settings.get("seed"), int) or "env_id" not in config:
        raise RunError(
            f"{path} has no {part} with a seed, or no env_id, so another version wrote it; make the run again"
        )


def _posterior_holes(path: Path) -> tuple[Hole, ...]:
    posterior = read_json(path)
    try:
        told = [] if posterior is None else posterior["holes"]
        return tuple(Hole(str(hole["name"]), float(hole["value"]), float(hole["spread"])) for hole in told)
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{path} has a hole without name, value or spread; leave this run out") from None


def _last_holes(path: Path, lines: Sequence[str]) -> tuple[Hole, ...]:
    names = lines[0].split(",")
    last = read_columns(path, [lines[0], lines[-1]], names)
    holes = [name.removeprefix("hole.") for name in names if name.startswith("hole.")]
    known = ((name, last[f"hole.{name}"][0], last.get(f"spread.{name}", [None])[0]) for name in holes)
    return tuple(Hole(name, value, spread) for name, value, spread in known if value is not None)


# Putting together


def panels(runs: Iterable[Run]) -> tuple[Panel, ...]:
    """One an environment, in the order they are met; the curves of a suite in its order."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.env_id, _what_is_shared(run)), []).append(run)
    members = sorted(groups.values(), key=lambda group: _place_in_suite(group[0]))
    colours: dict[str, int] = {}
    by_env: dict[str, list[Curve]] = {env_id: [] for env_id, _ in groups}
    for name, group in zip(_names(members), members, strict=True):
        colour = colours.setdefault(name, len(colours))
        ordered = sorted(group, key=lambda run: run.seed)
        by_env[group[0].env_id].append(Curve(name, group[0].env_id, tuple(ordered), colour))
    return tuple(Panel(env_id, tuple(curves)) for env_id, curves in by_env.items())


def _what_is_shared(run: Run) -> str:
    if run.in_curve_folder:
        return str(run.place.parent)
    settings = {name: value for name, value in run.settings.items() if name not in OF_NO_CONSEQUENCE}
    return json.dumps([run.kind, settings], sort_keys=True)


def _place_in_suite(run: Run) -> int:
    """Stays as it was met where no suite tells."""
    curves = list(run.suite["curves"]) if run.suite else []
    return curves.index(run.place.parent.name) if run.place.parent.name in curves else len(curves)


def _names(groups: Sequence[Sequence[Run]]) -> list[str]:
    """A name for each group that no other group of its environment has."""
    first = [group[0] for group in groups]
    names = [_name(run) for run in first]
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for run, name in zip(first, names, strict=True):
        alike = [other for other, its in zip(first, names, strict=True) if (its, other.env_id) == (name, run.env_id)]
        told = name if len(alike) == 1 else _told_apart(run, name, alike)
        seen[run.env_id, told] += 1
        again = seen[run.env_id, told]
        found.append(told if again == 1 else f"{told} ({again})")
    return found


def _name(run: Run) -> str:
    if run.in_curve_folder:
        return run.place.parent.name
    settings, learning = run.settings, run.settings.get("learning", {})
    if run.kind == "learn":
        paid = f"learnt {Path(settings['machine']).stem}" if settings.get("machine") else "learnt"
    else:
        paid = "task reward" if settings["reward"] == "task" else Path(settings["reward"]).stem
    return " · ".join([str(settings["task"]), paid, f"{learning.get('learner', '')} {learning.get('net', '')}".strip()])


def _told_apart(run: Run, name: str, alike: Sequence[Run]) -> str:
    """By the folder around the curve's, or by the settings in which the runs differ."""
    if run.in_curve_folder:
        return f"{run.place.parent.parent.name}/{name}"
    settings = [dict(flattened(other.settings)) for other in alike]
    own = dict(flattened(run.settings))
    differ = [key for key in own if key not in OF_NO_CONSEQUENCE and len({told.get(key) for told in settings}) > 1]
    return " · ".join([name, *(f"{key.removeprefix('learning.')} {own[key]}" for key in differ[:3])])


def common_folder(folders: Sequence[Path]) -> Path:
    """The innermost folder with all of these in it, which may be one of them; told from here where it lies below."""
    folder = Path(os.path.commonpath([os.path.abspath(path) for path in folders]))
    if folder == Path(folder.anchor):
        raise RunError(f"{folders[0]} and {folders[-1]} have no folder in common; tell where to write with -o")
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
