"""Demonstrations in a style: by the expert of that name, or by one whose actions are random now and then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from srm.domains.base import Expert, Task
from srm.domains.record import record
from srm.errors import TaskError, near
from srm.trajectory import Demonstrations


def record_in_style(
    task: Task, styles: Mapping[str, Expert], count: int, seed: int, *, habit: str | None, noise: float
) -> Demonstrations:
    """`count` episodes that succeed, in the style of that name or by the task's expert; a share `noise` of the actions is random."""
    if habit is not None and habit not in styles:
        raise TaskError(
            f"{task.name}: there is no style {habit}; choose one of {', '.join(styles)}{near(habit, styles)}"
        )
    return record(task if habit is None else replace(task, expert=styles[habit]), count, seed, noise=noise)
