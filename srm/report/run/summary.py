"""posterior.json, read whole or refused by name."""

from __future__ import annotations

from pathlib import Path

from srm.errors import RunError
from srm.infer.posterior.record import KIND, Summary
from srm.machine.model import Machine
from srm.runs.config import from_plain
from srm.runs.folder import LEARNT, POSTERIOR
from srm.runs.records import read_record

AGAIN = "infer again with this version"


def read_summary(path: Path) -> Summary:
    """What posterior.json says; anything that this version would not write is refused."""
    content = read_record(path, AGAIN)
    if content is None:
        raise RunError(f"{path} does not exist; {AGAIN}")
    if content.get("kind") != KIND:
        raise RunError(f"{path} is not a posterior; {AGAIN}")
    try:
        return from_plain(Summary, {name: value for name, value in content.items() if name != "kind"}, str(path))
    except RunError as problem:
        raise RunError(f"{problem}; {AGAIN}") from None


def refuse_other_machine(folder: Path, summary: Summary, machine: Machine) -> None:
    if tuple(hole.name for hole in summary.holes) != machine.hole_names:
        raise RunError(f"{folder}: {POSTERIOR} speaks of other holes than {LEARNT}; {AGAIN}")
