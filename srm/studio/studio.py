"""What a studio has: a task, a folder, episodes, and a session for each tab that is open.

A tab never sees the session of another: its machine, its values and its episode under way are its own. What is on disk is shared,
and is changed by one request at a time.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.controls import Controls, action_names, controls_of
from srm.errors import MachineError, SettingError, SrmError, TaskError
from srm.evaluate.success import solved
from srm.report.html.numbers import counted
from srm.seeding import stream
from srm.studio.bench import Bench, places
from srm.studio.child import Child
from srm.studio.episodes import EpisodeLibrary
from srm.studio.play import EpisodePlay
from srm.studio.security import numbers_of, text_of, whole_of
from srm.studio.store import ASIDE, KEPT, EpisodeStore

MOST_SESSIONS = 16  # tabs; the one that was used least recently is forgotten first
KEYWORDS = "machine words holes counters let start node accept constraint otherwise hindsight and or not where in every hole except".split()

Body = Mapping[str, Any]
Question = Callable[[Body], Any]


@dataclass(eq=False)
class Session:
    """One tab."""

    id: str
    bench: Bench
    prover: Child  # of its own, so that proofs which take long keep no other tab waiting
    sampler: Child
    play: EpisodePlay | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def close(self) -> None:
        self.prover.close()
        self.sampler.close()
        with self.lock:
            if self.play is not None:
                self.play.close()


class Studio:
    """Answers what pages ask."""

    def __init__(
        self, task: Task, named: str, folder: Path, text: str, library: EpisodeLibrary, infer: bool = True
    ) -> None:
        """`infer`: pages ask what holes without a value are worth."""
        self.task, self.named, self.folder, self.library, self.infer = task, named, folder, library, infer
        self._first = Bench.of(task, text, {})
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        self._saved: list[Callable[[], list[str]]] = []
        self._seeds = stream(int.from_bytes(secrets.token_bytes(6), "big"), "episodes of a studio")
        env, self.unplayable = task.environment(task.env_id), ""
        try:
            self.controls, self.actions = controls_of(task, env), action_names(task, env)
        except TaskError as error:  # everything but playing goes without keys
            self.controls, self.actions, self.unplayable = Controls({}), [], str(error)
        env.close()
        self.questions: dict[str, Question] = {
            "open": self._open,
            "machine": self._set_machine,
            "play.new": self._new,
            "play.step": self._step,
            "play.undo": self._undo,
            "episodes": self._episodes,
            "episode": self._episode,
            "episode.move": self._move,
            "episode.note": self._note,
        }

    @property
    def store(self) -> EpisodeStore:
        return self.library.store

    def add(
        self,
        questions: Mapping[str, Question],
        saved: Callable[[], list[str]] = list,
    ) -> None:
        """Another part of the studio; `saved` are lines about what it leaves behind."""
        self.questions |= questions
        self._saved.append(saved)

    def saved(self) -> list[str]:
        """What is on disk, a line for each file."""
        names = {KEPT: "demonstration", ASIDE: "episode that you set aside"}
        shelves = [(self.store.shelves[name], noun) for name, noun in names.items()]
        own = [f"{shelf.path}: {counted(len(shelf.episodes), noun)}" for shelf, noun in shelves if shelf.episodes]
        lines = [*own, *(line for part in self._saved for line in part())]
        return lines or ["no episode was played to its end, so none is saved"]

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self.store.close()

    # Sessions

    @contextmanager
    def session(self, body: Body) -> Iterator[Session]:
        """That of the tab that asks, for one request at a time."""
        with self._lock:
            session = self._sessions.get(text_of(body, "session", 100))
            if session is not None:
                self._sessions.move_to_end(session.id)
        if session is None:
            raise SettingError("this tab was forgotten, since many others were opened; load it again")
        with session.lock:
            yield session

    def _open(self, body: Body) -> dict[str, Any]:
        """A tab that was opened, or loaded again: then it goes on where it was."""
        with self._lock:
            session = self._sessions.get(text_of(body, "session", 100))
            if session is None:
                session = Session(secrets.token_hex(8), self._first, Child(self.named), Child(self.named))
                self._sessions[session.id] = session
            forgotten = [self._sessions.popitem(last=False)[1] for _ in range(len(self._sessions) - MOST_SESSIONS)]
        for old in forgotten:
            old.close()
        with session.lock:
            return {
                "session": session.id,
                "task": {"name": self.task.name, "env_id": self.task.env_id, "meaning": self.task.meaning},
                "controls": {
                    "keys": [[list(keys), action] for keys, action in self.controls.keys.items()],
                    "noop": self.controls.noop,
                    "turns": self.controls.turns,
                    "actions": self.actions,
                },
                "unplayable": self.unplayable,
                "policy": self.library.policy is not None,
                "infer": self.infer,
                "files": {"kept": self.store.shelves[KEPT].path.name, "folder": str(self.folder)},
                "words": self._words(),
                "machine": session.bench.as_json(),
                "play": None if session.play is None else session.play.whole(),
            }

    def _words(self) -> dict[str, Any]:
        vocabulary = self.task.vocabulary
        return {
            "keywords": KEYWORDS,
            "events": {event.name: event.meaning for event in vocabulary.events},
            "signals": {signal.name: signal.meaning for signal in vocabulary.signals},
            "attributes": {
                attribute.name: {"meaning": attribute.meaning, "values": list(attribute.values or ())}
                for attribute in vocabulary.attributes
            },
        }

    # The machine

    def _set_machine(self, body: Body) -> dict[str, Any]:
        """The text, the values or the constraint of this tab. A text that is no machine leaves the last one in place."""
        with self.session(body) as session:
            before = session.bench
            text = text_of(body, "text") if "text" in body else before.text
            constraint = text_of(body, "constraint", 100) if body.get("constraint") else None
            if constraint is None and before.constraint is not None:
                constraint = before.constraint.name
            try:
                bench = before
                if text != bench.text or body.get("constraint"):
                    bench = Bench.of(self.task, text, before.values, constraint)
            except MachineError as error:
                return {"errors": places(error)}
            if "values" in body:
                bench = bench.with_values(numbers_of(body, "values"))
            session.bench = bench
            if session.play is not None:
                session.play.repay(bench.concrete, bench.values)
            return {"machine": bench.as_json(), "play": None if session.play is None else session.play.whole()}

    # Playing

    def _new(self, body: Body) -> dict[str, Any]:
        if self.unplayable:
            raise TaskError(self.unplayable)
        with self.session(body) as session:
            seed = whole_of(body, "seed") if body.get("seed") is not None else int(self._seeds.integers(2**31))
            if not 0 <= seed < 2**31:
                raise SettingError(f"seed {seed}: expected 0 to {2**31 - 1}")
            if session.play is not None:
                session.play.close()
            bench, policy = session.bench, self.library.policy
            session.play = EpisodePlay(
                self.task,
                seed,
                bench.concrete,
                self.task.event_reader(),
                bench.values,
                None if policy is None else policy(seed),
            )
            return session.play.whole()

    def _step(self, body: Body) -> dict[str, Any]:
        """An episode that ends is on disk before the page hears of it."""
        with self.session(body) as session:
            playing = self._under_way(session, body)
            action = None if body.get("action") is None else whole_of(body, "action")
            playing.step(action)
            if not playing.over:
                return playing.moment(body.get("ahead") is not False)
            trajectory = playing.trajectory()
            shelf = KEPT if solved(self.task, trajectory, session.bench.concrete) else ASIDE
            playing.stored = self.store.add(shelf, (playing.seed, trajectory))[0].key
            return {**playing.moment(), "stored": {"key": playing.stored, "shelf": shelf}}

    def _undo(self, body: Body) -> dict[str, Any]:
        """The last step of an episode that is over takes it off its shelf again."""
        with self.session(body) as session:
            playing = self._under_way(session, body)
            playing.undo()
            if playing.stored is not None and self.store.find(playing.stored):
                self.store.remove(playing.stored)
            playing.stored = None
            return playing.whole()

    def _under_way(self, session: Session, body: Body) -> EpisodePlay:
        """The episode that the page believes to be at a step; it is refused where another page has gone on with it."""
        if session.play is None:
            raise SettingError("no episode was begun; begin one")
        if whole_of(body, "at") != session.play.at:
            raise SettingError("another tab goes on with this episode; load this one again")
        return session.play

    # Episodes

    def _episodes(self, body: Body) -> dict[str, Any]:
        with self.session(body):
            return {"episodes": self.library.rows()}

    def _episode(self, body: Body) -> dict[str, Any]:
        with self.session(body) as session:
            return self.library.record(text_of(body, "key", 100), session.bench)

    def _move(self, body: Body) -> dict[str, Any]:
        with self.session(body):
            key, to = text_of(body, "key", 100), text_of(body, "to", 20)
            if to == "nowhere":
                self.store.remove(key)
            elif to in (KEPT, ASIDE):
                self.store.move(key, to)
            else:
                raise SettingError(f"{to}: an episode is {KEPT}, {ASIDE}, or removed")
        return self._episodes(body)

    def _note(self, body: Body) -> dict[str, Any]:
        with self.session(body):
            self.store.note(text_of(body, "key", 100), text_of(body, "text"))
        return {}

    def take_in(self, content: bytes) -> dict[str, Any]:
        """A file of demonstrations that was handed in: read as any other, and kept."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "upload.npz"
            path.write_bytes(content)
            try:
                recorded = demos.load(path, self.task)
            except SrmError as error:  # in which the file has a name that nobody gave it
                raise SettingError(str(error).replace(str(path), "this file")) from None
        if recorded.env_id != self.task.env_id:
            raise SettingError(f"these episodes are of {recorded.env_id}, and {self.task.env_id} is played here")
        self.store.add(KEPT, *zip(recorded.seeds, recorded.trajectories, strict=True))
        return {"count": len(recorded)}
