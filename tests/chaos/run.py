"""`make chaos KILLS=n`: ends commands at random moments and goes on with each, until all have come to their end.

A command is begun, ended by SIGKILL, SIGTERM or SIGINT, and begun again as a user would, a few times in a row; then it may finish.
After each end and at the finish its folder is looked at (`whole.py`): no file is torn, no round is missing or doubled, nothing is lost
that was saved before the last checkpoint, nothing that it had started is still there, and it printed no traceback. At the finish what
is promised to be the same as in a run that nobody ended is the same.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import srm.cli.learn
import srm.cli.report
import srm.cli.suite
import srm.cli.train  # noqa: F401  imported once, here: a command that is begun is a fork, which takes no time
from srm.cli import main as srm_main
from srm.runs.folder import CONFIG, LOG, SUMMARY
from tests.chaos.whole import Saved, differing, lost, problems, runs_below

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MARK = "SRM_CHAOS"  # in the environment of all that is started
PATIENCE = 300.0  # seconds that a command may take to stop, on a busy machine
SMALL = "--ppo.num-envs 4 --ppo.num-steps 16 --ppo.epochs 1 --ppo.minibatches 2 --checkpoint-seconds 0.1".split()
COMMANDS = {
    "train": ["train", "DoorKey-5x5", "--frames", "20000", *SMALL],
    "train machine": ["train", "DoorKey-5x5", "--reward", "doorkey_handset", "--frames", "12000", *SMALL],
    "learn": ["learn", "DoorKey-5x5", "--cores", "1", "-n", "2", "--episodes", "1", "--frames", "6000", *SMALL],
    "learn two cores": [
        *("learn", "DoorKey-5x5", "--infer", "algorithm1", "--cores", "2", "-n", "2", "--episodes", "1"),
        *("--frames", "1500", *SMALL),
    ],
}
SUITE = "\n".join(
    [
        'title = "Two"\nseeds = 2\n[curves]',
        f'a = "train DoorKey-5x5 --frames 6000 {" ".join(SMALL)}"',
        f'b = "learn DoorKey-5x5 -n 2 --episodes 1 --frames 1500 {" ".join(SMALL)}"',
    ]
)


@dataclass
class Tally:
    """What happened so far."""

    kills: Counter[str] = field(default_factory=Counter)  # by command and signal
    finished: int = 0
    problems: list[str] = field(default_factory=list)


def begin(words: list[str], printed: Path) -> BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=_command, args=(words, printed), daemon=False)
    process.start()
    return process


def _command(words: list[str], printed: Path) -> None:
    os.setsid()
    os.environ[MARK] = str(printed)
    with printed.open("ab") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        faulthandler.register(signal.SIGUSR1, os.fdopen(os.dup(2), "w"), all_threads=True)
    for number in SIGNALS[1:]:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    os._exit(srm_main(words))


def finish(words: list[str], printed: Path) -> int:
    process = begin(words, printed)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def end_somewhere(process: BaseProcess, number: int, folder: Path, rng: random.Random) -> bool:
    """Sends a signal at a random moment; False: it had finished before. Half of the moments come after the folder has changed."""
    if rng.random() < 0.5:
        before = _stamp(folder)
        while _stamp(folder) == before and process.is_alive():
            time.sleep(0.002)
        process.join(rng.uniform(0, rng.choice((0.01, 0.1, 0.4))))
    else:
        process.join(rng.uniform(0, rng.choice((0.2, 1, 4))))
    if not process.is_alive():
        return False
    os.kill(process.pid or 0, number)
    process.join(PATIENCE)
    if process.is_alive():
        os.kill(process.pid or 0, signal.SIGUSR1)  # prints where it is
        time.sleep(1)
        process.kill()
        process.join()
        raise TimeoutError(f"{folder}: did not stop within {PATIENCE:.0f} s of signal {number}")
    return True


def _stamp(folder: Path) -> tuple[object, ...]:
    """Changes with every file that is written below."""
    stamps: list[object] = []
    for path in folder.rglob("*"):
        try:
            stamps.append((path, path.stat().st_mtime_ns))
        except OSError:
            continue  # it has gone since
    return tuple(stamps)


def left_over(printed: Path) -> Iterator[str]:
    """Processes that an ended command has left behind."""
    mark, end = f"{MARK}={printed}".encode(), time.monotonic() + 30
    while True:
        alive = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                ours = mark in (entry / "environ").read_bytes() and " Z " not in (entry / "stat").read_text()
            except OSError:
                continue
            if ours:
                alive.append(entry.name)
        if not alive or time.monotonic() > end:
            break
        time.sleep(0.1)
    yield from (f"process {pid} is left of {printed}" for pid in alive)


# Campaigns


def attack(
    name: str,
    again: Callable[[], list[str] | None],
    folder: Path,
    kills: int,
    tally: Tally,
    rng: random.Random,
    looked: Callable[[], list[str]] = list,
) -> int:
    """Ends a command so many times, goes on with it each time, and lets it finish. `again`: the words to begin it or to go on with; None:
    it has finished. Returns the round up to which nothing had been played again."""
    printed, untouched, ended = folder.with_name(f"{folder.name}.printed"), 1 << 40, 0
    before: dict[Path, Saved] = {}
    while (words := again()) is not None:
        process = begin(words, printed)
        number = SIGNALS[rng.randrange(len(SIGNALS))]
        try:
            stopped = ended < kills and end_somewhere(process, number, folder, rng)
        except TimeoutError as problem:
            stopped = True
            tally.problems.append(str(problem))
        if stopped:
            ended += 1
            tally.kills[f"{name} {signal.Signals(number).name}"] += 1
        else:
            process.join()
            if process.exitcode:
                tally.problems.append(f"{name}: {' '.join(words)} ended with {process.exitcode}: {_last(printed)}")
                break
        tally.problems += left_over(printed)
        tally.problems += problems(folder) if folder.exists() else []
        tally.problems += [problem for run, saved in before.items() for problem in lost(saved, run)]
        tally.problems += looked()
        before = {run: Saved.of(run) for run in runs_below(folder)} if folder.exists() else {}
        untouched = min([untouched, *(saved.round for saved in before.values())])
        if process.exitcode == 0 and (name == "suite" or (name == "report" and ended >= kills)):
            break  # a report can be written again, until it was ended often enough
    if "Traceback" in printed.read_text(errors="replace"):
        tally.problems.append(f"{name}: printed a traceback, in {printed}")
    tally.finished += 1
    return untouched


def _last(printed: Path) -> str:
    return printed.read_text(errors="replace").strip().rsplit("\n", 1)[-1]


def attack_run(name: str, scratch: Path, kills: int, tally: Tally, rng: random.Random) -> None:
    words, folder, reference = COMMANDS[name], scratch / "run", scratch.with_name(f"reference-{name.replace(' ', '-')}")
    if not reference.exists():
        assert finish([*words, "-o", str(reference)], scratch.with_name("reference.printed")) == 0

    def again() -> list[str] | None:
        if (folder / SUMMARY).exists():
            return None
        return [words[0], "--resume", str(folder)] if (folder / CONFIG).exists() else [*words, "-o", str(folder)]

    untouched = attack(name, again, folder, kills, tally, rng)
    tally.problems += differing(folder, reference, untouched) if (folder / LOG).exists() else [f"{folder} has no log"]
    if words[0] == "learn":
        assert finish(["report", str(folder)], scratch / "report.printed") == 0


def attack_suite(scratch: Path, kills: int, tally: Tally, rng: random.Random) -> None:
    file, folder, reference = scratch / "two.toml", scratch / "out", scratch.with_name("reference-suite")
    file.write_text(SUITE)
    if not reference.exists():
        assert finish(["suite", str(file), "-o", str(reference)], scratch.with_name("reference.printed")) == 0
    attack("suite", lambda: ["suite", str(file), "-o", str(folder)], folder, kills, tally, rng)
    runs = runs_below(folder)
    if len(runs) != 4:
        tally.problems.append(f"{folder} has {len(runs)} runs, expected 4")
    for run in runs:
        if not (run / SUMMARY).exists():
            tally.problems.append(f"{run} has not finished")
        if run.with_name(f"{run.name}.log").read_text().count("$ srm") == 1:  # nobody ended this one
            tally.problems += differing(run, reference / run.relative_to(folder))


def attack_report(scratch: Path, kills: int, tally: Tally, rng: random.Random) -> None:
    """The page of a run, the page that compares runs, and runs kept to be published."""
    runs = scratch.with_name("reference-suite")
    if not runs.exists():
        attack_suite(scratch, 0, tally, rng)
    folder = scratch / "runs"
    shutil.copytree(runs, folder)
    for words, page in (
        (["report", str(folder / "b" / "seed0")], folder / "b" / "seed0" / "report.html"),
        (["report", str(folder), "-o", str(folder / "report")], folder / "report" / "index.html"),
    ):
        assert finish(words, scratch / "report.printed") == 0
        expected = {path: path.read_bytes() for path in page.parent.rglob("*") if path.suffix in (".html", ".svg")}

        def looked(expected: dict[Path, bytes] = expected) -> list[str]:
            return [f"{path} is torn" for path, content in expected.items() if path.read_bytes() != content]

        attack("report", lambda words=words: words, folder, kills // 3, tally, rng, looked)  # type: ignore[misc]
    kept = scratch / "kept"

    def again() -> list[str] | None:
        shutil.rmtree(kept, ignore_errors=True)
        return ["report", str(folder), "--keep", str(kept)]

    def halves() -> list[str]:
        return [f"{run} is half a run" for run in runs_below(kept) if not (run / LOG).exists()] if kept.exists() else []

    attack("report", again, kept, kills - 2 * (kills // 3), tally, rng, halves)


def chaos(kills: int, seed: int, scratch: Path, only: tuple[str, ...] = (), a_row: int = 5) -> Tally:
    """Campaigns of `a_row` kills each, one kind after the other, until there were so many."""
    tally, rng = Tally(), random.Random(seed)
    kinds: dict[str, Callable[[Path, int], None]] = {
        **{name: lambda at, count, name=name: attack_run(name, at, count, tally, rng) for name in COMMANDS},  # type: ignore[misc]
        "suite": lambda at, count: attack_suite(at, count, tally, rng),
        "report": lambda at, count: attack_report(at, count, tally, rng),
    }
    chosen = [name for name in kinds if name in (only or kinds)]
    number = 0
    while tally.kills.total() < kills:
        name = chosen[number % len(chosen)]
        at = scratch / f"{number:03d}-{name.replace(' ', '-')}"
        at.mkdir()
        kinds[name](at, min(a_row, kills - tally.kills.total()))
        print(f"{name}: {tally.kills.total()} kills, {len(tally.problems)} problems", file=sys.stderr, flush=True)
        number += 1
    return tally


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=())
    settings = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        tally = chaos(settings.kills, settings.seed, Path(scratch), tuple(settings.only))
        for problem in tally.problems:
            print(problem)
        if tally.problems:
            shutil.copytree(scratch, Path("build") / "chaos", dirs_exist_ok=True)
    for what, count in sorted(tally.kills.items()):
        print(f"{what:<24} {count:>4}")
    minutes = (time.monotonic() - begun) / 60
    print(
        f"{tally.kills.total()} kills in {minutes:.0f} minutes, {tally.finished} commands finished, "
        f"{len(tally.problems)} problems"
    )
    return 1 if tally.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
