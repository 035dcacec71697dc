"""What a number on the command line may be. A config checks its own when it is made, so nothing is begun with one that cannot work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from srm.errors import SettingError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C", bound="DataclassInstance")


def number_of(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{word} is no number") from None


def whole(word: str) -> int:
    """A whole number, of which 1e6 is one."""
    try:
        return int(word)
    except ValueError:
        number = number_of(word)
    if not number.is_integer():
        raise ValueError(f"{word} is no whole number")
    return int(number)


class UsualInt(int):
    """A default that has another value for some kinds of task. A flag, or a keyword of Python, gives a plain number in its place."""

    instead: Mapping[str, Any]


class UsualFloat(float):
    """The same of a number that need not be whole."""

    instead: Mapping[str, Any]


N = TypeVar("N", int, float)


def usual(value: N, **instead: Any) -> N:
    """The default of a setting, `value`, and what it is `instead` for the kinds of task so named."""
    default: Any = UsualInt(value) if isinstance(value, int) else UsualFloat(value)
    default.instead = instead
    return default


def settled(config: C, kinds: Collection[str]) -> C:
    """The config with every default as it is for these kinds of task, the first that a default knows."""
    changes = {}
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, UsualInt | UsualFloat):
            plain = int(value) if isinstance(value, int) else float(value)
            changes[field.name] = next((value.instead[kind] for kind in kinds if kind in value.instead), plain)
    return replace(config, **changes)


@dataclass(frozen=True)
class Range:
    meaning: str
    holds: Callable[[float], bool]  # of NaN never

    def refuse_outside(self, config: Any, prefix: str, *names: str) -> None:
        """Checks these fields of a config, whose flags are `prefix` and their names; None is no number and passes."""
        for name in names:
            value = getattr(config, name)
            if value is not None and not self.holds(value):
                raise SettingError(f"{prefix}{name.replace('_', '-')} {value}: give {self.meaning}")


NUMBER = Range("a number", lambda x: -inf < x < inf)
ZERO_OR_MORE = Range("a number that is 0 or more", lambda x: 0 <= x < inf)
ONE_OR_MORE = Range("a number that is 1 or more", lambda x: 1 <= x < inf)
AT_MOST_A_MILLION = Range("a number that is 1,000,000 at most", lambda x: x <= 1_000_000)
LAYER = Range(
    "a number that is 16,384 at most", lambda x: x <= 16_384
)  # weights between two such layers take a gigabyte
ABOVE_ZERO = Range("a number above 0", lambda x: 0 < x < inf)
SHARE = Range("a number from 0 to 1", lambda x: 0 <= x <= 1)
SHARE_BELOW_ONE = Range("a number from 0 to below 1", lambda x: 0 <= x < 1)
SHARE_ABOVE_ZERO = Range("a number above 0 that is at most 1", lambda x: 0 < x <= 1)
