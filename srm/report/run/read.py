"""A learning run as it lies on disk, read whole or refused by name. A run that is still going on is read as far as it got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srm.errors import RunError, one_line
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.runs import kinds
from srm.runs.folder import CHECK, CONFIG, EPISODES, LEARNT, LOG, MACHINE, POSTERIOR, SUMMARY, read_config
from srm.runs.log import Columns, read_log
from srm.runs.records import SAMPLED, read_record, refuse_misfit

SURE = 100  # episodes that a return is the mean of


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
            f"{folder} is a run of `srm {one_line(kind)}`, and a report is made of a run of `srm learn`; "
            "make one with `srm learn TASK -o RUN`"
        )
    learnt = folder / LEARNT
    return LearningRun(
        folder=folder,
        config=config,
        log=read_log(folder / LOG),
        machine=load(folder / MACHINE),
        learnt=load(learnt) if learnt.exists() else None,
        posterior=read_record(folder / POSTERIOR),
        check=read_record(folder / CHECK),
        episodes=read_record(folder / EPISODES),
        summary=read_record(folder / SUMMARY),
    )


def shown_config(folder: Path) -> dict[str, Any]:
    """The config of a run, as far as pages show it."""
    config = read_config(folder)
    refuse_misfit(folder / CONFIG, kinds.CONFIG, config)
    return config


def evenly(count: int, most: int) -> list[int]:
    """The places of at most so many of a number of rows, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(place * (count - 1) / max(most - 1, 1)) for place in range(most)})


def flattened(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """`ppo.clip_coef` for {"ppo": {"clip_coef": ...}}."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{before}{name}", ", ".join(map(str, value)) or "–"
        else:
            yield f"{before}{name}", "–" if value is None or value == "" else str(value)
