"""The JSON of a run and of a suite, read whole or refused by name: nobody else opens these files.

    summary.json   posterior.json   check.json   episodes.json   suite.json

config.json is read by `folder.read_config`. `kinds.py` says what stands where in each. What was read cannot be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from srm.errors import RunError
from srm.files import read_json
from srm.runs import kinds
from srm.runs.folder import CHECK, EPISODES, POSTERIOR, SUMMARY

SUITE = "suite.json"  # of a folder that holds the runs of a suite
SAMPLED = "posterior"  # the kind of a posterior.json that holds draws' summaries; Algorithm 1 writes none, or its own
KINDS: Mapping[str, Mapping[str, Any]] = {
    POSTERIOR: kinds.POSTERIOR,
    CHECK: kinds.CHECK,
    EPISODES: kinds.EPISODES,
    SUITE: kinds.SUITE,
    SUMMARY: kinds.SUMMARY,
}


def read_record(path: Path, remedy: str = "put it back, or make the run again") -> Mapping[str, Any] | None:
    """What a file holds, by its name; None where there is none."""
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}; {remedy}") from None
    if not isinstance(content, dict):
        raise RunError(f"{path} is not what a run writes there; {remedy}")
    kind = kinds.SAMPLED_POSTERIOR if content.get("kind") == SAMPLED else KINDS[path.name]
    missing = [name for name in kind if not name.endswith("?") and name not in content]
    if missing:
        raise RunError(f"{path} has no {', '.join(missing)}, so another version wrote it; {remedy}")
    refuse_misfit(path, kind, content, remedy)
    return cast(Mapping[str, Any], frozen(content))


def frozen(value: Any) -> Any:
    """Plain values that nobody can change: lists are tuples."""
    if isinstance(value, dict):
        return MappingProxyType({name: frozen(part) for name, part in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def refuse_misfit(path: Path, kind: Any, content: Any, remedy: str = "make the run again") -> None:
    misfit = next(kinds.misfits(kind, content), None)
    if misfit is not None:
        place = misfit.lstrip(".")
        raise RunError(f"{path}: {place} is not what a run writes there, so it was damaged or edited; {remedy}")


def refuse_finished(folder: Path, frames: int) -> None:
    """A run that has come to its end and is not asked for more frames: nothing in it is written anew."""
    try:
        summary = read_record(folder / SUMMARY)
    except RunError:  # written anew at the end
        return
    played = 0 if summary is None else int(summary["frames"])
    if summary is not None and frames <= played:
        raise RunError(f"{folder} has come to its end, after {played} frames; ask for more than these with --frames")
