"""Ctrl-C, for everything that runs long."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_on_interrupt(when: str = "after this round") -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C is only told, for the caller to stop when it can; a second one does not wait."""
    asked = False

    def handle(*_: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print(f"stopping {when}; once more to stop at once", file=sys.stderr)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
