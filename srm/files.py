"""Files in folders that others may have filled: written whole or not at all, and never through a link that somebody put there; read
within limits, if they are files at all.

A folder of a run is handed from one person to another. A link in it, at a name that is about to be written, would have the
program overwrite whatever the link points to; a pipe, a device or a file with a hole of a terabyte, at a name that is about to be
read, would have it wait for ever or fill the memory. Nothing else in the package opens a file to read it (tests/test_layers.py).
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from srm.errors import RunError, SrmError

MOST_JSON = MOST_LOG = 1 << 26  # bytes; a log of so many has 200,000 rounds
MOST_WEIGHTS = 1 << 29  # of which there are two copies for a moment
MOST_VALUES = 4_000_000  # of JSON: as many empty objects, frozen, take 500 MB
DEEPEST = 24  # lists and objects within each other, which is far more than a run writes


def write_whole(path: Path, content: bytes) -> None:
    """A reader never sees half of it, even if the machine stops. It is written to a name nobody can guess, then moved; a link at
    `path` is replaced, and what it points to is left alone. A pipe or a device is no place for a file."""
    _refuse_special(path)
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


def _refuse_special(path: Path) -> None:
    """As the system refuses: `/dev/null` moved over would be no device any more, for nobody; nor a link to it, as `/dev/stdout` may be."""
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))


def refuse_written_over(path: Path, flag: str = "-o") -> None:
    """What is there already and took somebody's work. Asked before any work of ours."""
    if path.exists():
        raise SrmError(f"{path}: exists, and is not written over; choose another name with {flag}")


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


@contextmanager
def opened(path: str | Path, most: int) -> Iterator[IO[bytes]]:
    """A file to be read; ValueError, in one line, if it is longer than so many bytes, or no file. OSError as ever."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # without waiting, were it a pipe
    try:
        about = os.fstat(handle)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(about.st_mode) and not _is_named_pipe_of_shell(path):
            raise ValueError("it is a pipe or a device, not a file")
        if about.st_size > most:
            raise ValueError(f"it is longer than {most >> 20} MB")
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    with open(handle, "rb") as file:
        yield file


def _is_named_pipe_of_shell(path: str | Path) -> bool:
    """/dev/stdin, and /dev/fd/63 that `<(command)` stands for; a link to them in a folder is not meant."""
    return os.path.abspath(path).startswith(("/dev/stdin", "/dev/fd/"))


def read_whole(path: str | Path, most: int) -> bytes:
    """All of a file, within the limits of `opened`."""
    with opened(path, most) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is longer than {most >> 20} MB")
    return content


def read_json(path: Path) -> Any:
    """What a file holds; ValueError, in one line, for what no file of ours does."""
    return parse_json(read_whole(path, MOST_JSON))


def parse_json(content: bytes | str) -> Any:
    """Numbers are finite and whole ones have 64 bits, text can be written, and nothing is nested too deep."""
    if len(content) > MOST_JSON:
        raise ValueError(f"it is longer than {MOST_JSON >> 20} MB")
    text = content if isinstance(content, str) else content.decode()
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [part for node in level for part in _parts(node) if isinstance(part, dict | list)]
    if level:
        raise ValueError("it is nested too deep")
    if re.search(r"\\u[dD][89a-fA-F]", text):
        json.dumps(value, ensure_ascii=False).encode()  # half of a character cannot be written
    return value


def _parts(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def _whole(text: str) -> int:
    value = int(text) if len(text) <= 20 else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{text[:20]} has more than 64 bits")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no finite number")
    return value
