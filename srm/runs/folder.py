"""A run is a folder. This is the only code that writes one.

    config.json           what was asked for, the versions that did it, and the format of the folder; written once
    machine.srm           the machine that paid, if one did
    log.csv               one row a round; docs/runs.md says what its columns are
    checkpoint/           round-<n>.safetensors: everything needed to go on; the last two
    policy.safetensors    the weights at the end
    summary.json          how it ended

Every file but the log is written beside its place and then moved there, so that a reader, or a run that was killed at any
moment, finds the old file or the new one. A row of the log is appended by one write; what a killed run logged after its last
checkpoint is cut off when it is resumed, and the curve goes on in the same file. Weights are safetensors: nothing is unpickled.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from srm.errors import RunError, one_line
from srm.extras import DISTRIBUTION
from srm.files import MOST_WEIGHTS, appending, beside, read_json, read_whole, write_whole
from srm.runs.log import log_lines
from srm.tensors import pack, unpack

CONFIG, LOG, SUMMARY, CHECKPOINTS = "config.json", "log.csv", "summary.json", "checkpoint"
POLICY = "policy.safetensors"
MACHINE, LEARNT, DEMONSTRATIONS = "machine.srm", "learnt.srm", "demonstrations.npz"
POSTERIOR, DRAWS = "posterior.json", "draws.safetensors"
CHECK, EPISODES = "check.json", "episodes.json"
KEPT = 2  # checkpoints
_WITHOUT = "move it away to go on without the curve so far"
FORMAT = 2  # of a run's folder; the first versions, up to 0.1, wrote no number


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Arrays by name, and what else is needed to go on."""

    path: Path
    tensors: dict[str, np.ndarray]
    state: dict[str, Any]  # has "round" and "frames"


class RunWriter:
    """Writes one run, alone: a second writer of the same folder is refused."""

    def __init__(self, folder: Path, columns: Sequence[str] | None, lock: int) -> None:
        self.folder = folder
        self._columns = columns  # of the log; None: not known before its first row
        self._lock = lock

    @staticmethod
    def create(
        folder: Path,
        config: Mapping[str, Any],
        texts: Mapping[str, str] | None = None,
        fill: Callable[[Path], None] | None = None,
    ) -> RunWriter:
        """A new run. It appears with its config, these text files and what `fill` adds, or not at all."""
        refuse_taken(folder)

        def fill_all(part: Path) -> None:
            part.joinpath(CHECKPOINTS).mkdir()
            if fill is not None:
                fill(part)

        create_folder(folder, {CONFIG: config_json(config), **(texts or {})}, fill_all)
        return RunWriter(folder, None, _lock(folder))

    @staticmethod
    def resume(folder: Path) -> tuple[RunWriter, Checkpoint | None]:
        """Goes on with a run from its last checkpoint; None: it was stopped before the first."""
        read_config(folder)
        refuse_kept(folder)
        _refuse_linked(folder)
        lock = _lock(folder)
        try:
            for part in folder.rglob(".*.part"):
                _delete(part)
            checkpoint = last_checkpoint(folder)
            columns = _cut_log(folder, -1 if checkpoint is None else int(checkpoint.state["round"]))
        except RunError:
            os.close(lock)
            raise
        return RunWriter(folder, columns, lock), checkpoint

    def row(self, values: Mapping[str, Any]) -> None:
        """Appends a row to the log; a value that is not known is None or NaN: empty. The first row names the columns; one that comes
        later, as losses do once a run is past its warm-up, is added at the end."""
        text = io.StringIO()
        if self._columns is None:
            self._columns = list(values)
            csv.writer(text, lineterminator="\n").writerow(self._columns)
        later = [name for name in values if name not in self._columns]
        if later:
            self._columns = [*self._columns, *later]
            _widen(self.folder / LOG, later)
        cells = [_cell(values.get(name)) for name in self._columns]
        csv.writer(text, lineterminator="\n").writerow(cells)
        path = self.folder / LOG
        try:
            with appending(path) as handle:
                _write_all(handle, text.getvalue().encode())
        except OSError as error:
            raise _failed(path, error) from None

    def checkpoint(self, tensors: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> Path:
        """Everything needed to go on after the round that `state` names. How the run had ended before, if it had, holds no more."""
        path = self.folder / CHECKPOINTS / f"round-{int(state['round']):08d}.safetensors"
        write_weights(path, tensors, {"state": dict(state)})
        for outdated in (SUMMARY, POLICY):
            _delete(self.folder / outdated)
        for old in checkpoints(self.folder)[:-KEPT]:
            _delete(old)
        return path

    def text(self, name: str, content: str) -> None:
        """A text file of the run, such as its machine."""
        write_bytes(self.folder / name, content.encode())

    def finish(self, summary: Mapping[str, Any]) -> None:
        self.text(SUMMARY, as_json(summary))

    def close(self) -> None:
        os.close(self._lock)

    @contextmanager
    def reopened(self) -> Iterator[None]:
        """The run once more after `close`, to write how it ended; refused if somebody has gone on with it since."""
        lock = _lock(self.folder)
        try:
            yield
        finally:
            os.close(lock)


def create_folder(folder: Path, texts: Mapping[str, str], fill: Callable[[Path], None]) -> None:
    """A folder with these text files and what `fill` adds. It appears whole, or not at all."""
    part = beside(folder)
    try:
        part.mkdir(parents=True)
        for name, content in texts.items():
            part.joinpath(name).write_text(content)
        fill(part)
        part.rename(folder)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _failed(folder, error) if isinstance(error, OSError) else error from None


def as_json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2) + "\n"


