"""The tasks of driving and their environments. Data only: what a row calls is imported when it is called."""

from __future__ import annotations

from typing import Any

from srm.domains.base import Task
from srm.domains.control.highway.expert import STYLES
from srm.domains.control.highway.vocabulary import HIGHWAY_READER, HIGHWAY_WORDS, MERGE_READER
from srm.domains.words import WordReader
from srm.trajectory import Trajectory, as_rollout

STYLE = "cautious"  # of the expert that shows how it is done unless another is asked for


def _driving_task(name: str, reader: WordReader, end: str, **row: Any) -> Task:
    def ended(trajectory: Trajectory) -> bool:
        """As it should."""
        return bool((reader.read(as_rollout([trajectory])).event == HIGHWAY_WORDS.event_index[end]).any())

    return Task(
        name=name,
        vocabulary=HIGHWAY_WORDS,
        event_reader=lambda: reader,
        machines=(name,),
        expert=STYLES[name][STYLE],
        frames=200_000,
        success=ended,
        **row,
    )


TASKS = (
    _driving_task(
        "highway",
        HIGHWAY_READER,
        "survive",
        meaning="drive on a road of three lanes among slower cars until the time is over",
        env_id="highway-fast-v0",
    ),
    _driving_task(
        "merge",
        MERGE_READER,
        "arrive",
        meaning="pass a ramp from which a car comes in, and come to the end of the road",
        env_id="merge-v0",
    ),
)

ENVIRONMENTS = {task.name: (task.env_id,) for task in TASKS}
