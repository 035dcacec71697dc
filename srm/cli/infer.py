"""`srm infer`: what demonstrations say of a machine's holes, in seconds. Nothing is trained."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from srm.experiment.origin import envs_line, stepped_by
from srm.experiment.posterior import Inference, free_folder, infer_holes, read_inputs, write_inference
from srm.experiment.run import LEARNT, refuse_taken

if TYPE_CHECKING:
    from srm.experiment.posterior import Inputs
    from srm.infer.posterior.infer import Posterior
    from srm.infer.posterior.record import HoleRecord, Summary

PATIENCE = 2.0  # seconds until a reader wants to know that something is going on


@dataclass(frozen=True)
class Infer:
    """infer what each part of a task is worth from a few demonstrations, with intervals, and without training anything"""

    inference: Annotated[Inference, tyro.conf.arg(name="")] = field(default_factory=Inference)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """where the results are written; runs/TASK-MACHINE-infer-seedN unless given, with a number if that is taken"""

    def run(self) -> int:
        from srm.report.run.inference import write_posterior_report

        start, asked = time.monotonic(), self.inference
        inputs = read_inputs(asked)
        folder = self.out or free_folder(asked, inputs)
        refuse_taken(folder, resumable=False)
        with _patience(f"inferring {len(inputs.machine.holes)} holes of machine {inputs.machine.name} ..."):
            posterior = infer_holes(asked, inputs)
        print(envs_line(inputs.task.env_id, stepped_by(inputs.task)), file=sys.stderr)
        write_inference(folder, asked, inputs, posterior)
        page = write_posterior_report(folder)
        print("\n".join(lines(inputs, posterior)))
        print(f"\n{time.monotonic() - start:.1f} s\nmachine  {folder / LEARNT}\npage     {page}")
        return 0


@contextmanager
def _patience(text: str) -> Iterator[None]:
    """Prints a line where a task takes long."""
    timer = threading.Timer(PATIENCE, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def lines(inputs: Inputs, posterior: Posterior) -> Iterator[str]:
    """The result, for a reader in a terminal."""
    from srm.infer.posterior.store import summary_of

    summary = summary_of(posterior)
    if not summary.convergence.converged:
        yield f"has NOT converged: {_lacking(summary)}; give more --posterior.sweeps than {summary.convergence.sweeps}"
    held = f"constraint {summary.constraint}" if summary.constraint else "no constraint"
    yield (
        f"{summary.machine} under {held}, from {summary.demonstrations} demonstrations "
        f"({summary.demonstrated_steps} steps) in {inputs.demonstrations.env_id} and {summary.played_steps:,} steps of play"
    )
    yield ""
    yield from known_of(summary)


def known_of(summary: Summary) -> Iterator[str]:
    """A table of what is known of each hole, and what there is to say of the constraint."""
    yield from _table([_row(hole) for hole in summary.holes])
    yield from _about_constraint(summary)


def _lacking(summary: Summary) -> str:
    asked = summary.convergence
    parts = []
    apart = [h for h in summary.holes if h.r_hat is None or h.r_hat > asked.largest_r_hat]
    if apart:
        worst = max(apart, key=lambda h: float("inf") if h.r_hat is None else h.r_hat)
        r_hat = "infinite" if worst.r_hat is None else f"{worst.r_hat:.3f}"
        parts.append(f"R-hat of ?{worst.name} is {r_hat}, above {asked.largest_r_hat:g}")
    few = [h for h in summary.holes if h.effective is None or h.effective < asked.least_effective]
    if few:
        worst = min(few, key=lambda h: h.effective or 0.0)
        parts.append(
            f"?{worst.name} has {worst.effective or 0:.0f} independent draws, below {asked.least_effective:.0f}"
        )
    return ", ".join(parts)


HEADS = ("hole", "pays", "mean", "90 % interval", "ratio", "narrower", "set by")


def _row(hole: HoleRecord) -> tuple[str, ...]:
    ratio = "-" if hole.ratio is None else f"{hole.ratio:.2f}"
    digits = hole.decimals
    interval = f"{hole.low:6.{digits}f} to {hole.high:6.{digits}f}"
    pays, mean = f"{hole.value:.{digits}f}", f"{hole.mean:.{digits}f}"
    return f"?{hole.name}", pays, mean, interval, ratio, f"{100 * hole.narrower:.0f} %", hole.set_by


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    for row in (HEADS, *rows):
        cells = [
            cell.ljust(width) if place in (0, len(HEADS) - 1) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _about_constraint(summary: Summary) -> Iterator[str]:
    """What was added, what is pressed, what stays open."""
    if summary.added:
        yield "\nadded against farming"
        width = max(len(atom.text) for atom in summary.added)
        yield from (f"  {atom.text:<{width}}  {atom.label}" for atom in summary.added)
    if summary.pressed or summary.unproved or summary.unread:
        yield ""
    for atom in summary.pressed:
        yield f"the demonstrations press against {atom.text}: beyond it they would be {atom.gain:.1f} more likely (log-odds)"
    for sentence in summary.unproved:
        yield f"unproved: {sentence}"
    for name in summary.unread:
        yield f"nothing reads ?{name}: no rule pays it or compares with it, so its value means nothing"
