"""LunarLander's tasks and their environments. Data only: what a row calls is imported when it is called."""

from __future__ import annotations

from typing import Any

from srm.domains.base import EventReader, Task
from srm.domains.control.lunarlander.expert import STYLES
from srm.domains.control.lunarlander.vocabulary import LANDER_READER, LANDER_WORDS
from srm.trajectory import Trajectory, as_rollout

STYLE = "gentle"  # of the expert that shows how it is done unless another is asked for


def _reader() -> EventReader:
    return LANDER_READER


def landed(trajectory: Trajectory) -> bool:
    """At rest between the flags."""
    return bool((LANDER_READER.read(as_rollout([trajectory])).event == LANDER_WORDS.event_index["land"]).any())


def _lander_task(**row: Any) -> Task:
    return Task(
        vocabulary=LANDER_WORDS,
        event_reader=_reader,
        machines=("lunarlander",),
        expert=STYLES[STYLE],
        frames=1_000_000,
        success=landed,
        **row,
    )


TASKS = (
    _lander_task(
        name="lunarlander",
        meaning="come down softly and upright, and rest between the flags",
        env_id="LunarLander-v3",
    ),
    _lander_task(
        name="lunarlander_continuous",
        meaning="the same with a main engine and two at the sides that are throttled",
        env_id="LunarLanderContinuous-v3",
    ),
)

ENVIRONMENTS = {task.name: (task.env_id,) for task in TASKS}
