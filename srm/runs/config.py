"""Configs as JSON and back: frozen dataclasses of plain values, nested."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from srm.errors import RunError, SettingError, near
from srm.settings import UsualFloat, UsualInt

T = TypeVar("T")
_AGAIN = "it was cut short, or another version wrote it: make the run again"


def to_plain(config: Any) -> dict[str, Any]:
    """What `json` can write of a dataclass."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def from_plain(kind: type[T], values: Any, where: str) -> T:
    """The dataclass that `to_plain` was given. A field that it does not have is an error; one left out has its default, if any."""
    if not isinstance(values, Mapping):
        raise RunError(f"{where}: {_short(values)}, expected the fields of {kind.__name__}; {_AGAIN}")
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise RunError(f"{where}: {name} is not a field of this version{near(name, known)}")
    missing = [field.name for field in dataclasses.fields(kind) if _is_required(field) and field.name not in values]  # type: ignore[arg-type]
    if missing:
        raise RunError(f"{where}: has no {', '.join(missing)}; {_AGAIN}")
    read = {name: _read(hints[name], value, f"{where}: {name}") for name, value in values.items()}
    try:
        return kind(**read)
    except SettingError as problem:
        raise RunError(f"{where}: {problem}") from None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_plain(value)
    if isinstance(value, Path):
        return str(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _read(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _read(arguments[0], value, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, value, where)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = [argument for argument in arguments if argument is not type(None)]
        return _read(inner, value, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise RunError(f"{where}: {_short(value)}, expected one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise RunError(f"{where}: {_short(value)}, expected a list")
        inner = arguments[0] if arguments[1:] == (Ellipsis,) else Any
        return tuple(_read(inner, part, f"{where}[{place}]") for place, part in enumerate(value))
    if hint is float and type(value) is int:
        return float(value)
    kind = str if hint is Path else hint
    if kind in (bool, int, float, str) and type(value) is not kind and not isinstance(value, UsualInt | UsualFloat):
        raise RunError(f"{where}: {_short(value)}, expected {kind.__name__}")
    return Path(value) if hint is Path else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
