"""Names that a page sends: of files inside the folder that the studio was started in, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from srm.errors import SettingError

MOST_FILES = 200  # that are listed
DEEPEST = 4  # folders below the one the studio was started in
LONGEST = 200  # characters of a name


def inside(folder: Path, name: str, *suffixes: str) -> Path:
    """The path of a name that a page sent; refused if it leads out of the folder, by `..`, by a link, or at all."""
    if not name or len(name) > LONGEST or not name.isprintable():
        raise SettingError("a file needs a name of 1 to 200 letters")
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts or any(part.startswith(".") for part in Path(name).parts):
        raise SettingError(f"{name}: lies outside of the studio's folder, or is hidden; choose a name inside {folder}")
    if suffixes and path.suffix not in suffixes:
        raise SettingError(f"{name}: must end in {' or '.join(suffixes)}")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise SettingError(f"{name}: is a link out of the studio's folder; choose a name inside {folder}")
    return path


def files(folder: Path, suffix: str) -> Iterator[str]:
    """The names of files below the folder, at most `MOST_FILES`, none behind a link or hidden."""
    queue, count = [folder], 0
    while queue:
        here = queue.pop(0)
        try:
            entries = sorted(here.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir() and len(entry.relative_to(folder).parts) < DEEPEST:
                queue.append(entry)
            elif entry.suffix == suffix and entry.is_file():
                yield str(entry.relative_to(folder))
                count += 1
                if count == MOST_FILES:
                    return
