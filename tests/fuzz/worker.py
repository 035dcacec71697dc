"""Tries cases within limits, and prints a line before each and after: whoever began it knows at which it died.

python -m tests.fuzz.worker SEEDS FIRST STRIDE SECONDS CASES
"""

from __future__ import annotations

import re
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

from srm.errors import SrmError
from tests.fuzz.cases import TARGETS, damage

CPU_SECONDS, WALL_SECONDS = 10, 60  # of a case; the second is for one that waits, on a machine that may be busy
MOST_MEMORY = 1 << 30  # bytes beyond what the process had before


def attempt(seeds: Path, name: str, number: int) -> str:
    """`read`, `refused`, or what went wrong, in one line."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "case"
        damage(seeds, name, number, folder)
        try:
            TARGETS[name].read(folder)
        except SrmError:
            return "refused"
        except Exception as error:
            trace, frame = error.__traceback__, ""
            while trace:
                frame = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
                trace = trace.tb_next
            return f"defect {type(error).__name__} at {frame}: {' '.join(str(error).split())[:200]}"
    return "read"


def limit_memory() -> None:
    held = re.search(r"VmData:\s+(\d+)", Path("/proc/self/status").read_text())
    if held:  # Linux alone counts what is written to
        most = (int(held[1]) << 10) + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def main(seeds: Path, first: int, stride: int, seconds: float, cases: int) -> None:
    names, end = list(TARGETS), time.monotonic() + seconds
    limit_memory()
    for number in range(first, first + stride * cases, stride):
        if time.monotonic() > end:
            return
        name = names[number // stride % len(names)]
        print(f"{number}\t{name}", end="\t", flush=True)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # both signals end the process, within compiled code too
        signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
        print(attempt(seeds, name, number), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
