"""How many threads PyTorch computes with while a policy learns or plays: one.

Two threads wait for each other at every small product, and are 3 to 10 times slower where cores are shared. The number is a
setting of the whole process, so it is put back afterwards: whoever calls from Python keeps the setting they had.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_within = threading.local()  # .depth: how many blocks of this thread are open
_open = 0  # blocks of all threads
_outside = 0  # threads that PyTorch had before the first of them


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch has one thread within. Blocks may nest and may be open in several threads at once."""
    global _open, _outside
    depth = getattr(_within, "depth", 0)
    _within.depth = depth + 1
    if depth == 0:
        with _lock:
            if _open == 0:
                _outside = torch.get_num_threads()
            _open += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        _within.depth = depth
        if depth == 0:
            with _lock:
                _open -= 1
                torch.set_num_threads(_outside)  # of this thread; one that is still within keeps its own number
