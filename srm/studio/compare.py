"""Comparing two episodes: which pair to ask about, the answers on disk, and what they have taught.

    S draws    B episodes    H holes

Draws of the posterior come from a process of its own. Answers that are newer than the draws weigh them, so that the next pair follows at
once; after a few of them the posterior is drawn anew, beside everything else.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srm.domains.preferences import (
    ANSWERS,
    ActionsFromSeed,
    AnsweredPair,
    Preferences,
    read_preferences,
    write_preferences,
)
from srm.domains.record import UNKNOWN_SEED
from srm.errors import SettingError
from srm.evaluate import batched
from srm.infer.posterior.preferences import SIDES, log_answer, next_pair
from srm.report.html.numbers import counted
from srm.seeding import stream
from srm.studio.bench import Bench
from srm.studio.edit import Edit
from srm.studio.episodes import ListedEpisode
from srm.studio.security import text_of
from srm.studio.store import KEPT
from srm.studio.studio import MOST_SESSIONS, Body, Session, Studio

MOST_COMPARED = 60  # episodes
ANEW = 4  # answers after which the posterior is drawn anew


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the holes of one machine."""

    machine: str  # its text, with the holes open
    draws: np.ndarray  # [S, H]
    values: dict[str, float] | None
    answers: int  # how many of them the draws have read
    first: np.ndarray  # [2, H] the 90 % interval before any of this tab's answers


