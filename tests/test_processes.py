from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

from srm.processes import start_shielded


def _outlive(pipe: Connection) -> None:
    pipe.send(os.getpid())
    pipe.send(pipe.recv())


def test_an_interrupt_does_not_reach_a_shielded_process_and_is_not_kept_from_this_one() -> None:
    context = multiprocessing.get_context("spawn")
    pipe, other_end = context.Pipe()
    process = context.Process(target=_outlive, args=(other_end,), daemon=True)
    start_shielded(process)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)  # while it imports
    other_end.close()
    assert pipe.recv() == process.pid
    os.kill(process.pid, signal.SIGINT)
    pipe.send("alive")
    assert pipe.recv() == "alive"
    process.join()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
