"""log.csv, one row a round: its columns as numbers, or refused by name. A row that is being written is left out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from srm.errors import RunError
from srm.files import MOST_LOG, opened, read_whole

Columns = Mapping[str, list[float | None]]  # by name; None: not known
REQUIRED = ("round", "frames", "seconds", "return", "success")
MOST_CELLS = 8_000_000  # as numbers they take 250 MB
_TAIL = 16_384  # bytes: many rows


def read_log(path: Path) -> Columns:
    """All columns."""
    lines = log_lines(path)
    if not lines:
        raise RunError(f"{path.parent} has no {path.name} yet: no round has ended; try again later")
    if len(lines) < 2:
        raise RunError(f"{path} has no round yet; try again later")
    return read_columns(path, lines, lines[0].split(","))


def log_lines(path: Path, remedy: str = "leave this run out") -> list[str]:
    """The head of a log and its whole rows; none where nothing was written yet."""
    try:
        text = read_whole(path, MOST_LOG).decode()
        if sum(map(text.count, ",\n")) > MOST_CELLS:
            raise ValueError(f"it has more than {MOST_CELLS:,} cells")
        return text.split("\n")[:-1]  # what follows the last end of line is being written
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}; {remedy}") from None


def read_columns(path: Path, lines: Sequence[str], wanted: Iterable[str]) -> Columns:
    """Those that are wanted. The rest of a row is not looked at, which makes long logs four times as fast to read."""
    names = lines[0].split(",")
    place = {name: names.index(name) for name in wanted if name in names}
    most = max(place.values(), default=0) + 1
    columns: dict[str, list[float | None]] = {name: [] for name in place}
    try:
        for line in lines[1:]:
            row = line.split(",", most)
            for name, index in place.items():
                columns[name].append(_number(row[index]))
    except (ValueError, IndexError):
        raise RunError(f"{path} is not the log of a run: a cell of it is not a number") from None
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise RunError(f"{path} has no {', '.join(missing)}, so another version wrote it; learn again with this one")
    return columns


def last_row(path: Path) -> dict[str, float | None]:
    """The last whole row, read from the end of the file; empty where there is none, or where it is damaged."""
    try:
        with opened(path, MOST_LOG) as file:
            head = file.readline()
            file.seek(max(len(head), file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().decode().split("\n")[:-1]
        names, cells = head.decode().strip().split(","), lines[-1].split(",")
        return {name: _number(cell) for name, cell in zip(names, cells, strict=False)}
    except (OSError, ValueError, IndexError):
        return {}


def _number(cell: str) -> float | None:
    return value if cell and math.isfinite(value := float(cell)) else None
