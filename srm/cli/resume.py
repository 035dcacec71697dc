"""Flags beside --resume: a run goes on as it was begun, so whatever else is given would be lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from shlex import join
from typing import Any, get_type_hints

from srm.errors import SettingError

HONOURED = ("--frames",)


def refuse_lost_flags(folder: Path, settings: Any, default: Any, out: Path | None) -> None:
    """`settings` and `default` are what is trained or learnt, as it was given and as it is when nothing is given."""
    lost = [flag for flag in _changed(settings, default) if flag not in HONOURED] + ["-o"] * (out is not None)
    if lost:
        raise SettingError(
            f"--resume {folder} goes on as the run was begun: leave {', '.join(lost)} out; "
            f"only {' and '.join(HONOURED)} may be given anew"
        )


def refuse_idle_task(task: str | None) -> None:
    if task is not None:
        raise SettingError(f"--task {task} would change nothing: it needs --resume; name the task to begin with first")


def again(verb: str, folder: Path, task: str) -> str:
    """The command that goes on with a run; a task of one's own has to be named in it."""
    return join(["srm", verb, "--resume", str(folder), *(["--task", task] if ":" in task else [])])


def _changed(settings: Any, default: Any, prefix: str = "--") -> Iterator[str]:
    """The flags of all fields that are not what they are when nothing is given, as tyro calls them."""
    hints = get_type_hints(type(settings), include_extras=True)
    for field in fields(settings):
        value, usual = getattr(settings, field.name), getattr(default, field.name)
        written = f"{prefix}{field.name.replace('_', '-')}"
        if is_dataclass(value):
            unnamed = any(getattr(part, "name", None) == "" for part in getattr(hints[field.name], "__metadata__", ()))
            yield from _changed(value, usual, prefix if unnamed else f"{written}.")
        elif value != usual:
            yield str(value) if field.name == "task" else written
