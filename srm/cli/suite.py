"""`srm suite`: a whole comparison with one command."""

from __future__ import annotations

import io
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from srm.cli import parse
from srm.errors import RunError, SrmError
from srm.extras import require
from srm.interrupt import stop_on_interrupt
from srm.suites.local import LocalProcesses
from srm.suites.runs import SuiteRun, claimed, runs_of
from srm.suites.scheduler import Executor, RunProgress, schedule
from srm.suites.shipped import SUITES, find_suite
from srm.suites.suite import LEARNT, MOST_SEEDS, Suite

STYLES = {"running": "bold", "finished": "green", "failed": "red", "blocked": "red", "stopped": "yellow"}
EVERY = 20.0  # seconds between two lines where there is no terminal


@dataclass(frozen=True)
class RunSuite:
    """run every curve of a comparison with every seed, side by side; the same command again goes on where it was"""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME|FILE")] = ""
    """a suite that ships, or a TOML file of your own; none: list them"""
    seeds: int | None = None
    """runs for each curve; the suite's own number unless given"""
    first_seed: int | None = None
    """the seed of each curve's first run, which the others follow; the suite's own unless given"""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="CURVE")] = ()
    """run only these curves, and those whose machines they need"""
    task: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODULE:NAME")] = ()
    """the tasks of your own that the file may ask for; naming one runs its code"""
    scale: float = 1.0
    """multiply the frames of every run"""
    cores: int = 0
    """runs at the same time on this machine; 0: as many as there are cores"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the runs; runs/NAME unless given, runs/NAME-xSCALE if scaled"""
    listed: Annotated[bool, tyro.conf.arg(name="list")] = False
    """only print the curves, their commands and how many runs are finished"""
    on: Literal["local", "ray"] = "local"
    """processes of this machine, or a Ray cluster"""
    address: str | None = None
    """of the Ray cluster; unless given, the one this machine belongs to, or one that is started here"""
    storage: str | None = None
    """where Ray Tune keeps what runs have saved: a folder that every node sees, or an address as s3://BUCKET/FOLDER; -o unless given"""

    def run(self) -> int:
        if not self.name:
            print(list_suites())
            return 0
        if self.seeds is not None and not 1 <= self.seeds <= MOST_SEEDS:
            raise RunError(f"--seeds {self.seeds}: at least one is needed, and at most {MOST_SEEDS:,}")
        if self.first_seed is not None and self.first_seed < 0:
            raise RunError(f"--first-seed {self.first_seed}: give a number that is 0 or more")
        suite = find_suite(self.name, self.task).scaled(self.scale)
        if self.first_seed is not None:
            suite = replace(suite, first_seed=self.first_seed)
        if self.cores < 0:
            raise RunError(f"--cores {self.cores}: runs at the same time; 0 for as many as there are cores")
        for flag, value in (("--address", self.address), ("--storage", self.storage)):
            if value is not None and self.on != "ray":
                raise RunError(f"{flag} {value} would change nothing: it needs --on ray; give that, or leave it out")
        out = self.out or Path("runs") / (suite.name + (f"-x{self.scale:g}" if self.scale != 1 else ""))
        chosen = suite.only(self.only) if self.only else suite
        runs = runs_of(chosen, out, suite.seeds if self.seeds is None else self.seeds)
        refuse_unfit(chosen)
        if self.listed:
            print(list_curves(chosen, runs))
            return 0
        with claimed(suite, out):
            return self._schedule(runs, out)

    def _schedule(self, runs: tuple[SuiteRun, ...], out: Path) -> int:
        progress: tuple[RunProgress, ...] = ()
        with (
            stop_on_interrupt("when every run has saved where it is") as stopping,
            display(sys.stderr.isatty()) as show,
        ):
            for progress in schedule(runs, self._executor(out), stopping):
                show(progress)
            stopped = stopping()
        for each in progress:
            if each.problem:
                print(f"{each.run} {each.state}: {each.problem} ({each.run.log})", file=sys.stderr)
        print(f"{out}: {format_counts(progress)}")
        if stopped:
            print(f"go on with: {self._again()}", file=sys.stderr)
            return 130
        return 0 if all(each.state == "finished" for each in progress) else 1

    def _executor(self, out: Path) -> Executor:
        if self.on == "local":
            return LocalProcesses(self.cores)
        require("ray", "--on ray", "tune")
        from srm.suites.cluster import RayTune

        return RayTune(self.storage or out.absolute(), self.address)

    def _again(self) -> str:
        words = ["srm", "suite", self.name]
        for flag, value in (
            ("--seeds", self.seeds),
            ("--first-seed", self.first_seed),
            ("--scale", None if self.scale == 1 else self.scale),
            ("--cores", self.cores or None),
            ("-o", self.out),
            ("--on", None if self.on == "local" else self.on),
            ("--address", self.address),
            ("--storage", self.storage),
        ):
            words += [] if value is None else [flag, str(value)]
        several = [["--only", *self.only] if self.only else [], ["--task", *self.task] if self.task else []]
        return shlex.join(sum(several, words))


