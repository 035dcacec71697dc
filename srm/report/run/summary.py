"""posterior.json, read whole or refused by name."""

from __future__ import annotations

import json
import math
from pathlib import Path

from srm.errors import RunError
from srm.infer.posterior.record import KIND, Summary
from srm.machine.model import Machine
from srm.runs.config import from_plain
from srm.runs.folder import LEARNT, POSTERIOR

AGAIN = "infer again with this version"


def read_summary(path: Path) -> Summary:
    """What posterior.json says; anything that this version would not write is refused."""
    try:
        content = json.loads(path.read_text(), parse_float=_finite, parse_constant=_finite)
    except (ValueError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise RunError(f"{path} cannot be read: {problem}; {AGAIN}") from None
    if not isinstance(content, dict) or content.pop("kind", None) != KIND:
        raise RunError(f"{path} is not a posterior; {AGAIN}")
    try:
        return from_plain(Summary, content, str(path))
    except RunError as problem:
        raise RunError(f"{problem}; {AGAIN}") from None


def refuse_other_machine(folder: Path, summary: Summary, machine: Machine) -> None:
    if tuple(hole.name for hole in summary.holes) != machine.hole_names:
        raise RunError(f"{folder}: {POSTERIOR} speaks of other holes than {LEARNT}; {AGAIN}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value
