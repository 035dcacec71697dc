"""Episodes that were played, on disk: those kept as demonstrations, and those set aside.

    NAME.npz          kept: what `srm infer --demos` takes
    NAME-aside.npz    played and not kept; evidence of what a demonstration should out-earn
    NAME-notes.json   {key of an episode: what the person wrote of it}

Every change is written whole before it is answered, so that neither a closed browser nor a killed server loses what was kept. One
studio at a time writes a file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.registry import packages
from srm.errors import DemonstrationError, SettingError
from srm.extras import DISTRIBUTION
from srm.files import read_json, write_whole
from srm.trajectory import Demonstrations, Trajectory

MOST_EPISODES = 2000  # on a shelf
LONGEST_NOTE = 500
KEPT, ASIDE = "kept", "aside"


@dataclass(frozen=True, eq=False)
class StoredEpisode:
    """One that was played to its end."""

    key: str  # the same for the same actions in the same environment
    seed: int
    trajectory: Trajectory


def key_of(seed: int, trajectory: Trajectory) -> str:
    return hashlib.sha256(f"{seed} {trajectory.actions.tolist()}".encode()).hexdigest()[:16]


@dataclass
class Shelf:
    """The episodes of one file, in the order they were played."""

    path: Path
    task: Task
    episodes: list[StoredEpisode] = field(default_factory=list)

    def read(self) -> None:
        if not self.path.exists():
            return
        recorded = demos.load(self.path, self.task)
        if recorded.env_id != self.task.env_id:
            raise DemonstrationError(
                f"{self.path}: shows {recorded.env_id}, and {self.task.env_id} is played; choose another file with -o"
            )
        pairs = zip(recorded.seeds, recorded.trajectories, strict=True)
        self.episodes = [StoredEpisode(key_of(seed, trajectory), seed, trajectory) for seed, trajectory in pairs]

    def demonstrations(self) -> Demonstrations | None:
        """None where there are none."""
        return recorded(self.task, self.episodes) if self.episodes else None

    def write(self) -> None:
        content = self.demonstrations()
        if content is None:
            self.path.unlink(missing_ok=True)
        else:
            demos.save(content, self.path)


def recorded(task: Task, episodes: list[StoredEpisode]) -> Demonstrations:
    return Demonstrations(
        task=task.name,
        env_id=task.env_id,
        vocabulary=task.vocabulary.name,
        versions={name: version(name) for name in (DISTRIBUTION, *packages(), "gymnasium", "numpy")},
        seeds=tuple(episode.seed for episode in episodes),
        trajectories=tuple(episode.trajectory for episode in episodes),
    )


class EpisodeStore:
    """Both shelves and the notes, changed by one request at a time."""

    def __init__(self, task: Task, path: Path) -> None:
        self.task, self._lock = task, threading.RLock()
        self._own = _lock_file(path)
        self.shelves = {
            KEPT: Shelf(path, task),
            ASIDE: Shelf(path.with_name(f"{path.stem}-aside{path.suffix}"), task),
        }
        for shelf in self.shelves.values():
            shelf.read()
        self._notes_path = path.with_name(f"{path.stem}-notes.json")
        self.notes = _read_notes(self._notes_path)

    def close(self) -> None:
        os.close(self._own)

    def add(self, shelf: str, *played: tuple[int, Trajectory]) -> list[StoredEpisode]:
        """Seeds and what was played from them. The same episode twice is one."""
        with self._lock:
            episodes = [StoredEpisode(key_of(seed, trajectory), seed, trajectory) for seed, trajectory in played]
            new = {episode.key: episode for episode in episodes if self.find(episode.key) is None}
            whole = [*self.shelves[shelf].episodes, *new.values()]
            if len(whole) > MOST_EPISODES:
                raise SettingError(
                    f"{self.shelves[shelf].path} can have {MOST_EPISODES} episodes; play into another -o"
                )
            if new:
                self._change(shelf, whole)
            return episodes

    def move(self, key: str, shelf: str) -> None:
        with self._lock:
            where, episode = self._at(key)
            if where != shelf:
                self._change(shelf, [*self.shelves[shelf].episodes, episode])  # on both shelves, never on none
                self._change(where, [other for other in self.shelves[where].episodes if other.key != key])

    def remove(self, key: str) -> None:
        with self._lock:
            where, _ = self._at(key)
            self._change(where, [other for other in self.shelves[where].episodes if other.key != key])

    def note(self, key: str, text: str) -> None:
        with self._lock:
            self._at(key)
            if len(text) > LONGEST_NOTE:
                raise SettingError(f"a note has at most {LONGEST_NOTE} letters")
            notes = {other: note for other, note in {**self.notes, key: text}.items() if note}
            write_whole(self._notes_path, (json.dumps(notes, indent=1, ensure_ascii=False) + "\n").encode())
            self.notes = notes

    def find(self, key: str) -> tuple[str, StoredEpisode] | None:
        return next(((name, episode) for name, episode in self if episode.key == key), None)

    def __iter__(self) -> Iterator[tuple[str, StoredEpisode]]:
        for name, shelf in self.shelves.items():
            yield from ((name, episode) for episode in shelf.episodes)

    def _at(self, key: str) -> tuple[str, StoredEpisode]:
        place = self.find(key)
        if place is None:
            raise SettingError("this episode is there no more; another tab may have removed it")
        return place

    def _change(self, shelf: str, episodes: list[StoredEpisode]) -> None:
        """On disk first: what cannot be written is not changed."""
        changed = replace(self.shelves[shelf], episodes=episodes)
        changed.write()
        self.shelves[shelf] = changed


def _lock_file(path: Path) -> int:
    """Held as long as this process lives, and by nobody after it."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DemonstrationError(f"{path}: cannot be written: {error.strerror}; choose another place with -o") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise DemonstrationError(f"{path}: another studio writes it; choose another file with -o") from None
    return handle


def _read_notes(path: Path) -> dict[str, str]:
    try:
        content = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DemonstrationError(f"{path}: cannot be read: {error}; mend it, or remove it") from None
    if not isinstance(content, dict) or not all(isinstance(text, str) for text in content.values()):
        raise DemonstrationError(f"{path}: is no list of notes; mend it, or remove it")
    return content
