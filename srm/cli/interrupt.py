"""Ctrl-C, for everything that runs long."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_on_interrupt(when: str = "after this round") -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C only sets what is yielded, for the caller to stop when it can; a second one does not wait."""
    requested = False

    def handle(*_: Any) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        print(f"stopping {when}; once more to stop at once", file=sys.stderr)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, before)