def config_json(config: Mapping[str, Any]) -> str:
    return as_json({"format": FORMAT, **config})


def read_config(folder: Path) -> dict[str, Any]:
    """What a run was asked to do."""
    path = folder / CONFIG
    try:
        config = read_json(path)
    except FileNotFoundError:
        raise RunError(f"{folder} is not a run: it has no {CONFIG}; give the -o of one that was begun") from None
    except NotADirectoryError:
        raise RunError(f"{folder} is a file; give the folder of a run") from None
    except (ValueError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}; leave its folder out, or put the file back") from None
    if not isinstance(config, dict):
        raise RunError(f"{path} is not the config of a run")
    _refuse_other_format(folder, config)
    return config


def _refuse_other_format(folder: Path, config: Mapping[str, Any]) -> None:
    """What has no versions is no config of a run; whoever reads it further says so."""
    versions, number = config.get("versions"), config.get("format", 1)
    if not isinstance(versions, Mapping) or number == FORMAT:
        return
    wrote = next(
        (f"version {one_line(versions[name])}" for name in (DISTRIBUTION, "srm") if name in versions), "another version"
    )
    raise RunError(
        f"{folder} was written by {wrote}, in format {one_line(number)}, and this version reads format {FORMAT}; "
        "make the run again (config.json has its command), or install that version to read it"
    )


