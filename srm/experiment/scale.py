"""Where the rows of a suite run: as processes side by side on this machine, or on the nodes of a Ray cluster.

Every row is `srm ...` in a process of its own with one thread. It dies with whoever started it, whatever kills that: a row
that nobody watches would go on writing a folder that the next `srm suite` takes up.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from srm.errors import RunError
from srm.experiment.rows import Row, words_to_run
from srm.experiment.run import CHECKPOINTS, CONFIG, SUMMARY, checkpoints, policy_file, write_bytes
from srm.extras import require

STOPPED = 130  # exit code of a row that was asked to stop and has saved where it was


class Executor(Protocol):
    """Runs rows at the same time."""

    slots: int  # how many it takes at once

    @property
    def running(self) -> frozenset[Row]: ...

    def start(self, row: Row) -> None: ...

    def ended(self) -> list[tuple[Row, int]]:
        """Rows that have ended since it was asked before, with their exit codes."""

    def stop(self) -> None:
        """Asks all rows to save where they are and to end."""

    def close(self) -> None:
        """Ends what still runs, without asking."""


class Local:
    """Processes on this machine."""

    def __init__(self, slots: int = 0) -> None:
        self.slots = slots or len(os.sched_getaffinity(0))
        self._processes: dict[Row, subprocess.Popen[bytes]] = {}

    @property
    def running(self) -> frozenset[Row]:
        return frozenset(self._processes)

    def start(self, row: Row) -> None:
        self._processes[row] = start_process(row, Path())

    def ended(self) -> list[tuple[Row, int]]:
        found = [(row, code) for row, process in self._processes.items() if (code := process.poll()) is not None]
        for row, _ in found:
            del self._processes[row]
        return found

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()


def start_process(row: Row, root: Path) -> subprocess.Popen[bytes]:
    """Begins a row, or goes on with it, in the folder `root`; what it prints is added to its log."""
    log = root / row.log
    log.parent.mkdir(parents=True, exist_ok=True)
    words = words_to_run(row, root)
    with log.open("ab") as file:
        file.write(f"$ srm {shlex.join(words)}\n".encode())
        file.flush()
        return subprocess.Popen(
            [sys.executable, "-c", _ROW, str(os.getpid()), *words],
            cwd=root,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl-C reaches the suite alone, which asks each row once
        )


# `python -m srm` that the kernel kills with its parent, and that can be interrupted although Ray blocks this in all it starts. Said
# by the row itself, since `preexec_fn` is not safe beside threads, and Ray's workers have many.
_ROW = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
if os.getppid() != int(sys.argv.pop(1)):
    sys.exit("whoever started this row has gone")
from srm.cli import main
sys.exit(main())
"""


class OnRay:
    """A Ray cluster. Rows run in scratch folders on its nodes, where `srm` must be installed.

    Ray runs a row again whose node has died. What the row has saved is sent to the starter now and then, and whoever runs it next
    fetches it from there, so that it goes on from the last copy.
    """

    slots = sys.maxsize  # Ray keeps the queue, and knows which nodes come and go

    def __init__(self, address: str | None = None, every: float = 10.0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = require("ray", "--on ray", "util.scheduling_strategies")
        affinity: Any = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError) as error:
            raise RunError(f"--address {address}: no Ray cluster answers there ({error})") from None
        here = affinity(ray.get_runtime_context().get_node_id(), soft=False)
        keeper = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)(Keeper)
        self._ray, self._every = ray, every
        self._keeper = keeper.remote(Path.cwd())
        self._run = ray.remote(num_cpus=1, max_retries=-1)(run_away)
        self._rows: dict[Any, Row] = {}  # by the reference to their exit codes

    @property
    def running(self) -> frozenset[Row]:
        return frozenset(self._rows.values())

    def start(self, row: Row) -> None:
        given = {str(path): path.read_bytes() for word in row.words for path in _read_of(Path(word))}
        self._rows[self._run.remote(row, given, self._keeper, self._every)] = row

    def ended(self) -> list[tuple[Row, int]]:
        done, _ = self._ray.wait(list(self._rows), num_returns=len(self._rows), timeout=0) if self._rows else ([], [])
        return [(row, self._code(reference, row)) for reference, row in [(r, self._rows.pop(r)) for r in done]]

    def _code(self, reference: Any, row: Row) -> int:
        try:
            return int(self._ray.get(reference))
        except self._ray.exceptions.TaskCancelledError:
            return STOPPED
        except self._ray.exceptions.RayError as error:
            row.log.parent.mkdir(parents=True, exist_ok=True)
            with row.log.open("a") as file:
                file.write(f"{error}\n")
            return 1

    def stop(self) -> None:
        begun = self._ray.get(self._keeper.stop.remote())
        for reference, row in self._rows.items():
            if row.folder not in begun:
                self._ray.cancel(reference)

    def close(self) -> None:
        self._ray.shutdown()


