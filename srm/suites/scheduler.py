"""Starts the runs of a suite as slots get free and the machines they need are learnt."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from srm.errors import SrmError
from srm.suites.runs import Reached, SuiteRun, last_line, reached

REFUSED = 2  # exit code of a run that cannot go on, and was not interrupted

State = Literal["waiting", "queued", "running", "finished", "stopped", "failed", "blocked"]


class Executor(Protocol):
    """Executes runs at the same time, somewhere."""

    slots: int  # how many it takes at once

    @property
    def running(self) -> frozenset[SuiteRun]: ...

    def start(self, run: SuiteRun) -> None: ...

    def ended(self) -> list[tuple[SuiteRun, int]]:
        """Runs that have ended since the last call, with their exit codes."""

    def stop(self) -> None:
        """Makes all runs save where they are and end."""

    def close(self) -> None:
        """Ends what still runs, at once."""


@dataclass(frozen=True)
class RunProgress:
    run: SuiteRun
    state: State
    reached: Reached
    problem: str = ""  # why it failed, or what it waits for in vain

    @property
    def remaining(self) -> float | None:
        """Seconds to its end, at the speed so far."""
        if self.state != "running" or not self.reached.frames:
            return None
        return max(0, self.run.frames - self.reached.frames) * self.reached.seconds / self.reached.frames


class _Queue:
    def __init__(self, runs: Sequence[SuiteRun]) -> None:
        self.runs = {run.folder: run for run in runs}
        self.waiting = [run for run in runs if not run.finished]
        self.over = {run: RunProgress(run, "finished", reached(run)) for run in runs if run.finished}

    def end(self, run: SuiteRun, code: int, stopping: bool) -> None:
        stopped = stopping and code != REFUSED
        state: State = "finished" if run.finished else "stopped" if stopped else "failed"
        killed = f"killed by {signal.Signals(-code).name}; it printed last: " if code < 0 else ""
        self.over[run] = RunProgress(run, state, reached(run), killed + last_line(run) if state == "failed" else "")

    def startable(self) -> list[SuiteRun]:
        """Runs whose machine is there; those that wait for a failed one are given up."""
        ready = []
        for run in self.waiting:
            needed = self.runs[run.needs] if run.needs else None
            if needed is None or needed.finished:
                ready.append(run)
            elif needed in self.over:
                self.over[run] = RunProgress(run, "blocked", reached(run), f"needs what {needed} learns")
        self.waiting = [run for run in self.waiting if run not in self.over]
        return ready

    def start(self, run: SuiteRun, executor: Executor) -> None:
        self.waiting.remove(run)
        try:
            executor.start(run)
        except (SrmError, OSError) as problem:  # its folder cannot be read or written: the others go on
            self.over[run] = RunProgress(run, "failed", reached(run), str(problem))

    def progress(self, running: frozenset[SuiteRun]) -> tuple[RunProgress, ...]:
        return tuple(self.over.get(run) or self._progress(run, run in running) for run in self.runs.values())

    def _progress(self, run: SuiteRun, running: bool) -> RunProgress:
        state: State = "waiting" if not running else "running" if run.log.exists() else "queued"
        return RunProgress(run, state, reached(run))


def schedule(
    runs: Sequence[SuiteRun], executor: Executor, stopping: Callable[[], bool] = lambda: False, pause: float = 0.3
) -> Iterator[tuple[RunProgress, ...]]:
    """Yields the progress of all runs, again and again until none can be started any more.

    Once `stopping` returns True nothing begins, and the runs under way are made to save where they are.
    """
    queue = _Queue(runs)
    stopped = False
    try:
        while True:
            # Stop
            if stopping() and not stopped:
                executor.stop()
                stopped = True

            # Collect what has ended
            for run, code in executor.ended():
                queue.end(run, code, stopped)

            # Start what can be started
            if not stopped:
                for run in queue.startable()[: max(0, executor.slots - len(executor.running))]:
                    queue.start(run, executor)

            yield queue.progress(executor.running)
            if not executor.running and (stopped or not queue.waiting):
                return
            time.sleep(pause)
    finally:
        executor.close()