class ComparePart:
    """The part of the studio that compares."""

    def __init__(self, studio: Studio, edit: Edit) -> None:
        self.studio, self._edit = studio, edit
        kept = studio.store.shelves[KEPT].path
        self.path = kept.with_name(f"{kept.stem}-preferences.jsonl")
        self._lock = threading.RLock()
        self._known: dict[str, Known] = {}  # by session
        self._drawing: dict[str, tuple[Mapping[str, Any], Future[Known | None]]] = {}  # by session: what is under way
        self._pool = ThreadPoolExecutor(MOST_SESSIONS, "draws")
        task = studio.task
        self.preferences = (
            read_preferences(self.path, task) if self.path.exists() else Preferences(task.name, task.env_id, ())
        )
        questions = {"known": self._values, "pair": self._pair, "answer": self._answer}
        studio.add(questions, self._saved)

    # Questions

    def _saved(self) -> list[str]:
        count = len(self.preferences.comparisons)
        return [f"{self.path}: {counted(count, 'answer')}"] if count else []

    def _values(self, body: Body) -> dict[str, Any]:
        """What the demonstrations suggest that holes are worth; it takes seconds, and makes the first pair come at once."""
        with self.studio.session(body) as session:
            bench = session.bench
        known = self._draw(session, bench).result() if bench.machine.holes else None
        return {"values": None if known is None else known.values}

    def _pair(self, body: Body) -> dict[str, Any]:
        """Two episodes to compare. The first time the posterior has to be drawn, which takes seconds."""
        if self.studio.unplayable:
            return {
                "empty": "Episodes are compared where a person can play them; the actions of this task are numbers."
            }
        with self.studio.session(body) as session:
            bench = session.bench
            if not bench.machine.holes:
                return {
                    "empty": "Answers tell what holes are worth, and this machine has none. Write one with holes in Edit."
                }
            known = self._known.get(session.id)
        if known is None or known.machine != str(bench.machine):
            known = self._draw(session, bench).result()
        if known is None:
            return {"overtaken": True}
        episodes = self._episodes()
        if len(episodes) < 2:
            return {"empty": "There are fewer than two episodes. Play some."}
        totals = self._totals(bench, known.draws, episodes)
        weight = self._weight(known, totals, episodes)
        pair = next_pair(totals, weight, self._seen(episodes), stream(len(self.preferences.comparisons), "next pair"))
        if pair is None:
            return {"empty": "You have compared every pair. Play more episodes, and come back."}
        left, right = (episodes[place] for place in pair)
        return {
            "left": {"key": left.key, **self.studio.library.record(left.key, bench)},
            "right": {"key": right.key, **self.studio.library.record(right.key, bench)},
            "count": len(self.preferences.comparisons),
            "file": self.path.name,
            "holes": _holes(bench, known, weight),
            "values": known.values,
        }

    def _answer(self, body: Body) -> dict[str, Any]:
        """One more answer, on disk before the next pair is shown."""
        answer: Any = text_of(body, "answer", 20)
        if answer not in ANSWERS:
            raise SettingError(f"{answer}: expected one of {', '.join(ANSWERS)}")
        library = self.studio.library
        left, right = (_episode(library.find(text_of(body, side, 100))) for side in ("left", "right"))
        with self._lock:
            comparisons = (*self.preferences.comparisons, AnsweredPair(left, right, answer))
            changed = replace(self.preferences, comparisons=comparisons)
            write_preferences(self.path, changed)
            self.preferences = changed
        with self.studio.session(body) as session:
            known, bench = self._known.get(session.id), session.bench
        behind = 0 if known is None else len(self.preferences.comparisons) - known.answers
        if known is not None and known.machine == str(bench.machine) and behind >= ANEW:
            self._draw(session, bench)  # nobody waits for it: the next pair is chosen by the draws there are
        return self._pair(body)

    # The posterior

    def _draw(self, session: Session, bench: Bench) -> Future[Known | None]:
        """The same question, asked again while it is under way, is one. None if a newer one took its place."""
        with self._lock:
            asked_of = self.path if self.preferences.comparisons else None
        question = {
            "posterior": str(bench.machine),
            "constraint": "none" if bench.constraint is None else bench.constraint.name,
            "demos": self._edit.demo_files(),
            "preferences": None if asked_of is None else str(asked_of),
        }
        with self._lock:
            under_way = self._drawing.get(session.id)
            if under_way is None or under_way[0] != question:
                under_way = self._drawing[session.id] = (question, self._pool.submit(self._ask, session, question))
        return under_way[1]

    def _ask(self, session: Session, question: Mapping[str, Any]) -> Known | None:
        try:
            answer = session.sampler.ask("draws", question)
        finally:
            with self._lock:
                if self._drawing.get(session.id, (None,))[0] is question:
                    del self._drawing[session.id]
        before = self._known.get(session.id)
        if answer is None:
            return before
        draws, machine = np.array(answer["draws"]), question["posterior"]
        first = (
            before.first
            if before is not None and before.machine == machine
            else np.quantile(draws, (0.05, 0.95), axis=0)
        )
        known = self._known[session.id] = Known(machine, draws, answer["values"], answer["answers"], first)
        return known

    def _weight(self, known: Known, totals: np.ndarray, episodes: Sequence[ListedEpisode]) -> np.ndarray:
        """How likely each draw [S] finds the answers that it has not read."""
        place = {_episode(episode): index for index, episode in enumerate(episodes)}
        log = np.zeros(len(totals))
        for pair in self.preferences.comparisons[known.answers :]:
            if pair.is_evidence and pair.left in place and pair.right in place:
                d = totals[:, place[pair.left]] - totals[:, place[pair.right]]
                log += log_answer(d)[1 - SIDES[pair.answer]]
        weight: np.ndarray = np.exp(log - log.max())
        return weight

    def _totals(self, bench: Bench, draws: np.ndarray, episodes: Sequence[ListedEpisode]) -> np.ndarray:
        """[S, B]."""
        paid = batched.pay(self._edit.residual(bench.machine, episodes), draws)
        sums = np.zeros((len(paid.env), len(episodes)))
        sums[np.arange(len(paid.env)), paid.env] = 1.0
        totals: np.ndarray = paid.pay @ sums
        return totals

    def _episodes(self) -> list[ListedEpisode]:
        """Those that can be played again; the first of each group before the second of any."""
        known = [episode for episode in self.studio.library.with_play() if episode.seed != UNKNOWN_SEED]
        return sorted({e.key: e for e in known}.values(), key=lambda episode: episode.number)[:MOST_COMPARED]

    def _seen(self, episodes: Sequence[ListedEpisode]) -> list[tuple[int, int]]:
        place = {_episode(episode): index for index, episode in enumerate(episodes)}
        pairs = ((pair.left, pair.right) for pair in self.preferences.comparisons)
        return [(place[left], place[right]) for left, right in pairs if left in place and right in place]


def _episode(episode: ListedEpisode) -> ActionsFromSeed:
    return ActionsFromSeed(episode.seed, tuple(episode.trajectory.actions.tolist()))


def _holes(bench: Bench, known: Known, weight: np.ndarray) -> list[dict[str, Any]]:
    """The 90 % interval of each hole, now and before the first answer of this tab."""
    share, holes = weight / weight.sum(), []
    for index, name in enumerate(bench.machine.hole_names):
        order = np.argsort(known.draws[:, index])
        low, high = (
            float(known.draws[order, index][np.searchsorted(np.cumsum(share[order]), q)]) for q in (0.05, 0.95 - 1e-9)
        )
        before = known.first[:, index].tolist()
        holes.append({"name": name, "low": low, "high": high, "before": before})
    return holes
