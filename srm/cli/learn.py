"""`srm learn`: infer the holes of a machine from demonstrations while a policy is trained on it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from shlex import quote
from typing import Annotated

import torch
import tyro
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from srm.cli.boards import Boards
from srm.cli.infer import known_of
from srm.cli.interrupt import stop_on_interrupt
from srm.cli.resume import refuse_lost_flags
from srm.errors import RunError
from srm.experiment.learning_settings import Learning, learning_of
from srm.experiment.origin import envs_line
from srm.experiment.rule_rates import rates_text
from srm.experiment.run import CHECK, LEARNT, POSTERIOR
from srm.experiment.runner import Progress, Run
from srm.report.run.learning import write_report
from srm.report.run.summary import read_summary
from srm.train.episodes import of_few


@dataclass(frozen=True)
class Learn:
    """infer what each part of a task is worth from a few demonstrations, and train a policy on it"""

    learning: Annotated[Learning, tyro.conf.arg(name="")] = field(default_factory=Learning)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the run; runs/TASK-MACHINE-LEARNER-NET-SEED unless given, with a number if that is taken"""
    resume: Path | None = None
    """go on with this run from its last checkpoint; --frames may ask for more than it was begun with"""
    boards: Annotated[Boards, tyro.conf.arg(name="")] = field(default_factory=Boards)

    def run(self) -> int:
        torch.set_num_threads(1)  # two threads wait for each other at every small product
        self.boards.refuse_missing()
        run = self._begin()
        folder = run.folder
        print(envs_line(run.task.env_id, run.stepped_by), file=sys.stderr)
        with ExitStack() as stack:
            is_stopped = stack.enter_context(stop_on_interrupt())
            show = stack.enter_context(progress_shown(sys.stderr.isatty()))
            log = stack.enter_context(self.boards.open(folder))
            rounds = run.rounds()
            stack.callback(rounds.close)  # leaves a checkpoint, and what is known so far
            for progress in rounds:
                show(progress)
                log(progress)
                if is_stopped():
                    break
        if is_stopped():
            run.close()
            values = "of its earlier end" if (folder / POSTERIOR).exists() else "known so far"
            print(
                f"stopped at {run.learner.frames} frames; the values {values} are in {folder / LEARNT}; "
                f"go on with: srm learn --resume {quote(str(folder))}",
                file=sys.stderr,
            )
            return 130
        print("writing what was learnt, and the report of it ...", file=sys.stderr)
        summary = run.finish()
        page = write_report(folder)
        print((folder / LEARNT).read_text())
        for line in _known(folder / POSTERIOR):
            print(line)
        for finding in json.loads((folder / CHECK).read_text())["findings"]:
            if finding["severity"] != "note":
                print(f"{finding['severity']}: {finding['place']}: {finding['message']}")
        reached = summary["return"]
        ended = "no episode ended" if reached is None else f"return {reached:.3f}{of_few(summary['episodes'])}"
        print(f"{ended} after {summary['frames']:,} frames and {summary['seconds']:.0f} s")
        for sentence in summary.get("refined", ()):
            print(f"refined: {sentence}")
        if "solution_text" in summary:
            print(summary["solution_text"])
        print(f"machine  {folder / LEARNT}\nreport   {page}")
        return 0

    def _begin(self) -> Run:
        learning = self.learning
        if self.resume is not None:
            refuse_lost_flags(self.resume, learning, Learning(), self.out)
            learning_of(self.resume)  # refused if another verb began it
            return Run.resume(self.resume, learning.frames)
        if not learning.task:
            raise RunError("name the task to learn (`srm tasks` lists them), or --resume RUN")
        return Run.begin(learning, self.out or _folder(learning))


def _known(path: Path) -> Iterator[str]:
    """What a user should know of the values."""
    posterior = json.loads(path.read_text())
    if posterior["kind"] == "posterior":
        summary = read_summary(path)
        if not summary.convergence.converged:
            yield "the posterior has NOT converged: give more --posterior.sweeps"
        yield from known_of(summary)
        yield ""
        return
    for hole in posterior["holes"]:
        if not hole["exercised"]:
            yield f"?{hole['name']}: no step of the demonstrations or of the policy's episodes was paid by it"


def _folder(learning: Learning) -> Path:
    machine = Path(learning.machine).stem if learning.machine else "learn"
    parts = (learning.task.replace(":", "."), machine, learning.learning.learner, learning.learning.net)
    folder = Path("runs") / "-".join([*parts, f"seed{learning.seed}"])
    others = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())


@contextmanager
def progress_shown(live: bool) -> Iterator[Callable[[Progress], None]]:
    """The holes as they settle, on a terminal; elsewhere a line every ten seconds."""
    if not live:
        yield _lines()
        return
    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as display:
        yield lambda progress: display.update(picture(progress))


def picture(progress: Progress) -> Group:
    """Frames, return, rule rates, and every hole with its spread as a mark on a common scale."""
    row = progress.row
    seconds = max(0.0, progress.frames - row["frames"]) / max(progress.speed, 1e-9)
    head = Table.grid(padding=(0, 2))
    head.add_row(
        ProgressBar(total=progress.frames, completed=row["frames"], width=40),
        f"{row['frames']:,.0f} of {progress.frames:,} frames",
        f"{progress.speed:,.0f}/s",
        f"{seconds / 60:.0f} min {seconds % 60:02.0f} s left at most",
    )
    reached, success = (_number(row[name]) for name in ("return", "success"))
    holes = Table.grid(padding=(0, 1))
    widest = max(1e-9, *(abs(value) + spread for value, spread in progress.holes.values()))
    for name, (value, spread) in progress.holes.items():
        holes.add_row(f"?{name}", f"{value:+.2f}", f"± {spread:.2f}", _mark(value, spread, widest))
    rates = Text(rates_text(progress.milestones).strip())
    return Group(
        head, Text(f"return {reached}   success {success}{of_few(progress.counted)}", style="bold"), rates, holes
    )


def _mark(value: float, spread: float, widest: float, half: int = 20) -> Text:
    """The hole on a line from -widest to widest: `|` at nothing, a bar for the spread, a dot for the value."""

    def at(x: float) -> int:
        return max(0, min(2 * half, round(half + half * x / widest)))

    cells = [" "] * (2 * half + 1)
    for i in range(at(value - spread), at(value + spread) + 1):
        cells[i] = "─"
    cells[half] = "│"
    cells[at(value)] = "●"
    return Text("".join(cells), style="green" if value > 0 else "red" if value < 0 else "dim")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"


def _lines() -> Callable[[Progress], None]:
    last = float("-inf")

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < 10:
            return
        last = time.monotonic()
        row = progress.row
        seconds = max(0.0, progress.frames - row["frames"]) / max(progress.speed, 1e-9)
        holes = "  ".join(f"{name} {value:+.2f}" for name, (value, _) in progress.holes.items())
        print(
            f"{row['frames']:.0f}/{progress.frames} frames  {progress.speed:.0f}/s  return {_number(row['return'])}"
            f"{of_few(progress.counted)}{rates_text(progress.milestones)}  {seconds:.0f} s left at most  {holes}",
            file=sys.stderr,
            flush=True,
        )

    return show
