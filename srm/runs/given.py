"""What Python hands over to a run as objects, where the command line has names and paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from srm.domains.base import Task
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.machine.model import Machine
from srm.trajectory import Demonstrations

if TYPE_CHECKING:
    from srm.rl.foreign import MakeLearner


@dataclass(frozen=True, eq=False)
class Given:
    """None: what the settings name."""

    task: Task | None = None
    machine: Machine | None = None
    demonstrations: Demonstrations | None = None
    policy: MakeLearner | None = None


def resume_call(folder: Path, task: str) -> str:
    """The line of Python that goes on with a run of this task."""
    own = f", task={task!r}" if ":" in task else ""
    if not own:
        try:
            find_task(task)
        except TaskError:  # a `Task` that Python handed over has left only its name
            own = ", task=TASK"
    return f"srm.resume({str(folder)!r}{own})"
