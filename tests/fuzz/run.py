"""`make fuzz MINUTES=n`: tries cases on every core and keeps the files of those that fail in build/fuzz.

A case fails if anything but an SrmError leaves the reader, or if it ends its worker, which has limits of time and memory. A
worker that died is replaced, and goes on after the case that ended it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.cases import make_case, write_seeds

ROOT = Path(__file__).parents[2]
GATES = {  # the first thing that a reader does with a file: what is refused there gets no further
    *("files.py:opened", "files.py:read_whole", "files.py:parse_json", "files.py:_whole", "files.py:_finite"),
    *(
        "machine/language/source.py:source_of",
        "domains/scripts.py:import_script",
        "tensors.py:unpack",
        "suites/suite.py:read_suite",
    ),
    *("domains/demonstrations.py:_unpack", "domains/demonstrations.py:_read_arrays", "domains/demonstrations.py:load"),
}


@dataclass(frozen=True)
class Attempt:
    number: int
    target: str
    outcome: str  # `read`, `refused at ...`, or `defect ...`

    @property
    def is_defect(self) -> bool:
        return self.outcome.startswith("defect")

    @property
    def is_stopped_at_the_gate(self) -> bool:
        return self.outcome.removeprefix("refused at ") in GATES


def fuzz(
    seeds: Path, first: int, stride: int, seconds: float, cases: int, tried: Path, worker: str = "tests.fuzz.worker"
) -> list[Attempt]:
    """The cases first, first + stride, ...: as many as asked for, or as time allows. `tried`: a file that has a line for each."""
    end = time.monotonic() + seconds
    tried.parent.mkdir(parents=True, exist_ok=True)
    tried.write_text("")
    while len(attempts := _attempts(tried)) < cases and time.monotonic() < end:
        begin = first + stride * len(attempts)
        words = map(str, (seeds, begin, stride, end - time.monotonic(), cases - len(attempts)))
        with tried.open("a") as file:
            ended = subprocess.run(
                [sys.executable, "-m", worker, *words],
                cwd=ROOT,
                stdout=file,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            if ended.returncode == 0:
                break
            if len(_attempts(tried)) == len(attempts):
                raise RuntimeError(f"a worker could not begin: {ended.stderr[-2000:]}")
            file.write(f"defect: the worker ended with {ended.returncode}\n")
    return _attempts(tried)


def _attempts(tried: Path) -> list[Attempt]:
    lines = (line.split("\t") for line in tried.read_text().splitlines() if line.count("\t") == 2)
    return [Attempt(int(number), name, outcome) for number, name, outcome in lines]


def table(attempts: Iterable[Attempt]) -> Iterator[str]:
    """For each target, how far its inputs got."""
    by_target: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_target.setdefault(attempt.target, []).append(attempt)
    for target, tried in sorted(by_target.items()):
        places = Counter(attempt.outcome for attempt in tried if attempt.outcome.startswith("refused"))
        gate = sum(attempt.is_stopped_at_the_gate for attempt in tried)
        whole = sum(attempt.outcome == "read" for attempt in tried)
        yield (
            f"{target:<18} {len(tried):>8,} inputs: {gate:,} refused at the first look, "
            f"{places.total() - gate:,} further in, {whole:,} read; {len(places)} places"
        )


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
            each = [
                pool.submit(fuzz, seeds, settings.first + n, cores, seconds, 1 << 40, settings.out / f"tried-{n}.tsv")
                for n in range(cores)
            ]
            attempts = [attempt for future in each for attempt in future.result()]
        defects = [attempt for attempt in attempts if attempt.is_defect]
        for defect in defects:
            folder = settings.out / f"{defect.target.replace(' ', '-')}-{defect.number}"
            if not folder.exists():
                make_case(seeds, defect.target, defect.number, folder)
            print(f"{folder}: {defect.outcome}")
    print("\n".join(table(attempts)))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = f"{settings.minutes:g} minutes on {cores} cores, {(used.ru_utime + used.ru_stime) / 60:.0f} of the processor"
    print(f"{len(attempts):,} inputs in {took}, {len(defects)} defects")
    return 1 if defects else 0


if __name__ == "__main__":
    raise SystemExit(main())
