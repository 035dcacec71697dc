"""Demonstrations in a style, or by a driver whose hand slips."""

from __future__ import annotations

from dataclasses import replace

from srm.domains.base import Task
from srm.domains.control.highway.expert import STYLES
from srm.domains.record import record
from srm.errors import TaskError, near
from srm.trajectory import Demonstrations


def record_with(task: Task, count: int, seed: int, *, habit: str | None = None, noise: float = 0.0) -> Demonstrations:
    """`count` drives without a crash, in the style of that name or by the task's expert; a share `noise` of the actions is random."""
    styles = STYLES[task.name]
    if habit is not None and habit not in styles:
        raise TaskError(
            f"{task.name}: there is no style {habit}; choose one of {', '.join(styles)}{near(habit, styles)}"
        )
    return record(task if habit is None else replace(task, expert=styles[habit]), count, seed, noise=noise)
