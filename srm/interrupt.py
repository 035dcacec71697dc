"""Ctrl-C, for everything that runs long."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_on_interrupt(when: str = "after this round") -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C only prints a line, for the caller to stop when it can; a second one does not wait.

    Signals reach the main thread alone: in any other nothing is caught, and nothing needs to be.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def handle(*_: Any) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        print(f"stopping {when}; once more to stop at once", file=sys.stderr)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
