"""`make fuzz MINUTES=n`: tries cases on every core and keeps the files of those that fail in build/fuzz.

A case fails if anything but an SrmError leaves the reader, or if it ends its worker, which has limits of time and memory. A
worker that died is replaced, and goes on after the case that ended it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.cases import damage, write_seeds

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Attempt:
    number: int
    target: str
    outcome: str  # `read`, `refused`, or `defect ...`


def fuzz(seeds: Path, first: int, stride: int, seconds: float, cases: int) -> list[Attempt]:
    """The cases first, first + stride, ...: as many as asked for, or as time allows."""
    attempts: list[Attempt] = []
    end = time.monotonic() + seconds
    while len(attempts) < cases and time.monotonic() < end:
        begin = first + stride * len(attempts)
        words = map(str, (seeds, begin, stride, end - time.monotonic(), cases - len(attempts)))
        worker = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.worker", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        lines = [line.split("\t") for line in worker.stdout.splitlines() if line.count("\t") == 2]
        for number, name, outcome in lines:
            attempts.append(Attempt(int(number), name, outcome or f"defect: the worker ended with {worker.returncode}"))
        if worker.returncode == 0:
            break
        if not lines:
            raise RuntimeError(f"a worker could not begin: {worker.stderr[-2000:]}")
    return attempts


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument(
        "--first", type=int, default=1000, help="the number of the first case; tests have those below 1000"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    settings = parser.parse_args()
    cores, seconds = os.cpu_count() or 1, 60 * settings.minutes
    with tempfile.TemporaryDirectory() as scratch:
        seeds = Path(scratch) / "seeds"
        write_seeds(seeds)
        with ThreadPoolExecutor(cores) as pool:
            each = [pool.submit(fuzz, seeds, settings.first + core, cores, seconds, 1 << 40) for core in range(cores)]
            attempts = [attempt for future in each for attempt in future.result()]
        defects = [attempt for attempt in attempts if attempt.outcome.startswith("defect")]
        for defect in defects:
            folder = settings.out / f"{defect.target.replace(' ', '-')}-{defect.number}"
            if not folder.exists():
                damage(seeds, defect.target, defect.number, folder)
            print(f"{folder}: {defect.outcome}")
    for target, count in sorted(Counter(attempt.target for attempt in attempts).items()):
        refused = sum(attempt.outcome == "refused" for attempt in attempts if attempt.target == target)
        print(f"{target:<16} {count:>8,} inputs, {refused:,} refused")
    print(f"{len(attempts):,} inputs, {len(attempts) / seconds:.1f} a second, {len(defects)} defects")
    return 1 if defects else 0


if __name__ == "__main__":
    raise SystemExit(main())
