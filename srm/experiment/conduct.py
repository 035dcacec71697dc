"""Runs the rows of a suite as places get free and the machines they need are learnt."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from srm.experiment.rows import Reached, Row, last_words, reached
from srm.experiment.scale import Executor

State = Literal["waiting", "queued", "running", "finished", "stopped", "failed", "blocked"]


@dataclass(frozen=True)
class RowStand:
    """Where a row stands."""

    row: Row
    state: State
    reached: Reached
    told: str = ""  # why it failed, or what it waits for in vain

    @property
    def left(self) -> float | None:
        """Seconds to its end, at the speed so far."""
        if self.state != "running" or not self.reached.frames:
            return None
        return max(0, self.row.frames - self.reached.frames) * self.reached.seconds / self.reached.frames


class _Work:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = {row.folder: row for row in rows}
        self.waiting = [row for row in rows if not row.finished]
        self.ended = {row: RowStand(row, "finished", reached(row)) for row in rows if row.finished}

    def end(self, row: Row, code: int, stopping: bool) -> None:
        state: State = "finished" if row.finished else "stopped" if stopping else "failed"
        killed = f"killed by {signal.Signals(-code).name}; it said last: " if code < 0 else ""
        told = killed + last_words(row) if state == "failed" else ""
        self.ended[row] = RowStand(row, state, reached(row), told)

    def startable(self) -> list[Row]:
        """Rows whose machine is there; those that wait for a failed one are given up."""
        ready = []
        for row in self.waiting:
            needed = self.rows[row.needs] if row.needs else None
            if needed is None or needed.finished:
                ready.append(row)
            elif needed in self.ended:
                self.ended[row] = RowStand(row, "blocked", reached(row), f"needs what {needed} learns")
        self.waiting = [row for row in self.waiting if row not in self.ended]
        return ready

    def stands(self, running: frozenset[Row]) -> tuple[RowStand, ...]:
        return tuple(self.ended.get(row) or self._stand(row, row in running) for row in self.rows.values())

    def _stand(self, row: Row, running: bool) -> RowStand:
        state: State = "waiting" if not running else "running" if row.log.exists() else "queued"
        return RowStand(row, state, reached(row))


def conduct(
    rows: Sequence[Row], executor: Executor, stopping: Callable[[], bool] = lambda: False, pause: float = 0.3
) -> Iterator[tuple[RowStand, ...]]:
    """Yields where all rows stand, again and again until none can be run any more.

    Once `stopping` says so nothing begins, and the rows under way are asked to save where they are.
    """
    work = _Work(rows)
    asked = False
    try:
        while True:
            if stopping() and not asked:
                executor.stop()
                asked = True
            for row, code in executor.ended():
                work.end(row, code, asked)
            if not asked:
                for row in work.startable()[: max(0, executor.slots - len(executor.running))]:
                    executor.start(row)
                    work.waiting.remove(row)
            yield work.stands(executor.running)
            if not executor.running and (asked or not work.waiting):
                return
            time.sleep(pause)
    finally:
        executor.close()
