"""A process beside this one, which Ctrl-C does not reach: the one that was begun from the terminal tells it to stop."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess


def start_shielded(process: SpawnProcess) -> None:
    """Begins it with SIGINT blocked from its first moment on; it could not shield itself before it has imported everything."""
    resource_tracker.ensure_running()  # it would be begun by `start`, and then let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
