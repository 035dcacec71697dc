"""posterior.json, read whole or refused by name."""

from __future__ import annotations

from pathlib import Path

from srm.errors import RunError
from srm.files import read_json
from srm.infer.posterior.record import KIND, Summary
from srm.machine.model import Machine
from srm.runs.config import from_plain
from srm.runs.folder import LEARNT, POSTERIOR

AGAIN = "infer again with this version"


def read_summary(path: Path) -> Summary:
    """What posterior.json says; anything that this version would not write is refused."""
    try:
        content = read_json(path)
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
