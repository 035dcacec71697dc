"""Files in folders that others may have filled: written whole or not at all, and never through a link that somebody put there.

A folder of a run is handed from one person to another. A link in it, at a name that is about to be written, would have the
program overwrite whatever the link points to.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from srm.errors import RunError


def write_whole(path: Path, content: bytes) -> None:
    """A reader never sees half of it, even if the machine stops. It is written to a name nobody can guess, then moved; a link at
    `path` is replaced, and what it points to is left alone."""
    part = beside(path)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def beside(path: Path) -> Path:
    """A name in the same folder that nobody can guess; what is left of it after a kill is known by its ending."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")


@contextmanager
def appending(path: Path) -> Iterator[int]:
    """Opened to add to its end; refused if it is a link."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        yield handle
    finally:
        os.close(handle)


def refuse_link_outside(path: Path, folder: Path) -> None:
    """What is read to be copied must lie in its folder, links followed."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise RunError(
            f"{path} is a link to a file outside of {folder}; put the file itself there, or leave this run out"
        )
