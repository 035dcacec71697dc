"""What must be true of a folder after whoever wrote it was ended at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from srm.domains import demonstrations as demos
from srm.files import MOST_WEIGHTS, read_json, read_whole
from srm.machine.language.parse import load
from srm.runs.folder import CHECKPOINTS, CONFIG, LOG, last_checkpoint
from srm.runs.log import log_lines
from srm.tensors import unpack

READERS = {
    ".json": read_json,
    ".safetensors": lambda path: unpack(read_whole(path, MOST_WEIGHTS)),
    ".srm": load,
    ".npz": demos.load,
}


@dataclass(frozen=True)
class Saved:
    """What a run had saved: the round of its last checkpoint, and the log up to it."""

    round: int = 0
    lines: tuple[str, ...] = ()

    @staticmethod
    def of(folder: Path) -> Saved:
        checkpoint = last_checkpoint(folder) if (folder / CHECKPOINTS).exists() else None
        if checkpoint is None:
            return Saved()
        at = int(checkpoint.state["round"])
        return Saved(at, tuple(log_lines(folder / LOG)[: at + 1]))


def problems(folder: Path) -> list[str]:
    """Files that are torn, and rounds that are missing or doubled, in all runs below."""
    torn = []
    for path in sorted(folder.rglob("*")):
        if ".part" in str(path.relative_to(folder)) or not path.is_file():
            continue  # what is left of a file or folder that was being written, which nobody reads
        try:
            if path.suffix in READERS:
                READERS[path.suffix](path)
            elif path.suffix == ".html" and not path.read_text().rstrip().endswith("</html>"):
                torn.append(f"{path} ends before its end")
            elif path.name == LOG:
                torn += [f"{path}: {problem}" for problem in _gaps(path)]
        except Exception as error:
            torn.append(f"{path}: {error}")
    return torn


def _gaps(path: Path) -> list[str]:
    lines = log_lines(path)
    if not lines:
        return []
    at, width = lines[0].split(",").index("round"), lines[0].count(",")
    rounds = [int(line.split(",")[at]) for line in lines[1:]]
    gaps = [] if rounds == list(range(1, len(rounds) + 1)) else [f"rounds {rounds[:3]}..{rounds[-3:]} have gaps"]
    return gaps + [f"row {row} is torn" for row, line in enumerate(lines) if line.count(",") != width]


def lost(before: Saved, folder: Path) -> list[str]:
    """What a run had saved earlier and has no more."""
    now = Saved.of(folder)
    if now.round < before.round:
        return [f"{folder}: the last checkpoint is of round {now.round}, and there was one of {before.round}"]
    lines = log_lines(folder / LOG)
    same = all(new == old or new.startswith(f"{old},") for old, new in zip(before.lines, lines, strict=False))
    return (
        [] if same and len(lines) >= len(before.lines) else [f"{folder}: rows up to round {before.round} have changed"]
    )


def differing(folder: Path, reference: Path, rounds: int | None = None) -> list[str]:
    """Rows up to a round, all unless given, that are not those of a run of the same command that nobody ended."""
    own, other = (_rows(path, rounds) for path in (folder, reference))
    return [] if own == other else [f"{folder}: its rows up to {rounds or 'the end'} differ from {reference}"]


def _rows(folder: Path, rounds: int | None) -> list[list[str]]:
    head, *lines = (line.split(",") for line in log_lines(folder / LOG))
    clock = head.index("seconds")
    most = len(lines) if rounds is None else rounds
    return [[cell for column, cell in enumerate(line) if column != clock] for line in lines[:most]]


def runs_below(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob(CONFIG) if ".part" not in str(path.relative_to(folder)))
