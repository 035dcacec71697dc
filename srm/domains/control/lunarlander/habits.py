"""Demonstrations in a style, or by a pilot whose hand slips."""

from __future__ import annotations

from dataclasses import replace

from srm.domains.base import Task
from srm.domains.control.lunarlander.expert import STYLES
from srm.domains.record import record
from srm.errors import TaskError, near
from srm.trajectory import Demonstrations


def record_with(task: Task, count: int, seed: int, *, habit: str | None = None, noise: float = 0.0) -> Demonstrations:
    """`count` episodes that land, flown in the style of that name or by the task's expert; a share `noise` of the actions is random."""
    if habit is not None and habit not in STYLES:
        raise TaskError(
            f"{task.name}: there is no style {habit}; choose one of {', '.join(STYLES)}{near(habit, STYLES)}"
        )
    return record(task if habit is None else replace(task, expert=STYLES[habit]), count, seed, noise=noise)
