"""What a run reads before it begins, and reads again when it is resumed: the machine that pays and the demonstrations, where there are any.

What is not there or does not fit is refused before anything runs.
"""

from __future__ import annotations

from pathlib import Path

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.runs import learning_settings, training
from srm.runs.folder import DEMONSTRATIONS, MACHINE
from srm.runs.given import Given
from srm.runs.learning_settings import Learning
from srm.runs.training import Training
from srm.trajectory import Demonstrations

Settings = Training | Learning


def read_inputs(settings: Settings, given: Given | None = None) -> tuple[Machine | None, Demonstrations | None]:
    if isinstance(settings, Learning):
        return learning_settings.read_inputs(settings, given)
    return training.read_inputs(settings, given)


def saved_inputs(folder: Path, settings: Settings, task: Task) -> tuple[Machine | None, Demonstrations | None]:
    """As the run in this folder keeps them."""
    machine = load(folder / MACHINE) if isinstance(settings, Learning) or settings.paid_by_machine else None
    if isinstance(settings, Learning) or settings.from_demonstrations:
        return machine, demos.load(folder / DEMONSTRATIONS, task)
    return machine, None


def refuse_unreadable(settings: Settings, *, machine_to_come: bool) -> None:
    """`machine_to_come`: the machine that pays is still to be learnt, so it cannot be read yet."""
    if isinstance(settings, Training) and machine_to_come:
        training.refuse_idle_flags(settings)
    else:
        read_inputs(settings)
