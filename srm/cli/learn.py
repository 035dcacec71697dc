"""`srm learn`: infer the holes of a machine from demonstrations while a policy is trained on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import tyro

from srm.cli.boards import Boards
from srm.cli.resume import again, refuse_idle_task, refuse_lost_flags
from srm.errors import RunError, tamed
from srm.interrupt import stop_on_interrupt
from srm.machine.language.parse import load
from srm.report.known import known_of
from srm.report.progress import shown_progress
from srm.report.run.learning import write_report
from srm.report.run.summary import read_summary
from srm.rl.episodes import of_few
from srm.rl.threads import one_thread
from srm.runs.folder import CHECK, LEARNT, POSTERIOR
from srm.runs.learning_settings import Learning, learning_of
from srm.runs.origin import envs_line
from srm.runs.records import SAMPLED, read_record
from srm.runs.run import Run


@dataclass(frozen=True)
class Learn:
    """infer what each part of a task is worth from a few demonstrations, and train a policy on it"""

    learning: Annotated[Learning, tyro.conf.arg(name="")] = field(default_factory=Learning)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder of the run; runs/TASK-MACHINE-LEARNER-NET-SEED unless given, with the net only if it was chosen, and with a number if that is taken"""
    resume: Path | None = None
    """go on with this run from its last checkpoint; --frames may ask for more than it was begun with"""
    task: Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")] = None
    """with --resume: the run's task, if it is one of your own; naming it runs its code"""
    boards: Annotated[Boards, tyro.conf.arg(name="")] = field(default_factory=Boards)

    @one_thread()
    def run(self) -> int:
        self.boards.refuse_missing()
        run = self._begin()
        folder = run.folder
        print(envs_line(run.task.env_id, run.stepped_by), file=sys.stderr)
        with ExitStack() as stack:
            is_stopped = stack.enter_context(stop_on_interrupt())
            show = stack.enter_context(shown_progress())
            log = stack.enter_context(self.boards.open(folder))
            run.play(is_stopped, show, log)
        if is_stopped():
            run.close()
            values = "of its earlier end" if (folder / POSTERIOR).exists() else "known so far"
            print(
                f"stopped at {run.learner.frames} frames; the values {values} are in {folder / LEARNT}; "
                f"go on with: {again('learn', folder, run.settings.task)}",
                file=sys.stderr,
            )
            return 130
        print("writing what was learnt, and the report of it ...", file=sys.stderr)
        summary = run.finish()
        page = write_report(folder)
        print(load(folder / LEARNT))
        for line in _known(folder / POSTERIOR):
            print(line)
        for finding in (read_record(folder / CHECK) or {})["findings"]:
            if finding["severity"] != "note":
                print(f"{finding['severity']}: {finding['place']}: {finding['message']}")
        reached = summary["return"]
        outcome = "no episode ended" if reached is None else f"return {reached:.3f}{of_few(summary['episodes'])}"
        print(f"{outcome} after {summary['frames']:,} frames and {summary['seconds']:.0f} s")
        for sentence in summary.get("refined", ()):
            print(f"refined: {tamed(sentence)}")
        if "solution_text" in summary:
            print(summary["solution_text"])
        print(f"machine  {folder / LEARNT}\nreport   {page}")
        return 0

    def _begin(self) -> Run:
        learning = self.learning
        if self.resume is not None:
            refuse_lost_flags(self.resume, learning, Learning(), self.out)
            learning_of(self.resume)  # refused if another verb began it
            return Run.resume(self.resume, learning.frames, self.task)
        refuse_idle_task(self.task)
        if not learning.task:
            raise RunError(
                "name the task to learn (`srm tasks` lists them; your own is PACKAGE.MODULE:NAME), or --resume RUN"
            )
        return Run.begin(learning, self.out or _folder(learning))


def _known(path: Path) -> Iterator[str]:
    """What a user should know of the values."""
    posterior = read_record(path) or {}
    if posterior["kind"] == SAMPLED:
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
    parts = [part.replace(":", ".") for part in (learning.task, machine, *learning.learner_names)]
    folder = Path("runs") / "-".join([*parts, f"seed{learning.seed}"])
    others = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())
