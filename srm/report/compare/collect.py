"""Which runs are compared: found in folders, and read as far as they got."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from srm.errors import RunError
from srm.report.run.read import SURE, shown_config
from srm.runs.folder import CONFIG, LOG, POSTERIOR, SUMMARY, read_config
from srm.runs.log import log_lines, read_columns
from srm.runs.records import SUITE, read_record

COLUMNS = ("frames", "seconds", "return", "episodes")
DEPTH = 4  # folders below one that is given
MAKE = "`srm train TASK -o RUN` or `srm learn TASK -o RUN`"
SEED_FOLDER = re.compile(r"seed(\d+)(-\d+)?")


@dataclass(frozen=True)
class HoleBelief:
    """What a run believes of a hole."""

    name: str
    value: float
    spread: float | None


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run of `srm train` or `srm learn`, as far as it got."""

    folder: Path
    config: Mapping[str, Any]
    frames: np.ndarray  # [N]
    seconds: np.ndarray  # [N]
    returns: np.ndarray  # [N], NaN where it is not known
    holes: tuple[HoleBelief, ...]
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


def find_runs(folders: Sequence[Path]) -> list[MeasuredRun]:
    """The runs in these folders, which may be runs themselves; each once."""
    paths: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise RunError(f"{folder}: there is no such folder; give runs that {MAKE} made")
        below = [path for path in sorted(_runs_below(folder, DEPTH), key=_in_order) if _has_curve(path)]
        if not below:
            raise RunError(
                f"{folder} is not a run: it has no {CONFIG}, nor has a folder in it; give runs that {MAKE} made"
            )
        for path in below:
            paths.setdefault(Path(os.path.abspath(path)), path)
    return [read_measures(path) for path in paths.values()]


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / CONFIG).exists():
        yield folder
    elif depth:
        for entry in os.scandir(folder):
            if os.path.isdir(entry.path) and not entry.name.startswith("."):
                yield from _runs_below(folder / entry.name, depth - 1)


def _has_curve(folder: Path) -> bool:
    """Whether there is anything to compare: `srm infer` trains nothing."""
    return read_config(folder).get("kind") != "infer"


def _in_order(path: Path) -> list[tuple[str, int]]:
    """seed2 before seed10."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", str(path))]


def read_measures(folder: Path) -> MeasuredRun:
    """What is compared of a run; its weights and episodes are not looked at."""
    config, path = shown_config(folder), folder / LOG
    _check(folder / CONFIG, config)
    lines = log_lines(path)
    begun = len(lines) > 1
    columns = read_columns(path, lines, COLUMNS) if begun else {}
    frames, seconds, returns, episodes = (np.array(columns.get(name, []), dtype=float) for name in COLUMNS)
    holes = _posterior_holes(folder / POSTERIOR) or (_last_holes(path, lines) if begun else ())
    place = Path(os.path.abspath(folder))
    suite = read_record(place.parent.parent / SUITE) if SEED_FOLDER.fullmatch(place.name) else None
    return MeasuredRun(
        folder, config, frames, seconds, sure(returns, episodes), holes, read_record(folder / SUMMARY), suite
    )


def sure(returns: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """Returns [N] without those of the first hundred episodes [N], of which the solved ones end first; all of a run with fewer."""
    so_far = np.cumsum(np.nan_to_num(episodes))
    return returns if not len(so_far) or so_far[-1] < SURE else np.where(so_far < SURE, np.nan, returns)


def _check(path: Path, config: Mapping[str, Any]) -> None:
    part = {"train": "training", "learn": "learning"}.get(str(config.get("kind")))
    if part is None:
        raise RunError(f"{path} is not of a run; leave its folder out, or give runs that {MAKE} made")
    settings = config.get(part)
    if not isinstance(settings, Mapping) or not isinstance(settings.get("seed"), int) or "env_id" not in config:
        raise RunError(
            f"{path} has no {part} with a seed, or no env_id, so another version wrote it; make the run again"
        )


def _posterior_holes(path: Path) -> tuple[HoleBelief, ...]:
    posterior = read_record(path)
    try:
        holes = [] if posterior is None else posterior["holes"]
        return tuple(HoleBelief(str(hole["name"]), float(hole["value"]), float(hole["spread"])) for hole in holes)
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{path} has a hole without name, value or spread; leave this run out") from None


def _last_holes(path: Path, lines: Sequence[str]) -> tuple[HoleBelief, ...]:
    names = lines[0].split(",")
    last = read_columns(path, [lines[0], lines[-1]], names)
    holes = [name.removeprefix("hole.") for name in names if name.startswith("hole.")]
    known = ((name, last[f"hole.{name}"][0], last.get(f"spread.{name}", [None])[0]) for name in holes)
    return tuple(HoleBelief(name, value, spread) for name, value, spread in known if value is not None)


def common_folder(folders: Sequence[Path]) -> Path:
    """The innermost folder with all of these in it, which may be one of them; relative to here where it lies below."""
    folder = Path(os.path.commonpath([os.path.abspath(path) for path in folders]))
    if folder == Path(folder.anchor):
        raise RunError(f"{folders[0]} and {folders[-1]} have no folder in common; say where to write with -o")
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
