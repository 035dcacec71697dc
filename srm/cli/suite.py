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
from srm.experiment.conduct import RowStand, conduct
from srm.experiment.rows import Row, claimed, rows_of
from srm.experiment.scale import Executor, Local, OnRay
from srm.experiment.suite import Curve
from srm.experiment.suite import Suite as Plan
from srm.experiment.suites import SUITES, find_suite
from srm.interrupt import stop_on_interrupt

STYLES = {"running": "bold", "finished": "green", "failed": "red", "blocked": "red", "stopped": "yellow"}
EVERY = 20.0  # seconds between two lines where there is no terminal


@dataclass(frozen=True)
class Suite:
    """run every curve of a comparison with every seed, side by side; asked for again it goes on where it was"""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME|FILE")] = ""
    """a suite that ships, or a TOML file of your own; none: list them"""
    seeds: int | None = None
    """rows for each curve, with the seeds 0, 1, ...; what the suite says unless told"""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="CURVE")] = ()
    """run only these curves, and those whose machines they need"""
    scale: float = 1.0
    """multiply the frames of every row"""
    cores: int = 0
    """rows at the same time on this machine; 0: as many as there are cores"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the rows; runs/NAME unless told, runs/NAME-xSCALE if scaled"""
    listed: Annotated[bool, tyro.conf.arg(name="list")] = False
    """only tell the curves, their commands and how many rows are finished"""
    on: Literal["local", "ray"] = "local"
    """processes of this machine, or a Ray cluster"""
    address: str | None = None
    """of the Ray cluster; unless told, the one this machine belongs to, or one that is started here"""

    def run(self) -> int:
        if not self.name:
            print(tell_suites())
            return 0
        suite = find_suite(self.name).scaled(self.scale)
        seeds = suite.seeds if self.seeds is None else self.seeds
        if seeds < 1:
            raise RunError(f"--seeds {seeds}: at least one is needed")
        if self.cores < 0:
            raise RunError(f"--cores {self.cores}: rows at the same time; 0 for as many as there are cores")
        if self.address is not None and self.on != "ray":
            raise RunError(
                f"--address {self.address} would change nothing: it needs --on ray; give that, or leave it out"
            )
        out = self.out or Path("runs") / (suite.name + (f"-x{self.scale:g}" if self.scale != 1 else ""))
        chosen = suite.only(self.only) if self.only else suite
        rows = rows_of(chosen, out, seeds)
        for curve in chosen.curves.values():
            refuse_unfit(curve, suite.name)
        if self.listed:
            print(tell_curves(chosen, rows))
            return 0
        with claimed(suite, out):
            return self._conduct(rows, out)

    def _conduct(self, rows: tuple[Row, ...], out: Path) -> int:
        stands: tuple[RowStand, ...] = ()
        with stop_on_interrupt("when every row has saved where it is") as stopping, shown(sys.stderr.isatty()) as show:
            for stands in conduct(rows, self._executor(), stopping):
                show(stands)
            stopped = stopping()
        for stand in stands:
            if stand.told:
                print(f"{stand.row} {stand.state}: {stand.told} ({stand.row.log})", file=sys.stderr)
        print(f"{out}: {tell_counts(stands)}")
        if stopped:
            print(f"go on with: {self._again()}", file=sys.stderr)
            return 130
        return 0 if all(stand.state == "finished" for stand in stands) else 1

    def _executor(self) -> Executor:
        if self.on == "local":
            return Local(self.cores)
        return OnRay(self.address)

    def _again(self) -> str:
        words = ["srm", "suite", self.name]
        for flag, value in (
            ("--seeds", self.seeds),
            ("--scale", None if self.scale == 1 else self.scale),
            ("--cores", self.cores or None),
            ("-o", self.out),
            ("--on", None if self.on == "local" else self.on),
            ("--address", self.address),
        ):
            words += [] if value is None else [flag, str(value)]
        return shlex.join([*words, *(["--only", *self.only] if self.only else [])])


