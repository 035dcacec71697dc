"""What kind of value stands where in the JSON of a run's folder, so that a page is made of a file that fits, or the file is refused.

str, NUMBER             a value of such a type      [kind]          a list of these
MAYBE(kind)             or null                     LONG(kind, 2)   a list of two of these or more
ONE_OF(words)           one of these                EACH(kind)      an object with any names
{"a": ..., "b?": ...}   an object with these names, and others; b may be left out
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from srm.machine.checks.core.report import SEVERITIES

NUMBER = (int, float)


class MAYBE(NamedTuple):
    kind: Any


class EACH(NamedTuple):
    kind: Any


class LONG(NamedTuple):
    kind: Any
    least: int


class ONE_OF(NamedTuple):
    words: tuple[str, ...]


STEP = {
    "node": str,
    "events?": [str],
    "rule?": MAYBE(str),
    "pay": str,
    "other_node?": MAYBE(str),
    "other_rule?": MAYBE(str),
    "other_pay?": MAYBE(str),
}
WITNESS = {
    "node?": MAYBE(str),
    "events?": [str],
    "counters?": EACH(NUMBER),
    "signals?": EACH(str),
    "assignment?": EACH(str),
    "atoms?": [str],
    "steps?": [STEP],
}
FINDING = {"severity": ONE_OF(SEVERITIES), "place": MAYBE(str), "message": str, "witness?": MAYBE(WITNESS)}
CHECK = {"errors": NUMBER, "warnings": NUMBER, "findings": [FINDING]}
EPISODE = {
    "kind": ONE_OF(("demonstration", "policy")),
    "number": NUMBER,
    "seed": NUMBER,
    "terminated": bool,
    "solved?": bool,
    "return": NUMBER,
    "pay": NUMBER,
    "actions": list,
    "holes": EACH(NUMBER),
    "rules": EACH(LONG(NUMBER, 2)),
}
EPISODES = {"actions": EACH(MAYBE(str)), "rules": EACH(str), "thresholds?": EACH(EACH(NUMBER)), "episodes": [EPISODE]}
HOLE = {"name": str, "value": NUMBER, "spread": MAYBE(NUMBER)}
INFERRED_HOLE = HOLE | {"quantiles": LONG(NUMBER, 2), "demonstrated": NUMBER, "played": NUMBER, "exercised": bool}
POSTERIOR = {
    "constraint": MAYBE(str),
    "margin": MAYBE(NUMBER),
    "quantiles": LONG(NUMBER, 2),
    "holes": [INFERRED_HOLE],
}
SAMPLED_POSTERIOR = {"constraint": MAYBE(str), "holes": [HOLE]}
SUMMARY = {
    "frames": NUMBER,
    "seconds": NUMBER,
    "return": MAYBE(NUMBER),
    "success": MAYBE(NUMBER),
    "length?": MAYBE(NUMBER),
    "episodes?": NUMBER,
    "solution?": MAYBE(dict),
    "solution_text?": str,
    "refined?": [str],
}
SUITE = {"title": str, "curves": EACH(str)}


SETTINGS = {
    "task?": str,
    "seed?": int,
    "stop_at?": MAYBE(NUMBER),
    "machine?": MAYBE(str),
    "reward?": str,
    "infer?": str,
    "learning?": dict,
}
CONFIG = {
    "versions?": dict,
    "env_id?": str,
    "envs?": MAYBE(str),
    "command?": MAYBE((str, list)),
    "training?": SETTINGS,
    "learning?": SETTINGS,
    "inference?": dict,
}


CHECKPOINT_STATE = {
    "round": int,
    "frames": int,
    "seconds?": NUMBER,
    "recent?": MAYBE([LONG(NUMBER, 2)]),
    "until?": int,
    "requested?": bool,
    "refined?": [str],
}


def misfits(kind: Any, value: Any, place: str = "") -> Iterator[str]:
    """The places at which a value is not of its kind."""
    match kind:
        case MAYBE(inner):
            if value is not None:
                yield from misfits(inner, value, place)
        case ONE_OF(words):
            if value not in words:
                yield place
        case EACH(inner) if isinstance(value, dict):
            for name, part in value.items():
                yield from misfits(inner, part, f"{place}.{ascii(name)[1:-1][:40]}")
        case LONG(inner, least) if isinstance(value, list) and len(value) >= least:
            yield from misfits([inner], value, place)
        case list() if isinstance(value, list):
            for index, part in enumerate(value):
                yield from misfits(kind[0], part, f"{place}[{index}]")
        case dict() if isinstance(value, dict):
            for name, part in kind.items():
                bare = name.removesuffix("?")
                if bare in value or bare == name:
                    yield from misfits(part, value.get(bare, ...), f"{place}.{bare}")
        case EACH() | LONG() | list() | dict():
            yield place
        case _:
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                yield place