class Keeper:
    """Lives beside the starter as a Ray actor: hands out what rows have saved, and writes what they send."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._writers: dict[Path, str] = {}  # who may write a folder: the last that fetched it
        self._stopping = False

    def fetch(self, row: Row, writer: str) -> dict[str, bytes] | None:
        """The files of a row by their place below its parent folder; None: it shall not begin."""
        if self._stopping:
            return None
        self._writers[row.folder] = writer
        (self._base / row.log).parent.mkdir(parents=True, exist_ok=True)
        (self._base / row.log).touch()
        return {name: content for name, _, content in _files(self._base, row)}

    def keep(self, row: Row, writer: str, names: list[str], changed: dict[str, bytes]) -> bool:
        """Makes a row's files those of `names`; whether it shall go on."""
        if self._writers.setdefault(row.folder, writer) != writer:
            return False  # its node was thought dead, and another has it now
        parent = (self._base / row.folder).parent
        for name, content in changed.items():
            (parent / name).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(parent / name, content)
        for name, _, _ in _files(self._base, row):
            if name not in names:
                (parent / name).unlink()
        if (self._base / row.folder / CONFIG).exists():  # an empty folder is not sent, and tells a run that can go on
            (self._base / row.folder / CHECKPOINTS).mkdir(exist_ok=True)
        return not self._stopping

    def stop(self) -> frozenset[Path]:
        """No row shall go on. Which have begun."""
        self._stopping = True
        return frozenset(self._writers)


def run_away(row: Row, given: Mapping[str, bytes], keeper: Any, every: float) -> int:
    """Runs a row on the node of a cluster. `given` are files of the starter that its command names."""
    writer = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="srm-") as scratch:
        root = Path(scratch)
        # Not `ray.get`: Ray takes a task that waits in it for idle, and gives its core to another row.
        saved = keeper.fetch.remote(row, writer).future().result()
        if saved is None:
            return STOPPED
        files = {_inside(path): content for path, content in given.items()}
        words = tuple(
            str(_inside(word)) if {_inside(word), _inside(word) / CONFIG} & {*files} else word for word in row.words
        )
        here = replace(row, words=words, folder=_inside(row.folder))
        files |= {here.folder.parent / name: content for name, content in saved.items()}
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        process = start_process(here, root)
        sent: dict[str, int] = {}
        asked = False
        try:
            while True:
                code = _wait(process, every)
                found = _files(root, here)
                changed = {name: content for name, stamp, content in found if sent.get(name) != stamp}
                sent = {name: stamp for name, stamp, _ in found}
                go_on = keeper.keep.remote(row, writer, list(sent), changed).future().result()
                if code is not None:
                    return code
                if not go_on and not asked:
                    process.send_signal(signal.SIGINT)
                    asked = True
        finally:
            process.kill()
            process.wait()


def _read_of(named: Path) -> list[Path]:
    """The files that a command reads of what it names: a file, or of a run its config and policy."""
    if named.is_file():
        return [named]
    return [named / CONFIG, policy_file(named)] if (named / CONFIG).is_file() else []


def _files(root: Path, row: Row) -> list[tuple[str, int, bytes]]:
    """What a row has written: its place below the parent folder, when, and the content.

    They are read against the order in which they must be written: the log before the checkpoints, none of which may be ahead of
    its curve, and last of all the summary, which says that the rest is there.
    """
    folder = root / row.folder
    rest = (path for path in sorted(folder.rglob("*")) if path.parent.name != CHECKPOINTS and path.name != SUMMARY)
    found: list[tuple[str, int, bytes]] = []
    for path in (folder / SUMMARY, *checkpoints(folder), *rest, root / row.log):
        try:
            if path.is_file() and not path.name.endswith(".part"):
                stamp = path.stat().st_mtime_ns
                found.insert(0, (str(path.relative_to(folder.parent)), stamp, path.read_bytes()))
        except FileNotFoundError:  # an old checkpoint has made room for a new one
            continue
    return found


def _inside(path: str | Path) -> Path:
    """The same path below a scratch folder."""
    return Path(*(part for part in Path(path).parts if part not in ("/", "..")))


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
