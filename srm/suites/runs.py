"""The runs of a suite: one curve with one seed each, in a folder OUT/CURVE/seedS with what it printed in OUT/CURVE/seedS.log.

Nothing but these folders says how far a suite is, so that it can be killed at any moment and started again: a run with a summary
is finished, one with a checkpoint goes on from it, and any other begins.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from srm.errors import RunError, one_line, tamed
from srm.files import opened
from srm.runs.folder import CONFIG, LEARNT, LOG, SUMMARY, as_json, checkpoints, refuse_kept, write_bytes
from srm.runs.log import last_row
from srm.runs.records import SUITE as SUITE_FILE
from srm.runs.records import read_record
from srm.suites.suite import CurveCommand, Suite

_PRINTED = 65_536  # bytes of what a run printed that are looked at for its last line


@dataclass(frozen=True)
class SuiteRun:
    """One curve with one seed."""

    curve: str
    seed: int
    words: tuple[str, ...]  # of the command: verb, task, flags; without --seed and -o
    frames: int  # to be played
    folder: Path
    needs: Path | None = None  # the folder of the run whose machine pays this one, or whose policy it begins with

    def __str__(self) -> str:
        return f"{self.curve} seed {self.seed}"

    @property
    def log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def finished(self) -> bool:
        return (self.folder / SUMMARY).exists()


@dataclass(frozen=True)
class Reached:
    """The last row of a run's log."""

    frames: int = 0
    seconds: float = 0.0
    mean_return: float | None = None


def runs_of(suite: Suite, out: Path, seeds: int) -> tuple[SuiteRun, ...]:
    """Seed by seed, so that every curve has a first line before any has a second; of a seed, what others need comes first."""
    needed = {curve.needs for curve in suite.curves.values()}
    curves = sorted(suite.curves.values(), key=lambda curve: curve.name not in needed)
    first = suite.first_seed
    return tuple(_run(curve, seed, out) for seed in range(first, first + seeds) for curve in curves)


def _run(curve: CurveCommand, seed: int, out: Path) -> SuiteRun:
    def folder(name: str) -> Path:
        return out / name / f"seed{seed}"

    if curve.verb == "learn" and "--cores" not in curve.words:
        curve = curve.with_value("--cores", "1")  # the others have work for the rest
    needs = folder(curve.needs) if curve.needs else None
    for flag, name in curve.learnt.items():
        curve = curve.with_value(flag, str(folder(name) / LEARNT if flag == "--reward" else folder(name)))
    return SuiteRun(curve.name, seed, curve.words, curve.frames, folder(curve.name), needs)


def command_of(run: SuiteRun, root: Path = Path()) -> list[str]:
    """The command that begins a run below `root`, or goes on with it; what has not been saved yet is thrown away."""
    folder = root / run.folder
    if checkpoints(folder):
        verb, task, *_ = run.words
        return [verb, "--resume", str(run.folder), *(["--task", task] if ":" in task else [])]
    if (folder / CONFIG).exists():
        shutil.rmtree(folder)
    for part in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(part)
    return [*run.words, "--seed", str(run.seed), "-o", str(run.folder)]


def reached(run: SuiteRun) -> Reached:
    """How far a run is; nothing, if its log is damaged: that is for the run itself to refuse."""
    row = last_row(run.folder / LOG)
    frames, seconds = row.get("frames"), row.get("seconds")
    if frames is None or seconds is None or not 0 <= frames < 1 << 63:
        return Reached()
    return Reached(int(frames), seconds, row.get("return"))


def last_line(run: SuiteRun) -> str:
    """What a run printed last: why it failed."""
    try:
        with opened(run.log, 1 << 40) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _PRINTED))
            lines = file.read(_PRINTED).decode(errors="replace").split("\n")
    except (OSError, ValueError):
        lines = []
    printed = [line.strip() for line in lines if line.strip() and not line.startswith("$ ")]
    return str(tamed(printed[-1])) if printed else "it printed nothing"


@contextmanager
def claimed(suite: Suite, out: Path) -> Iterator[None]:
    """The folder of a suite, which nobody else runs meanwhile and which holds no runs of other commands."""
    if (out / CONFIG).exists():
        raise RunError(f"{out} is a single run; give the suite another -o")
    out.mkdir(parents=True, exist_ok=True)
    handle = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"{out} is being written by another `srm suite`") from None
        for name in suite.curves:
            _refuse_links(out / name)
        for folder in (folder for name in suite.curves for folder in (out / name).glob("seed*/")):
            if not (folder / SUMMARY).exists():
                refuse_kept(folder)
        commands = {**_refuse_others(suite, out), **{name: curve.command for name, curve in suite.curves.items()}}
        about = {"name": suite.name, "title": suite.title, "scale": suite.scale, "curves": commands}
        write_bytes(out / SUITE_FILE, as_json(about).encode())
        yield
    finally:
        os.close(handle)


def _refuse_links(curve: Path) -> None:
    """A run would be written, or begun anew, wherever a link leads."""
    for path in (curve, *curve.glob("seed*")):
        if path.is_symlink():
            raise RunError(f"{path} is a link, and a suite is written in its own folder; put the folder itself there")


def _refuse_others(suite: Suite, out: Path) -> dict[str, str]:
    """The commands of earlier; refuses a curve that has runs of another command than now."""
    before = _earlier_commands(out / SUITE_FILE)
    for name, curve in suite.curves.items():
        if before.get(name, curve.command) != curve.command and any((out / name).glob("seed*/")):
            raise RunError(
                f"{out / name} holds runs of `{one_line(before[name], 500)}`, and now it is `{curve.command}`; "
                "choose another -o, or delete that folder"
            )
    return {name: command for name, command in before.items() if (out / name).exists()}


def _earlier_commands(path: Path) -> dict[str, str]:
    before = read_record(path, "delete it, or choose another -o")
    return {} if before is None else dict(before["curves"])
