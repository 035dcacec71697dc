"""Runs of a suite as processes side by side on this machine.

Every run is `srm ...` in a process of its own with one thread. It dies with whoever started it, whatever kills that: a run that
nobody watches would go on writing a folder that the next `srm suite` takes up.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from srm.files import appending
from srm.suites.runs import SuiteRun, command_of

STOPPED = 130  # exit code of a run that was interrupted and has saved where it was


class LocalProcesses:
    """An executor: as many processes as there are cores."""

    def __init__(self, slots: int = 0) -> None:
        self.slots = slots or len(os.sched_getaffinity(0))
        self._processes: dict[SuiteRun, subprocess.Popen[bytes]] = {}

    @property
    def running(self) -> frozenset[SuiteRun]:
        return frozenset(self._processes)

    def start(self, run: SuiteRun) -> None:
        self._processes[run] = start_process(run, Path())

    def ended(self) -> list[tuple[SuiteRun, int]]:
        codes = [(run, code) for run, process in self._processes.items() if (code := process.poll()) is not None]
        for run, _ in codes:
            del self._processes[run]
        return codes

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()


def start_process(run: SuiteRun, root: Path) -> subprocess.Popen[bytes]:
    """Begins a run, or goes on with it, in the folder `root`; what it prints is added to its log."""
    log = root / run.log
    log.parent.mkdir(parents=True, exist_ok=True)
    command = command_of(run, root)
    with appending(log) as file:
        os.write(file, f"$ srm {shlex.join(command)}\n".encode())
        return subprocess.Popen(
            # -P: no module of the current folder stands in for one of Python's; a task of one's own is found there all the same
            [sys.executable, "-P", "-c", _RUN, str(os.getpid()), *command],
            cwd=root,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl-C reaches the suite alone, which interrupts each run once
        )


# `python -m srm` that the kernel kills with its parent, and that can be interrupted although Ray blocks this in all it starts. The
# run does so itself, since `preexec_fn` is not safe beside threads, and Ray's workers have many.
_RUN = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
if os.getppid() != int(sys.argv.pop(1)):
    sys.exit("whoever started this run has gone")
from srm.cli import main
sys.exit(main())
"""
