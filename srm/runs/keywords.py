"""Configs from keywords, as Python has them, where the command line has flags.

frames=300_000                   a field
learner="agac"                   a field of a part whose flags have no prefix: `--learner`
ppo={"discount": 0.98}           fields of a named part: `--ppo.discount`; the part itself (`PpoConfig(...)`) does as well
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from srm.errors import RunError, SettingError, near
from srm.runs.config import from_plain, to_plain

T = TypeVar("T")


def configured(kind: type[T], keywords: Mapping[str, Any], where: str) -> T:
    """The config of these keywords. One that it does not know, or of another type, is refused by name."""
    left = {name: _plain(value) for name, value in keywords.items()}
    nested = _nested(kind, left)
    if left:
        name, known = next(iter(left)), _names(kind)
        raise SettingError(
            f"{where}: there is no setting {name}{near(name, known) or f'; there are {known_text(known)}'}"
        )
    try:
        return from_plain(kind, nested, where)
    except RunError as problem:
        raise SettingError(str(problem)) from None


def known_text(names: list[str]) -> str:
    return ", ".join(sorted(names))


def _nested(kind: Any, left: dict[str, Any]) -> dict[str, Any]:
    """The keywords as the config nests them; those that are used are taken out of `left`."""
    values = {}
    for name, part in _parts(kind):
        if name in left:
            values[name] = left.pop(name)
        elif part is not None:
            values[name] = _nested(part, left)
    return values


def _names(kind: Any) -> list[str]:
    return [known for name, part in _parts(kind) for known in ([name] if part is None else _names(part))]


def _parts(kind: Any) -> list[tuple[str, Any]]:
    """Each field with, where its own fields have flags without a prefix, what it is."""
    hints = typing.get_type_hints(kind, include_extras=True)
    listed = []
    for field in fields(kind):
        hint = hints[field.name]
        marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
        unnamed = any(getattr(mark, "name", None) == "" for mark in marks)
        listed.append((field.name, typing.get_args(hint)[0] if unnamed else None))
    return listed


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value