def refuse_unfit(curve: Curve, suite: str) -> None:
    """Reads a curve's command as the command line would, and the files that it names, without running it."""
    from srm.experiment.inputs import refuse_unreadable  # loads torch

    try:
        with redirect_stdout(io.StringIO()):
            parsed = parse(curve.verb, curve.words[1:])
        asked = parsed.training if curve.verb == "train" else parsed.learning
        if "--from-run" in curve.learnt:
            asked = replace(asked, from_run=None)  # still to be trained
        refuse_unreadable(asked, machine_to_come="--reward" in curve.learnt)
    except SrmError as problem:
        raise RunError(f"suite {suite}: {curve}: {problem}") from None
    except SystemExit:
        raise RunError(f"suite {suite}: {curve}: it asks for help; leave that out") from None


def tell_suites() -> str:
    lines = []
    for suite in SUITES.values():
        count = len(suite.curves) * suite.seeds
        lines.append(f"{suite.name}\n    {suite.title}")
        lines.append(f"    {len(suite.curves)} curves, {count} rows, {suite.frames / 1e6:,.0f} million frames")
    return "\n".join([*lines, "", "`srm suite NAME --list` tells the commands; `srm suite FILE.toml` runs your own."])


def tell_curves(suite: Plan, rows: tuple[Row, ...]) -> str:
    finished = Counter(row.curve for row in rows if row.finished)
    seeds = len(rows) // len(suite.curves)
    width = max(map(len, suite.curves))
    lines = [suite.title, ""]
    lines += [f"{name:<{width}}  {finished[name]}/{seeds}  srm {curve.command}" for name, curve in suite.curves.items()]
    return "\n".join(lines)


def tell_counts(stands: tuple[RowStand, ...]) -> str:
    counts = Counter(stand.state for stand in stands)
    return f"{len(stands)} rows: " + ", ".join(f"{count} {state}" for state, count in counts.most_common())


@contextmanager
def shown(live: bool) -> Iterator[Callable[[tuple[RowStand, ...]], None]]:
    """A table of all rows on a terminal; elsewhere a line when a row begins or ends, and now and then."""
    if not live:
        yield _lines()
        return
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4) as display:
        yield lambda stands: display.update(picture(stands, console.height - 4))


def picture(stands: tuple[RowStand, ...], most: int) -> Group:
    """Every row, or, if they are too many, those that matter now."""
    order = ("failed", "blocked", "running", "stopped", "queued", "finished", "waiting")
    if len(stands) > most:
        stands_shown = sorted(stands, key=lambda stand: order.index(stand.state))[: max(1, most)]
    else:
        stands_shown = list(stands)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("curve", "seed", "state"):
        table.add_column(heading)
    for heading in ("frames", "of", "return", "left"):
        table.add_column(heading, justify="right")
    for stand in stands_shown:
        got = stand.reached
        table.add_row(
            stand.row.curve,
            str(stand.row.seed),
            Text(stand.state, style=STYLES.get(stand.state, "dim")),
            f"{got.frames:,}" if got.frames else "",
            f"{stand.row.frames:,}",
            _number(got.mean_return),
            "" if stand.left is None else _duration(stand.left),
        )
    return Group(table, Text(tell_counts(stands), style="dim"))


def _lines() -> Callable[[tuple[RowStand, ...]], None]:
    known: dict[Row, str] = {}
    last = time.monotonic()

    def show(stands: tuple[RowStand, ...]) -> None:
        nonlocal last
        first = not known
        for stand in stands:
            if known.get(stand.row) != stand.state and not (first and stand.state in ("finished", "waiting")):
                told = f": {stand.told}" if stand.told else ""
                got = stand.reached
                at = f" at {got.frames:,} frames, return {_number(got.mean_return)}" if got.frames else ""
                print(f"{stand.row} {stand.state}{at}{told}", file=sys.stderr, flush=True)
            known[stand.row] = stand.state
        if first or time.monotonic() - last >= EVERY:
            last = time.monotonic()
            left = max((stand.left or 0 for stand in stands), default=0)
            print(
                tell_counts(stands) + (f"; those running take {_duration(left)} more" if left else ""),
                file=sys.stderr,
                flush=True,
            )

    return show


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
