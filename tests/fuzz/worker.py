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
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import srm
from srm.errors import SrmError
from tests.fuzz.cases import TARGETS, make_case

CPU_SECONDS, WALL_SECONDS = 10, 600  # of a case; the second is for one that waits, on a machine that may be busy
MOST_MEMORY = 1 << 30  # bytes beyond what the process had before
PACKAGE = str(Path(srm.__file__).parent)


def attempt(seeds: Path, name: str, number: int) -> str:
    """`read`, `refused at` a function, or what went wrong, in one line."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "case"
        make_case(seeds, name, number, folder)
        return outcome(TARGETS[name].read, folder)


def outcome(read: Callable[[Path], object], folder: Path) -> str:
    try:
        with redirect_stderr(StringIO()):
            read(folder)
    except SrmError as error:
        first: BaseException = error
        while first.__cause__ or first.__context__:
            first = first.__cause__ or first.__context__ or first
        message = str(error)
        if not message.isprintable() and "\n    " not in message and not isinstance(error, srm.MachineError):
            return f"defect: not one line: {ascii(message)[:200]}"
        return f"refused at {_place(first)[1]}"
    except Exception as error:
        return f"defect {type(error).__name__} at {_place(error)[0]}: {ascii(' '.join(str(error).split()))[:200]}"
    return "read"


def _place(error: BaseException) -> tuple[str, str]:
    """The line that raised it, and the innermost function of the package on the way there."""
    trace, line, function = error.__traceback__, "", ""
    while trace:
        code = trace.tb_frame.f_code
        line = f"{code.co_filename}:{trace.tb_lineno}"
        if code.co_filename.startswith(PACKAGE):
            function = f"{code.co_filename.removeprefix(PACKAGE + '/')}:{code.co_qualname}"
        trace = trace.tb_next
    return line, function


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
