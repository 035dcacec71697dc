"""Hopper's task and its environment. Data only: what a row calls is imported when it is called."""

from __future__ import annotations

from srm.domains.base import EventReader, Task
from srm.domains.control.hopper.expert import STYLES
from srm.domains.control.hopper.vocabulary import HOPPER_READER, HOPPER_WORDS
from srm.trajectory import Trajectory

STYLE = "frugal"  # of the expert that shows how it is done unless another is asked for


def _reader() -> EventReader:
    return HOPPER_READER


def stood(trajectory: Trajectory) -> bool:
    """It did not fall before time ran out."""
    return not trajectory.terminated


TASKS = (
    Task(
        name="hopper",
        meaning="hop forward on one leg without falling",
        env_id="Hopper-v5",
        vocabulary=HOPPER_WORDS,
        event_reader=_reader,
        machines=("hopper",),
        expert=STYLES[STYLE],
        frames=1_000_000,
        success=stood,
    ),
)

ENVIRONMENTS = {task.name: (task.env_id,) for task in TASKS}
