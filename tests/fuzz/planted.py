"""A worker whose readers have defects, one for each kind that a harness must notice: python -m tests.fuzz.planted ..., as the worker."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tests.fuzz import worker
from tests.fuzz.cases import TARGETS


def _raise(folder: Path) -> None:
    raise AttributeError(folder.name)


def _wait(folder: Path) -> None:
    while folder.exists():
        pass


def _fill(folder: Path) -> None:
    assert bytearray(2 << 30) is not None


if __name__ == "__main__":
    defects = dict(zip(("machine", "rival", "suite file"), (_raise, _wait, _fill), strict=True))
    planted = {name: replace(TARGETS[name], read=read) for name, read in defects.items()}
    TARGETS.clear()
    TARGETS.update(planted)
    worker.CPU_SECONDS = 1
    worker.main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
