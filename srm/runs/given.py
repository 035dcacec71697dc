"""What Python hands over to a run as objects, where the command line has names and paths."""

from __future__ import annotations

from dataclasses import dataclass

from srm.domains.base import Task
from srm.machine.model import Machine
from srm.trajectory import Demonstrations


@dataclass(frozen=True, eq=False)
class Given:
    """None: what the settings name."""

    task: Task | None = None
    machine: Machine | None = None
    demonstrations: Demonstrations | None = None
