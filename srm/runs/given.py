"""What Python hands over to a run as objects, where the command line has names and paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from srm.domains.base import Task
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.machine.model import Machine
from srm.trajectory import Demonstrations


@dataclass(frozen=True, eq=False)
class Given:
    """None: what the settings name."""

    task: Task | None = None
    machine: Machine | None = None
    demonstrations: Demonstrations | None = None


def recorded_task(folder: Path, name: str) -> Task:
    """The task that a run's folder names. A `Task` that Python handed over has left only its name there."""
    try:
        return find_task(name)
    except TaskError as problem:
        again = (
            ""
            if ":" in name
            else "; if Python handed it over as a Task, do so again: srm.resume(RUN, task=TASK), srm.evaluate(RUN, TASK)"
        )
        raise TaskError(f"{folder}: {problem}{again}") from None


def resume_call(folder: Path, task: str) -> str:
    """The line of Python that goes on with a run of this task."""
    try:
        named = ":" in task or bool(find_task(task))
    except TaskError:
        named = False
    return f"srm.resume({str(folder)!r})" if named else f"srm.resume({str(folder)!r}, task=TASK)"
