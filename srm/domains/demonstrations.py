"""Demonstrations on disk: one `.npz` of plain arrays, checked from end to end when it is read. Nothing is unpickled.

M  episodes        N  actions of all of them, one after another        P  numbers of a pose

format       text            "srm-demonstrations 2"
about        text            JSON: task, env_id, vocabulary, versions
seeds        [M]       int64   what each episode's environment was made from; -1: not known
lengths      [M]       int64   actions of each episode
terminated   [M]       bool    False: time ran out
observations [N+M, ...]        before each action and after an episode's last; with a field for each part of a dictionary
poses        [N+M, P]  int16
actions      [N] or [N, A]     int64, or float32 where they are numbers within bounds
task_reward  [N]       float32
info         [N, I]    float64 the numbers of Gymnasium's `info`, NaN where a step has none; only if there are any
info_keys    text            JSON: their I keys
digest       text            SHA-256 of all the others
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from srm.domains.base import Task
from srm.domains.envs import Envs
from srm.domains.record import UNKNOWN_SEED
from srm.domains.registry import domain_named, domain_of, domains
from srm.domains.spaces import describe
from srm.domains.tasks import FAMILIES, find_task
from srm.errors import DemonstrationError, TaskError, TrajectoryError
from srm.files import opened, write_whole
from srm.installed import additions
from srm.machine.vocabulary import INFO
from srm.trajectory import Demonstrations, Trajectory

_FORMAT = "srm-demonstrations 2"
_OLDER = ("srm-demonstrations 1",)
_KINDS = {  # of numpy, which each array may have
    "format": "U",
    "about": "U",
    "seeds": "i",
    "lengths": "i",
    "terminated": "b",
    "observations": "biufV",
    "poses": "i",
    "actions": "if",
    "task_reward": "f",
    "info": "f",
    "info_keys": "U",
    "digest": "U",
}
_OPTIONAL = ("info", "info_keys")  # of environments whose `info` has numbers
_MOST_KEYS = 1000  # of `info`, and fields of an observation
_ABOUT = ("task", "env_id", "vocabulary", "versions")
_AGAIN = "record it again with `srm demo`"
_MOST_BYTES = 1 << 29  # of all arrays unpacked; a few kilobytes of a hostile file would fill any memory
_MOST_TEXT = 1 << 20  # bytes of format, about or digest
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def shipped(task: Task) -> Path:
    """Where the demonstrations of a task are that come with the package."""
    domain = domain_of(task.vocabulary)
    path = domain.demonstrations / f"{task.name}.npz" if domain is not None and domain.demonstrations else None
    if path is None or not path.exists():
        raise DemonstrationError(
            f"no demonstrations of {task.name} ship; record some with `srm demo`, and name the file (--demos)"
        )
    return path


def find_file(named: Path) -> Path:
    """The file itself or, where there is none, the one that ships under that name: of a task, or of a style in which it is done."""
    if named.exists() or named.name != str(named):
        return named
    if str(named) in FAMILIES:
        return shipped(FAMILIES[str(named)])
    folders = (domain.demonstrations for domain in domains() if domain.demonstrations is not None)
    return next((path for folder in folders if (path := folder / f"{named}.npz").exists()), named)


def choose(task: Task, path: Path | None, count: int | None) -> Demonstrations:
    """Those of a file, or those that ship; all of them, or only the first so many."""
    path = shipped(task) if path is None else find_file(path)
    demos = load(path, task)
    if count is None:
        return demos
    if not 1 <= count <= len(demos):
        raise DemonstrationError(f"{path} holds {len(demos)} demonstrations, so -n must lie in 1..{len(demos)}")
    return replace(demos, seeds=demos.seeds[:count], trajectories=demos.trajectories[:count])


def load_with_task(path: Path, name: str | None) -> tuple[Demonstrations, Task]:
    """Demonstrations with the task they are of, which must be named if it does not ship."""
    path = find_file(path)
    if name is not None:
        task = find_task(name)
        return load(path, task), task
    demos = load(path)
    if demos.task in FAMILIES:
        return demos, FAMILIES[demos.task]
    if demos.task in additions():
        return demos, find_task(demos.task)
    raise TaskError(f"{path}: shows the task {demos.task}, which does not ship; name it: --task PACKAGE.MODULE:NAME")


def shows(demos: Demonstrations, task: Task) -> bool:
    """Whether they are of the task. Words that are numbers of `info` can be read in whatever was recorded in their environment."""
    return demos.task == task.name or (task.vocabulary.name == INFO and demos.env_id == task.env_id)


def refuse_misfit(demos: Demonstrations, envs: Envs) -> None:
    """Demonstrations that these environments cannot have given."""
    space = envs.action_space
    for index, episode in enumerate(demos.trajectories):
        try:
            envs.observation_space.refuse_misfit(episode.observations, f"demonstration {index}", envs.env_id)
        except TaskError as problem:
            raise DemonstrationError(str(problem)) from None
        kind, shape = episode.actions.dtype, episode.actions.shape[1:]
        if shape != space.shape or (kind.kind == "f") != (space.dtype.kind == "f"):
            raise DemonstrationError(
                f"demonstration {index} has actions {describe(kind, shape)}, "
                f"those of {envs.env_id} are {describe(space.dtype, space.shape)}"
            )
        outside = np.flatnonzero(space.outside(episode.actions))
        if len(outside):
            raise DemonstrationError(
                f"demonstration {index} has an action {episode.actions[outside[0]]}, those of {envs.env_id} are {space}; "
                f"it is of step {outside[0]}: record what the environment took of it"
            )


def save(demonstrations: Demonstrations, path: Path) -> None:
    """Writes the file as a whole or not at all. What `load` would refuse is not written."""
    try:
        _check_ranges(demonstrations)
    except ValueError as error:
        raise DemonstrationError(f"{path}: not written: {error}; mend the episode, or leave it out") from error
    episodes = demonstrations.trajectories
    about = {name: getattr(demonstrations, name) for name in _ABOUT}
    arrays = {
        "format": np.array(_FORMAT),
        "about": np.array(json.dumps({**about, "versions": dict(demonstrations.versions)}, sort_keys=True)),
        "seeds": np.array(demonstrations.seeds, np.int64),
        "lengths": np.array([episode.steps for episode in episodes], np.int64),
        "terminated": np.array([episode.terminated for episode in episodes], np.bool_),
        "observations": np.concatenate([episode.observations for episode in episodes]),
        "poses": np.concatenate([episode.poses for episode in episodes]).astype(np.int16),
        "actions": _plain_actions(np.concatenate([episode.actions for episode in episodes])),
        "task_reward": np.concatenate([episode.task_reward for episode in episodes]).astype(np.float32),
    }
    keys = list(dict.fromkeys(key for episode in episodes for key in episode.info))
    if keys:
        arrays["info"] = np.concatenate([_info_rows(episode, keys) for episode in episodes])
        arrays["info_keys"] = np.array(json.dumps(keys))
    if sum(array.nbytes for array in arrays.values()) > _MOST_BYTES - _MOST_TEXT:
        raise DemonstrationError(
            f"{path}: not written: more than {_MOST_BYTES >> 20} MB are not read again; write several files"
        )
    arrays["digest"] = np.array(_digest(arrays))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    try:
        write_whole(path, packed.getvalue())
    except OSError as error:
        raise DemonstrationError(f"{path}: cannot be written: {error.strerror}; choose another place") from error


def _plain_actions(actions: np.ndarray) -> np.ndarray:
    return actions.astype(np.float32 if actions.dtype.kind == "f" else np.int64)


def _info_rows(episode: Trajectory, keys: list[str]) -> np.ndarray:
    """[T, I]."""
    absent = np.full(episode.steps, np.nan)
    return np.stack([episode.info.get(key, absent) for key in keys], axis=1)


def load(path: Path, task: Task | None = None) -> Demonstrations:
    """The demonstrations of a file; if a task is given, they must be of that task."""
    arrays = _read_arrays(path)
    if str(arrays["digest"]) != _digest({name: arrays[name] for name in arrays if name != "digest"}):
        raise DemonstrationError(f"{path}: its digest does not fit its contents, so it was damaged or edited; {_AGAIN}")
    try:
        demonstrations = _assemble(arrays)
        _check_ranges(demonstrations)
    except (TrajectoryError, ValueError, TypeError) as error:
        raise DemonstrationError(f"{path}: {error}; {_AGAIN}") from error
    if task is not None and not shows(demonstrations, task):
        raise DemonstrationError(
            f"{path}: shows the task {demonstrations.task}, not {task.name}; "
            f"`srm demo {task.name} -o FILE` records what is needed"
        )
    return demonstrations


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    if path.is_dir():
        raise DemonstrationError(f"{path}: is a folder; name a file of demonstrations, such as `srm demo` records")
    if not path.exists():
        raise DemonstrationError(f"{path}: there is no such file; `srm demo TASK -o {path}` records one")
    try:
        with opened(path, _MOST_BYTES) as file:
            alone = file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX  # an array, not an archive
            arrays = {} if alone else _unpack(file)
    except PermissionError as error:
        raise DemonstrationError(f"{path}: cannot be read: {error.strerror}") from error
    except _TooLarge as error:
        raise DemonstrationError(f"{path}: {error}; {_AGAIN}, with fewer or shorter episodes") from None
    except Exception as error:  # zipfile, and numpy, which reads headers as literals of Python, raise a dozen kinds
        raise DemonstrationError(
            f"{path}: cannot be read as a demonstration file, it is cut short or of another kind; {_AGAIN}"
        ) from error
    if "format" in arrays:
        _refuse_format(path, str(arrays["format"]))  # first, since another format has other arrays
    missing = [name for name in _KINDS if name not in arrays and name not in _OPTIONAL]
    if missing:
        raise DemonstrationError(f"{path}: has no {', '.join(missing)}, so it is no demonstration file; {_AGAIN}")
    for name in arrays:
        kind = _KINDS[name]
        if kind == "U" and arrays[name].ndim:
            raise DemonstrationError(f"{path}: {name} holds several texts, which no demonstration does; {_AGAIN}")
        if arrays[name].dtype.kind not in kind or (name == "actions" and arrays[name].dtype == np.float64):
            raise DemonstrationError(
                f"{path}: {name} holds {arrays[name].dtype}, which no demonstration does; {_AGAIN}"
            )
    return arrays


def _refuse_format(path: Path, written: str) -> None:
    """A file of another format: of a newer version, unless the first ones wrote it."""
    if written != _FORMAT:
        remedy = _AGAIN if written in _OLDER else "update srm"
        raise DemonstrationError(f"{path}: format {ascii(written[:40])[1:-1]}, this version reads {_FORMAT}; {remedy}")


class _TooLarge(Exception):
    pass


def _unpack(file: IO[bytes]) -> dict[str, np.ndarray]:
    """The arrays of an archive that are known by name. What each unpacks to is compared with limits before any is read."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.getinfo(f"{name}.npy") for name in _KINDS if f"{name}.npy" in archive.NameToInfo}
        if sum(member.file_size for member in members.values()) > _MOST_BYTES:
            raise _TooLarge(f"its arrays unpack to more than {_MOST_BYTES >> 20} MB")
        for name, member in members.items():
            if _KINDS[name] == "U" and member.file_size > _MOST_TEXT:
                raise _TooLarge(f"{name} is longer than {_MOST_TEXT >> 20} MB")
        return {name: _array(archive, member) for name, member in members.items()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("packed in a way that numpy never does")
    with archive.open(member) as stream:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
        if not _is_plain(dtype) or min(shape, default=0) < 0:
            raise ValueError("no plain numbers or text")
        if stream.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError("its header speaks of another size than the archive")
    with archive.open(member) as stream:
        array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _is_plain(dtype: np.dtype) -> bool:
    """Numbers or text, or fields of numbers that fill the item without gaps."""
    if dtype.names is None:
        return dtype.kind in "biufU"
    fields = [dtype[name] for name in dtype.names]
    return (
        len(fields) <= _MOST_KEYS
        and all(field.base.kind in "biuf" and field.base.names is None for field in fields)
        and dtype.itemsize == sum(field.itemsize for field in fields)
        and all(name.isprintable() for name in dtype.names)
    )


def _digest(arrays: dict[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        kind = array.dtype.str if array.dtype.names is None else str(array.dtype.descr)
        total.update(f"{name} {kind} {array.shape}\n".encode())
        total.update(array.data)  # no copy: an array may be half a gigabyte
    return total.hexdigest()


def _assemble(arrays: dict[str, np.ndarray]) -> Demonstrations:
    about = _about(str(arrays["about"]))
    lengths, actions, observations = arrays["lengths"], arrays["actions"], arrays["observations"]
    for name, axes in (
        ("lengths", 1),
        ("actions", max(1, min(2, arrays["actions"].ndim))),
        ("seeds", 1),
        ("terminated", 1),
        ("task_reward", 1),
        ("poses", 2),
    ):
        if arrays[name].ndim != axes:
            raise ValueError(f"{name}: has {arrays[name].ndim} axes, expected {axes}")
    episodes, steps = len(lengths), len(actions)
    if (lengths < 1).any() or (lengths > steps).any() or lengths.sum() != steps:
        raise ValueError(f"lengths: {_few(lengths)} do not divide {steps} actions")
    for name, count in (("observations", steps + episodes), ("poses", steps + episodes), ("terminated", episodes)):
        if arrays[name].shape[:1] != (count,):
            raise ValueError(f"{name}: shape {list(arrays[name].shape)}, expected [{count}, ...]")
    if (arrays["seeds"] < UNKNOWN_SEED).any():
        raise ValueError(f"seeds: {arrays['seeds'].min()}, expected {UNKNOWN_SEED} or more")
    if (int(lengths.max(initial=0)) + 1) * episodes * max(1, observations[:1].nbytes) > _MOST_BYTES:
        raise ValueError(f"its {episodes} episodes, laid side by side, take more than {_MOST_BYTES >> 20} MB")
    keys = _info_keys(arrays, steps)
    trajectories = []
    for index, end in enumerate(np.cumsum(lengths)):
        moves = slice(end - lengths[index], end)
        moments = slice(end - lengths[index] + index, end + index + 1)  # each earlier episode has one observation more
        trajectories.append(
            Trajectory(
                observations=observations[moments],
                actions=actions[moves],
                poses=arrays["poses"][moments],
                task_reward=arrays["task_reward"][moves],
                terminated=bool(arrays["terminated"][index]),
                info={key: arrays["info"][moves, column] for column, key in enumerate(keys)},
            )
        )
    return Demonstrations(**about, seeds=tuple(arrays["seeds"].tolist()), trajectories=tuple(trajectories))


def _info_keys(arrays: dict[str, np.ndarray], steps: int) -> list[str]:
    if not any(name in arrays for name in _OPTIONAL):
        return []
    if not all(name in arrays for name in _OPTIONAL):
        raise ValueError("info: its numbers or their keys are missing")
    try:
        keys = json.loads(str(arrays["info_keys"]))
    except RecursionError:
        raise ValueError("info_keys: is nested too deep") from None
    if not isinstance(keys, list) or not all(isinstance(key, str) and key.isprintable() for key in keys):
        raise ValueError("info_keys: is no list of keys")
    if len(set(keys)) < len(keys) or len(keys) > _MOST_KEYS:
        raise ValueError(f"info_keys: {len(keys)} keys, of which each must stand once, at most {_MOST_KEYS}")
    if arrays["info"].shape != (steps, len(keys)):
        raise ValueError(f"info: shape {list(arrays['info'].shape)}, expected [{steps}, {len(keys)}]")
    return keys


def _about(text: str) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except RecursionError:
        raise ValueError("about: is nested too deep") from None
    if not isinstance(about, dict) or set(about) != set(_ABOUT):
        raise ValueError(f"about: must have {', '.join(_ABOUT)}")
    versions = about["versions"]
    words = [about[name] for name in _ABOUT if name != "versions"]
    if not isinstance(versions, dict) or not all(
        isinstance(word, str) and word.isprintable() for word in [*words, *versions, *versions.values()]
    ):
        raise ValueError("about: tells something that is no line of text")
    return about


def _few(numbers: np.ndarray) -> list[int]:
    first: list[int] = numbers[:10].tolist()
    return first


def _check_ranges(demonstrations: Demonstrations) -> None:
    """Numbers that no environment of the vocabulary can show."""
    domain = domain_named(demonstrations.vocabulary)
    for index, trajectory in enumerate(demonstrations.trajectories):
        if trajectory.actions.dtype.kind != "f" and trajectory.actions.min(initial=0) < 0:
            raise ValueError(f"episode {index}: there is no action {trajectory.actions.min()}")
        if not np.isfinite(trajectory.task_reward).all():
            raise ValueError(f"episode {index}: a reward is not a finite number")
        if domain is not None and domain.check is not None:
            domain.check(index, trajectory)