def refuse_unfit(suite: Suite) -> None:
    """Reads each command as the command line would, and the files that it names, without running it.

    Commands that differ in nothing but whose machine or policy they take are read once: the large suites have half as many, at a tenth of a second each.
    """
    from srm.runs.inputs import refuse_unreadable  # loads torch

    alike = {
        tuple(LEARNT if word.startswith(LEARNT) else word for word in curve.words): curve
        for curve in suite.curves.values()
    }
    for curve in alike.values():
        try:
            with redirect_stdout(io.StringIO()):
                parsed = parse(curve.verb, curve.words[1:])
            settings = parsed.training if curve.verb == "train" else parsed.learning
            if "--from-run" in curve.learnt:
                settings = replace(settings, from_run=None)  # still to be trained
            refuse_unreadable(settings, machine_to_come="--reward" in curve.learnt)
        except SrmError as problem:
            raise RunError(f"suite {suite.name}: {curve}: {problem}") from None
        except SystemExit:
            raise RunError(f"suite {suite.name}: {curve}: it asks for help; leave that out") from None


def list_suites() -> str:
    lines = []
    for suite in SUITES.values():
        count = len(suite.curves) * suite.seeds
        lines.append(f"{suite.name}\n    {suite.title}")
        lines.append(f"    {len(suite.curves)} curves, {count} runs, {suite.frames / 1e6:,.0f} million frames")
    return "\n".join([*lines, "", "`srm suite NAME --list` prints the commands; `srm suite FILE.toml` runs your own."])


def list_curves(suite: Suite, runs: tuple[SuiteRun, ...]) -> str:
    finished = Counter(run.curve for run in runs if run.finished)
    seeds = len(runs) // len(suite.curves)
    width = max(map(len, suite.curves))
    lines = [suite.title, ""]
    lines += [f"{name:<{width}}  {finished[name]}/{seeds}  srm {curve.command}" for name, curve in suite.curves.items()]
    return "\n".join(lines)


def format_counts(progress: tuple[RunProgress, ...]) -> str:
    counts = Counter(each.state for each in progress)
    return f"{len(progress)} runs: " + ", ".join(f"{count} {state}" for state, count in counts.most_common())


@contextmanager
def display(live: bool) -> Iterator[Callable[[tuple[RunProgress, ...]], None]]:
    """A table of all runs on a terminal; elsewhere a line when a run begins or ends, and now and then."""
    if not live:
        yield _lines()
        return
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4) as table:
        yield lambda progress: table.update(picture(progress, console.height - 4))


def picture(progress: tuple[RunProgress, ...], most: int) -> Group:
    """Every run, or, if they are too many, those that matter now."""
    order = ("failed", "blocked", "running", "stopped", "queued", "finished", "waiting")
    first = progress
    if len(progress) > most:
        first = tuple(sorted(progress, key=lambda each: order.index(each.state))[: max(1, most)])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("curve", "seed", "state"):
        table.add_column(heading)
    for heading in ("frames", "of", "return", "left"):
        table.add_column(heading, justify="right")
    for each in first:
        table.add_row(
            each.run.curve,
            str(each.run.seed),
            Text(each.state, style=STYLES.get(each.state, "dim")),
            f"{each.reached.frames:,}" if each.reached.frames else "",
            f"{each.run.frames:,}",
            _number(each.reached.mean_return),
            "" if each.remaining is None else _duration(each.remaining),
        )
    return Group(table, Text(format_counts(progress), style="dim"))


def _lines() -> Callable[[tuple[RunProgress, ...]], None]:
    known: dict[SuiteRun, str] = {}
    last = time.monotonic()

    def show(progress: tuple[RunProgress, ...]) -> None:
        nonlocal last
        first = not known
        for each in progress:
            if known.get(each.run) != each.state and not (first and each.state in ("finished", "waiting")):
                problem = f": {each.problem}" if each.problem else ""
                frames, mean = each.reached.frames, _number(each.reached.mean_return)
                at = f" at {frames:,} frames, return {mean}" if frames else ""
                print(f"{each.run} {each.state}{at}{problem}", file=sys.stderr, flush=True)
            known[each.run] = each.state
        if first or time.monotonic() - last >= EVERY:
            last = time.monotonic()
            remaining = max((each.remaining or 0 for each in progress), default=0)
            more = f"; those running take {_duration(remaining)} more" if remaining else ""
            print(format_counts(progress) + more, file=sys.stderr, flush=True)

    return show


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
