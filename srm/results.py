"""What the front door returns: values that are read from memory or from a run's folder, print themselves, and draw themselves.

    PosteriorResult   what demonstrations say of a machine's holes
    RunResult         a run: its machine, posterior, policy, curve and summary

Both show HTML in a notebook (`_repr_html_`), text when printed, and give a Matplotlib figure (`plot`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srm.errors import RunError, one_line
from srm.infer.posterior.record import HoleRecord, Summary
from srm.infer.posterior.store import StoredDraws, read_draws, to_arviz
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.report.run.read import shown_config
from srm.runs.folder import DEMONSTRATIONS, DRAWS, LEARNT, LOG, MACHINE, POSTERIOR, SUMMARY, read_config
from srm.runs.given import resume_call
from srm.runs.log import Columns, read_log
from srm.runs.records import SAMPLED, read_record

if TYPE_CHECKING:
    from srm.domains.base import Task
    from srm.report.figure import ShownFigure
    from srm.report.html.markup import Markup
    from srm.runs.policy import Trained
    from srm.trajectory import Demonstrations


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorResult:
    """The posterior over a machine's holes. `machine` has the values that pay, and their spreads, written into it."""

    machine: Machine  # held to the constraint that every draw keeps, which is its first
    summary: Summary  # means, intervals, what set each hole, convergence
    draws: StoredDraws  # of the posterior [C, N, H] and of the prior [P, H]
    env_id: str  # where the demonstrations were recorded

    @property
    def values(self) -> dict[str, float]:
        """What each hole pays: the posterior's peak, with few decimals, inside the constraint."""
        return self.machine.values()

    @property
    def converged(self) -> bool:
        return self.summary.convergence.converged

    def __getitem__(self, hole: str) -> HoleRecord:
        """What is known of one hole: `posterior["goal"].mean`."""
        return {record.name: record for record in self.summary.holes}[hole.removeprefix("?")]

    def to_arviz(self) -> Any:
        """The draws for ArviZ: a chain for each ensemble, a variable for each hole."""
        return to_arviz(self.draws)

    def plot(self) -> ShownFigure:
        """A histogram for each hole, over the prior's outline."""
        from srm.report.plots import posterior_figure

        return posterior_figure(self.summary)

    def __str__(self) -> str:
        from srm.report.known import posterior_text

        return "\n".join(posterior_text(self.summary, self.env_id))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from srm.report.html.markup import tag
        from srm.report.known import evidence_text
        from srm.report.notebook import display
        from srm.report.run.posterior import posterior_sections, warning

        kept = self.machine.constraint() if self.summary.constraint is not None else None
        marginals, *others = posterior_sections(self.summary, self.machine, kept)
        return display(
            warning(self.summary),
            tag("p", evidence_text(self.summary, self.env_id), class_="outcome"),
            marginals.body,
            *(tag("details", tag("summary", section.title), section.body) for section in others),
            tag("details", tag("summary", "Machine with the inferred values"), _drawing(self.machine)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class RunResult:
    """A run of `learn` or `train`, as far as it got. Everything is read from its folder, when it is asked for."""

    folder: Path
    task: Task | None = None  # where Python handed it over; else the folder names it

    @staticmethod
    def read(folder: str | Path, task: Task | None = None) -> RunResult:
        """The run in a folder; `task` is needed if it is one of your own."""
        kind = read_config(Path(folder)).get("kind")
        if kind not in ("learn", "train"):
            raise RunError(f"{folder} is of `srm {one_line(kind)}`; give the folder of a run that learns or trains")
        return RunResult(Path(folder), task)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What was asked for, and the versions that did it."""
        return shown_config(self.folder)

    @property
    def summary(self) -> Mapping[str, Any] | None:
        """How it ended: return, success, frames, seconds. None: it has not ended; `srm.resume` goes on with it."""
        return read_record(self.folder / SUMMARY)

    @property
    def log(self) -> Columns:
        """One entry a round, by column; None where a value is not known."""
        return read_log(self.folder / LOG)

    @property
    def machine(self) -> Machine | None:
        """The machine with what was learnt or, before the end, the one that pays. None: the task's own reward pays."""
        path = next((path for path in (self.folder / LEARNT, self.folder / MACHINE) if path.exists()), None)
        return None if path is None else load(path)

    @property
    def demonstrations(self) -> Demonstrations | None:
        from srm.domains.demonstrations import load as load_demonstrations

        path = self.folder / DEMONSTRATIONS
        return load_demonstrations(path) if path.exists() else None

    @property
    def posterior(self) -> PosteriorResult | None:
        """None: nothing was inferred, or in a way that leaves no draws. `machine` has values and spreads all the same."""
        from srm.report.run.summary import read_summary, refuse_other_machine

        known = read_record(self.folder / POSTERIOR)
        if known is None or known.get("kind") != SAMPLED:
            return None
        summary, machine = read_summary(self.folder / POSTERIOR), load(self.folder / LEARNT)
        refuse_other_machine(self.folder, summary, machine)
        return PosteriorResult(machine, summary, read_draws(self.folder / DRAWS), str(self.config.get("env_id", "")))

    @property
    def policy(self) -> Trained:
        """What was trained, for `srm.evaluate`; of a run that has not ended, as in its last checkpoint."""
        from srm.runs.policy import read_policy

        return read_policy(self.folder, self.task)

    def plot(self) -> ShownFigure:
        """Return and success over frames and, where holes were inferred, each hole with its spread."""
        from srm.report.plots import learning_figure

        return learning_figure(self.log, self.folder.name, self._settings.get("stop_at"))

    @property
    def _settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.config["learning" if self.config["kind"] == "learn" else "training"]
        return settings

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        yield f"{self.folder}: {self._outcome()}"
        posterior = self.posterior
        if posterior is not None:
            from srm.report.known import known_of

            yield from ("", *known_of(posterior.summary))
        elif self.machine is not None:
            yield from ("", str(self.machine))
        if self.summary and "solution_text" in self.summary:
            yield from ("", str(self.summary["solution_text"]))

    def _outcome(self) -> str:
        summary = self.summary
        if summary is None:
            return f"has not ended; go on with {resume_call(self.folder, self._settings['task'])}"
        reached = "no episode ended" if summary["return"] is None else f"return {summary['return']:.3f}"
        return f"{reached} after {summary['frames']:,} frames and {summary['seconds']:.0f} s"

    def _repr_html_(self) -> str:
        from srm.report.html.markup import tag
        from srm.report.notebook import display, picture

        machine, report = self.machine, self.folder / "report.html"
        curve = picture(self.plot(), "Return over frames") if (self.folder / LOG).exists() else None
        page = tag("p", "The whole page: ", tag("code", str(report))) if report.exists() else None
        outcome = tag("p", tag("b", self.folder.name), f": {self._outcome()}", class_="outcome")
        return display(outcome, curve, None if machine is None else _drawing(machine), page)


def _drawing(machine: Machine) -> Markup:
    from srm.machine.drawing.draw import svg
    from srm.report.html.markup import Markup, tag

    return tag("div", Markup(svg(machine)), class_="scroll drawing")
