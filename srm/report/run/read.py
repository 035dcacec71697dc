"""A learning run as it lies on disk, read whole or refused by name. A run that is still going on is read as far as it got."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srm.errors import RunError
from srm.files import read_json as parsed
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.report.run import kinds
from srm.runs.folder import CHECK, CONFIG, EPISODES, LEARNT, LOG, MACHINE, POSTERIOR, SUMMARY, read_config

SUITE = "suite.json"  # of a folder that holds the runs of a suite
REQUIRED = {  # what a page reads of each
    LOG: ("round", "frames", "seconds", "return", "success"),
    POSTERIOR: ("quantiles", "constraint", "margin", "holes"),
    CHECK: ("errors", "warnings", "findings"),
    EPISODES: ("actions", "rules", "episodes"),
    SUITE: ("title", "curves"),
    SUMMARY: ("frames", "seconds", "return", "success"),
}
KINDS = {
    POSTERIOR: kinds.POSTERIOR,
    CHECK: kinds.CHECK,
    EPISODES: kinds.EPISODES,
    SUITE: kinds.SUITE,
    SUMMARY: kinds.SUMMARY,
}
SURE = 100  # episodes that a return is the mean of
SAMPLED = "posterior"  # the kind of a posterior.json that holds draws' summaries; Algorithm 1 writes none, or its own
Columns = Mapping[str, list[float | None]]  # of the log, by name; None: not known


@dataclass(frozen=True)
class LearningRun:
    """What `srm learn` wrote. None: not written yet."""

    folder: Path
    config: Mapping[str, Any]
    log: Columns
    machine: Machine  # with its holes open
    learnt: Machine | None
    posterior: Mapping[str, Any] | None
    check: Mapping[str, Any] | None
    episodes: Mapping[str, Any] | None
    summary: Mapping[str, Any] | None

    @property
    def settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.config.get("learning", {})
        return settings

    @property
    def task(self) -> str:
        return str(self.settings.get("task") or self.config.get("env_id", "a task"))

    @property
    def rounds(self) -> int:
        return len(self.log["round"])

    @property
    def is_sampled(self) -> bool:
        """Whether its posterior are draws."""
        return self.posterior is not None and self.posterior.get("kind") == SAMPLED

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Its summary; of a run that is not over, the same as it stands."""
        return self.summary or {name: self.last(name) for name in ("return", "success", "frames", "seconds", "length")}

    def last(self, column: str) -> float | None:
        """The last value of a column of the log that is known."""
        known = [value for value in self.log.get(column, []) if value is not None]
        return known[-1] if known else None


def read_run(folder: Path) -> LearningRun:
    if not folder.is_dir():
        raise RunError(f"{folder}: there is no such folder; give the run that `srm learn TASK -o RUN` made")
    if not (folder / CONFIG).exists():
        raise RunError(f"{folder} is not a run: it has no {CONFIG}; give the one that `srm learn TASK -o RUN` made")
    config = shown_config(folder)
    kind = config.get("kind")
    if kind != "learn":
        raise RunError(
            f"{folder} is a run of `srm {kind}`, and a report is made of a run of `srm learn`; "
            "make one with `srm learn TASK -o RUN`"
        )
    learnt = folder / LEARNT
    return LearningRun(
        folder=folder,
        config=config,
        log=read_log(folder / LOG),
        machine=load(folder / MACHINE),
        learnt=load(learnt) if learnt.exists() else None,
        posterior=read_json(folder / POSTERIOR),
        check=read_json(folder / CHECK),
        episodes=read_json(folder / EPISODES),
        summary=read_json(folder / SUMMARY),
    )


def shown_config(folder: Path) -> dict[str, Any]:
    """The config of a run, as far as pages show it."""
    config = read_config(folder)
    refuse_misfit(folder / CONFIG, kinds.CONFIG, config)
    return config


def read_log(path: Path) -> Columns:
    """The columns of a log; a row that is being written is left out."""
    lines = log_lines(path)
    if not lines:
        raise RunError(f"{path.parent} has no {path.name} yet: no round has ended; try again later")
    if len(lines) < 2:
        raise RunError(f"{path} has no round yet; try again later")
    return read_columns(path, lines, lines[0].split(","))


def log_lines(path: Path) -> list[str]:
    """The head of a log and its whole rows; none where nothing was written yet."""
    try:
        return path.read_text().split("\n")[:-1]  # what follows the last end of line is being written
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}; leave this run out") from None


def read_columns(path: Path, lines: Sequence[str], wanted: Iterable[str]) -> Columns:
    """Those of a log that are wanted. The rest of a row is not looked at, which makes long logs four times as fast to read."""
    names = lines[0].split(",")
    place = {name: names.index(name) for name in wanted if name in names}
    most = max(place.values(), default=0) + 1
    try:
        rows = [line.split(",", most) for line in lines[1:]]
        columns = {name: _numbers([row[index] for row in rows]) for name, index in place.items()}
    except (ValueError, IndexError):
        raise RunError(f"{path} is not the log of a run: a cell of it is not a number") from None
    require(path, names)
    return columns


def evenly(count: int, most: int) -> list[int]:
    """The places of at most so many of a number of rows, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(place * (count - 1) / max(most - 1, 1)) for place in range(most)})


def _numbers(cells: Iterable[str]) -> list[float | None]:
    return [value if cell and math.isfinite(value := float(cell)) else None for cell in cells]


def read_json(path: Path) -> Mapping[str, Any] | None:
    if not path.exists():
        return None
    try:
        content = parsed(path)
    except (ValueError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}; put it back, or make the run again") from None
    if not isinstance(content, dict):
        raise RunError(f"{path} is not what a run writes there")
    require(path, content)
    kind = kinds.SAMPLED_POSTERIOR if content.get("kind") == SAMPLED else KINDS[path.name]
    refuse_misfit(path, kind, content)
    return content


def refuse_misfit(path: Path, kind: Any, content: Any) -> None:
    misfit = next(kinds.misfits(kind, content), None)
    if misfit is not None:
        place = misfit.lstrip(".")
        raise RunError(f"{path}: {place} is not what a run writes there, so the file was damaged or edited")


def require(path: Path, content: Container[str]) -> None:
    required = REQUIRED[path.name]
    if isinstance(content, Mapping) and content.get("kind") == SAMPLED:
        required = ("constraint", "holes")
    missing = [name for name in required if name not in content]
    if missing:
        raise RunError(f"{path} has no {', '.join(missing)}, so another version wrote it; learn again with this one")


def flattened(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """`ppo.clip_coef` for {"ppo": {"clip_coef": ...}}."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{before}{name}", ", ".join(map(str, value)) or "–"
        else:
            yield f"{before}{name}", "–" if value is None or value == "" else str(value)