def checkpoints(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted((folder / CHECKPOINTS).glob("round-*.safetensors"))


def last_checkpoint(folder: Path) -> Checkpoint | None:
    saved = checkpoints(folder)
    if not saved:
        return None
    before = "to go on from the checkpoint before" if len(saved) > 1 else "for the run to begin anew: there is no other"
    try:
        tensors, about = read_weights(saved[-1])
        state = about["state"]
        int(state["round"])
        int(state["frames"])
    except RunError as problem:
        raise RunError(f"{problem}; delete it {before}") from None
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{saved[-1]} is not a checkpoint of a run; delete it {before}") from None
    return Checkpoint(saved[-1], tensors, state)


def refuse_taken(folder: Path, *, resumable: bool = True) -> None:
    """Before anything is built for a run that could not be written there."""
    if folder.exists():
        resume = f", or --resume {folder}" if resumable and (folder / CONFIG).exists() else ""
        raise RunError(f"{folder} exists, and is never overwritten: choose another -o{resume}")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise RunError(f"{folder} cannot be written: {above} takes no folders; choose another -o")


def refuse_kept(folder: Path) -> None:
    """A run as `srm report --keep` leaves it: what is in it cannot go on, and is not to be begun anew in its place."""
    if (folder / CONFIG).exists() and not (folder / CHECKPOINTS).exists():
        raise RunError(f"{folder} was kept without its checkpoints, so nothing can go on; begin anew with another -o")


def _refuse_linked(folder: Path) -> None:
    """Checkpoints that lie elsewhere: to go on would write, and delete, there."""
    if (folder / CHECKPOINTS).is_symlink():
        raise RunError(
            f"{folder / CHECKPOINTS} is a link, and a run is written in its own folder; copy the files there"
        )


def policy_file(folder: Path) -> Path:
    """The weights of a run's policy: at its end or, if it is not finished, those of its last checkpoint."""
    read_config(folder)
    if (folder / POLICY).exists():
        return folder / POLICY
    saved = checkpoints(folder)
    if not saved:
        raise RunError(
            f"{folder} has neither {POLICY} nor a checkpoint, so it has no policy; "
            "give a run of `srm train` or `srm learn` as it was left, not one of `srm infer` or `srm report --keep`"
        )
    return saved[-1]


def write_weights(path: Path, tensors: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
    """Arrays by name and a few words about them, in one file."""
    packed = pack(tensors, about)
    if len(packed) > MOST_WEIGHTS:
        raise RunError(
            f"{path} would be longer than {MOST_WEIGHTS >> 20} MB, and is not read beyond that; "
            "give --network.width or --network.memory a smaller number"
        )
    write_bytes(path, packed)


def read_weights(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `write_weights` wrote; a truncated or foreign file is refused by name."""
    try:
        return unpack(read_whole(path, MOST_WEIGHTS))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as problem:
        raise RunError(f"{path}: {problem}") from None


def write_bytes(path: Path, content: bytes) -> None:
    """The whole file or nothing: a reader never sees half of it, even if the machine stops."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise _failed(path, error) from None


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # a folder stands there
        raise RunError(f"{path} cannot be deleted: {error.strerror}; move it away") from None


def _write_all(handle: int, content: bytes) -> None:
    """By one write, but for a disk that takes less at once."""
    while content:
        content = content[os.write(handle, content) :]


def _failed(path: Path, error: OSError) -> RunError:
    return RunError(
        f"{path} cannot be written: {error.strerror}; what was saved before is whole: make room, or choose another place"
    )


def _lock(folder: Path) -> int:
    """Held until it is closed or the process dies."""
    handle = os.open(folder / CONFIG, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise RunError(f"{folder} is being written by another process") from None
    return handle


def _cut_log(folder: Path, last_round: int) -> list[str] | None:
    """Leaves the rows up to a round, and no torn one. The columns, or None if no row was written."""
    path = folder / LOG
    lines = log_lines(path, _WITHOUT)
    if not lines:
        path.unlink(missing_ok=True)
        return None
    try:
        columns = lines[0].split(",")
        at = columns.index("round")
        rows = [line for line in lines[1:] if int(line.split(",")[at]) <= last_round]
    except (ValueError, IndexError):
        raise RunError(f"{path} is damaged; {_WITHOUT}") from None
    write_bytes(path, "".join(f"{line}\n" for line in [lines[0], *rows]).encode())
    return columns


def _widen(path: Path, later: Sequence[str]) -> None:
    """Adds columns to a log, empty in the rows that it has."""
    head, *rows = log_lines(path)
    write_bytes(
        path,
        "".join(f"{line}\n" for line in [",".join([head, *later]), *(row + "," * len(later) for row in rows)]).encode(),
    )


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
