"""Runs of `srm infer` and `srm learn`, begun from the page: child processes that write ordinary run folders, and go on by themselves.

A run is known by its folder, whoever began it. What the page shows is read from there, by the readers of the report pages.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srm.errors import RunError, SettingError, SrmError
from srm.files import appending, read_whole, refuse_link_outside, write_whole
from srm.machine.drawing.draw import svg
from srm.machine.language.parse import load
from srm.report.run.learning import sampled
from srm.report.run.parts import REPORT
from srm.report.run.read import shown_config
from srm.report.run.summary import read_summary
from srm.runs.folder import CONFIG, EPISODES, LEARNT, LOG, MACHINE, POSTERIOR, SUMMARY
from srm.runs.log import read_log
from srm.runs.records import read_record
from srm.studio.compare import ComparePart
from srm.studio.paths import inside
from srm.studio.security import text_of, whole_of
from srm.studio.store import KEPT
from srm.studio.studio import Body, Studio

FOLDER = "runs"
MOST_RUNS = 100  # that are listed, the newest first
MOST_RUNNING = 4  # at once, begun from here
FRESH = 30.0  # seconds after which a log that does not grow is of a run that stands still
MOST_OUTPUT = 64 << 20  # bytes that a run may have printed
LAST_LINES = 12  # of what a run printed
DEEPEST = 3  # folders below `runs`


@dataclass(eq=False)
class StartedRun:
    """A run that was begun, or resumed, from here."""

    process: subprocess.Popen[bytes]
    output: Path  # what it prints


class Watch:
    """The part of the studio that watches."""

    def __init__(self, studio: Studio, compare: ComparePart) -> None:
        self.studio, self._compare = studio, compare
        self.home = studio.folder / FOLDER
        self._started: dict[str, StartedRun] = {}  # by the name of the folder
        self._lock = threading.Lock()
        questions = {
            "runs": self._runs,
            "run": self._run,
            "run.start": self._start,
            "run.stop": self._stop,
            "run.resume": self._resume,
            "run.episodes": self._episodes,
        }
        studio.add(questions, saved=lambda: [f"{name}: goes on by itself" for name in self.going_on()])

    def going_on(self) -> list[str]:
        """The runs that are under way."""
        return [name for name, run in self._started.items() if run.process.poll() is None]

    # What there is

    def _runs(self, _: Body) -> dict[str, Any]:
        kept = len(self.studio.store.shelves[KEPT].episodes)
        listed = [self._row(folder) for folder in self._folders()]
        known = {row["name"] for row in listed}
        failed = [_begun_row(name, self._state(name, None)) for name in self._started if name not in known]
        return {"runs": failed + listed, "kept": kept, "answers": len(self._compare.preferences.comparisons)}

    def _folders(self) -> list[Path]:
        """Those that hold a config, the newest first; none behind a link."""
        if self.home.is_symlink():
            return []
        dated = [
            (path.stat().st_mtime, path) for path in _folders_below(self.home, DEEPEST) if (path / CONFIG).is_file()
        ]
        return [path for _, path in sorted(dated, reverse=True)[:MOST_RUNS]]

    def _row(self, folder: Path) -> dict[str, Any]:
        """A line of the table. A folder that is damaged says so, and spoils no other."""
        name = str(folder.relative_to(self.studio.folder))
        try:
            config = shown_config(self._within(folder, CONFIG).parent)
            kind = str(config.get("kind"))
            over = read_record(self._within(folder, SUMMARY)) if (folder / SUMMARY).exists() else None
            settings: Mapping[str, Any] = config.get(
                {"learn": "learning", "train": "training", "infer": "inference"}.get(kind, ""), {}
            )
            row: dict[str, Any] = {
                "name": name,
                "kind": kind,
                "task": settings.get("task") or settings.get("subject") or "",
                "seed": settings.get("seed"),
                "state": self._state(name, folder, over is not None or kind == "infer"),
                "own": name in self._started,
            }
            reached = over or (self._last(folder) if kind != "infer" else {})
            return row | {key: reached.get(key) for key in ("frames", "return", "success", "seconds")}
        except SrmError as error:
            return _begun_row(name, "damaged") | {"problem": str(error)}

    def _last(self, folder: Path) -> dict[str, Any]:
        try:
            log = read_log(self._within(folder, LOG))
        except RunError:  # no round yet
            return {}
        return {
            name: next((value for value in reversed(column) if value is not None), None) for name, column in log.items()
        }

    def _state(self, name: str, folder: Path | None, over: bool = False) -> str:
        started = self._started.get(name)
        if started is not None and started.process.poll() is None:
            return "running"
        if over:
            return "finished"
        if started is not None and started.process.returncode not in (0, 130):
            return "failed"
        log = None if folder is None else folder / LOG
        if started is None and log is not None and log.exists() and time.time() - log.stat().st_mtime < FRESH:
            return "running"
        return "stopped"

    # One run

    def _run(self, body: Body) -> dict[str, Any]:
        """All that there is of a run, as it grows."""
        folder = self._folder(body)
        name = str(folder.relative_to(self.studio.folder))
        answer: dict[str, Any] = {"name": name, "output": self._output(name)}
        if not (folder / CONFIG).exists():
            return answer | {"state": self._state(name, None)}
        answer |= self._row(folder)
        if (folder / LOG).exists() and answer["kind"] != "infer":
            try:
                answer["log"] = sampled(read_log(self._within(folder, LOG)))
            except RunError:
                answer["log"] = None
        if (folder / POSTERIOR).exists():
            answer["holes"] = self._holes(folder)
        machine = LEARNT if (folder / LEARNT).exists() else MACHINE
        if (folder / machine).exists():
            answer["machine"] = str(load(self._within(folder, machine)))
        answer["page"] = str(folder / REPORT) if (folder / REPORT).exists() else None
        answer["episodes"] = (folder / EPISODES).exists()
        return answer

    def _holes(self, folder: Path) -> list[dict[str, Any]] | None:
        """Intervals, with what they were before the evidence; None where the run drew none."""
        try:
            summary = read_summary(self._within(folder, POSTERIOR))
        except RunError:
            return None
        return [
            {
                "name": hole.name,
                "value": hole.value,
                "low": hole.low,
                "high": hole.high,
                "before": [hole.prior_mean - 1.645 * hole.prior_spread, hole.prior_mean + 1.645 * hole.prior_spread],
                "set_by": hole.set_by,
            }
            for hole in summary.holes
        ]

    def _episodes(self, body: Body) -> dict[str, Any]:
        """Its recorded episodes, as the replay takes them, and the machine that paid them."""
        folder = self._folder(body)
        recorded = read_record(self._within(folder, EPISODES))
        if recorded is None:
            raise SettingError("this run has recorded no episodes yet; they come when it ends")
        machine = load(self._within(folder, LEARNT))
        return {**recorded, "name": folder.name, "start": machine.start, "drawing": svg(machine)}

    # Start, stop, resume

    def _start(self, body: Body) -> dict[str, Any]:
        """`srm infer` or `srm learn` of the tab's machine, in a folder of its own."""
        verb = text_of(body, "verb", 10)
        if verb not in ("infer", "learn"):
            raise SettingError(f"{verb}: expected infer or learn")
        seed = whole_of(body, "seed")
        with self.studio.session(body) as session:
            bench = session.bench
        if not bench.machine.holes:
            raise SettingError("there is no machine with holes; write one in Edit")
        with self._lock:
            self._refuse_many()
            folder = self._free(f"{self.studio.task.name}-{bench.machine.name}-{verb}-seed{seed}")
            inside(self.studio.folder, FOLDER).mkdir(exist_ok=True)
            machine = folder.with_name(f"{folder.name}.srm")
            write_whole(machine, str(bench.machine).encode())
            flags = ["--machine", str(machine), "--seed", str(seed), "-o", str(folder)]
            if bench.constraint is None or bench.constraint != bench.machine.constraint():
                flags += ["--constraint", "none" if bench.constraint is None else bench.constraint.name]
            if body.get("mine"):
                flags += ["--demos", str(self.studio.store.shelves[KEPT].path)]
            if verb == "infer" and self._compare.preferences.comparisons:
                flags += ["--preferences", str(self._compare.path)]
            if verb == "learn":
                flags += ["--frames", str(whole_of(body, "frames"))]
            return {"name": self._launch(folder, [verb, self.studio.named, *flags])}

    def _resume(self, body: Body) -> dict[str, Any]:
        folder = self._folder(body)
        with self._lock:
            self._refuse_many()
            own = ["--task", self.studio.named] if ":" in self.studio.named else []
            return {"name": self._launch(folder, ["learn", "--resume", str(folder), *own])}

    def _stop(self, body: Body) -> dict[str, Any]:
        """As Ctrl-C does: it ends after the round under way, and can be resumed."""
        name = str(self._folder(body).relative_to(self.studio.folder))
        started = self._started.get(name)
        if started is None or started.process.poll() is not None:
            raise SettingError(f"{name} was not begun from here, or is over; stop it where it was begun")
        os.kill(started.process.pid, signal.SIGINT)
        return {}

    def _launch(self, folder: Path, arguments: list[str]) -> str:
        output = folder.with_name(f"{folder.name}.txt")
        with appending(output) as file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "srm", *arguments],
                cwd=self.studio.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # neither a closed terminal nor Ctrl-C of the studio reaches it
            )
        name = str(folder.relative_to(self.studio.folder))
        self._started[name] = StartedRun(process, output)
        return name

    def _refuse_many(self) -> None:
        if len(self.going_on()) >= MOST_RUNNING:
            raise SettingError(f"{MOST_RUNNING} runs are under way; stop one, or wait for one to end")

    def _free(self, name: str) -> Path:
        paths = [self.home / name, *(self.home / f"{name}-{number}" for number in range(2, 1000))]
        begun = {self.studio.folder / name for name in self._started}
        return next(path for path in paths if not path.exists() and path not in begun)

    def _folder(self, body: Body) -> Path:
        return inside(self.studio.folder, text_of(body, "name", 200))

    def _within(self, folder: Path, name: str) -> Path:
        path = folder / name
        refuse_link_outside(path, self.studio.folder)
        return path

    def _output(self, name: str) -> list[str]:
        started = self._started.get(name)
        if started is None or not started.output.exists():
            return []
        return read_whole(started.output, MOST_OUTPUT).decode(errors="replace").splitlines()[-LAST_LINES:]


def _folders_below(folder: Path, depth: int) -> Iterator[Path]:
    if not folder.is_dir() or depth == 0:
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield entry
            if not (entry / CONFIG).exists():
                yield from _folders_below(entry, depth - 1)


def _begun_row(name: str, state: str) -> dict[str, Any]:
    return {"name": name, "kind": "", "task": "", "seed": None, "state": state, "own": True}
