"""Editing a machine: what can be proved of it as it stands, what every episode would be paid, and its files.

    K = 1 assignment    N entries    B episodes

Episodes are read once with the holes left open; a slider that moves pays all of them anew by one call of the batched evaluator.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains import demonstrations as demos
from srm.errors import DemonstrationError, SettingError
from srm.evaluate import batched
from srm.evaluate.payer import read_rollout
from srm.evaluate.program import Program
from srm.evaluate.symbolic import Residual
from srm.files import write_whole
from srm.machine.language.parse import library, library_text
from srm.machine.language.source import read_source
from srm.machine.model import Machine
from srm.studio.bench import Bench
from srm.studio.episodes import DEMONSTRATED, ListedEpisode
from srm.studio.paths import files, inside
from srm.studio.security import numbers_of, text_of
from srm.studio.store import KEPT
from srm.studio.studio import Body, Studio
from srm.trajectory import as_rollout

MOST_RANKED = 300  # episodes that are paid anew


class Edit:
    """The part of the studio that edits."""

    def __init__(self, studio: Studio, given: Path | None) -> None:
        """`given` is the file of demonstrations that the user names; those that ship unless given."""
        self.studio, self._given = studio, given
        self._lock = threading.Lock()
        self._read: tuple[Machine, tuple[str, ...], Residual] | None = None  # the episodes that were read last
        studio.add(
            {
                "check": self._check,
                "propose": self._propose,
                "pay": self._pay,
                "files": self._files,
                "file": self._file,
                "save": self._save,
            }
        )

    # Proofs

    def _check(self, body: Body) -> dict[str, Any]:
        """What `srm check` finds of the tab's machine: with its holes open, or (`concrete`) with the values they have here."""
        with self.studio.session(body) as session:
            bench = session.bench
        question = {
            "check": str(bench.machine),
            "constraint": "none" if bench.constraint is None else bench.constraint.name,
            "values": dict(bench.values) if body.get("concrete") and bench.machine.holes else None,
        }
        kinds = ("values",) if body.get("concrete") else ("holes", "values")  # what values break is asked after
        answer = session.prover.ask(kinds[0], question, *kinds[1:])
        return {"overtaken": True} if answer is None else answer

    def _propose(self, body: Body) -> dict[str, Any]:
        """The machine that the demonstrations suggest; nothing is changed."""
        with self.studio.session(body) as session:
            prover = session.prover
        answer = prover.ask("propose", {"propose": True, "demos": self.demo_files()})
        return {"overtaken": True} if answer is None else answer

    def demo_files(self) -> list[str]:
        """Where demonstrations are: those that were given or ship, and those kept here."""
        given = self._given
        if given is None:
            with suppress(DemonstrationError):
                given = demos.shipped(self.studio.task)
        kept = self.studio.store.shelves[KEPT].path
        return [str(path) for path in (given, kept) if path is not None and path.exists()]

    # Pay

    def _pay(self, body: Body) -> dict[str, Any]:
        """All episodes under the tab's values, which may be changed by the same question."""
        with self.studio.session(body) as session:
            if "values" in body:
                session.bench = session.bench.with_values(numbers_of(body, "values"))
            bench = session.bench
        episodes = self.studio.library.with_play()[:MOST_RANKED]
        if not episodes:
            return {"episodes": [], "verdict": "There is no episode yet. Play one.", "margins": bench.margins()}
        totals = self.totals(bench, episodes)
        rows: list[dict[str, Any]] = [
            {
                "key": e.key,
                "name": e.name,
                "group": e.group,
                "pay": float(f"{total:.6g}"),
                "return": e.trajectory.total_reward,
            }
            for e, total in zip(episodes, totals.tolist(), strict=True)
        ]
        rows.sort(key=lambda row: row["pay"], reverse=True)
        return {"episodes": rows, "verdict": verdict(rows), "margins": bench.margins()}

    def totals(self, bench: Bench, episodes: Sequence[ListedEpisode]) -> np.ndarray:
        """What each episode is paid in all, [B]."""
        paid = batched.pay(self.residual(bench.machine, episodes), bench.assignment[None])
        return np.bincount(paid.env, paid.pay[0], minlength=len(episodes))

    def residual(self, machine: Machine, episodes: Sequence[ListedEpisode]) -> Residual:
        """The episodes as the machine sees them, holes open; those that were read last are not read again."""
        keys = tuple(episode.key for episode in episodes)
        with self._lock:
            if self._read is None or self._read[:2] != (machine, keys):
                reader = self.studio.task.event_reader()
                rollout = as_rollout([episode.trajectory for episode in episodes])
                residual, _ = read_rollout(Program(machine, reader.vocabulary), reader, rollout)
                self._read = (machine, keys, residual)
            return self._read[2]

    # Files

    def _files(self, _: Body) -> dict[str, Any]:
        return {"files": list(files(self.studio.folder, ".srm")), "library": list(library())}

    def _file(self, body: Body) -> dict[str, Any]:
        """The text of a machine, of the library or of a file below the studio's folder."""
        name = text_of(body, "name", 200)
        if name in library():
            return {"text": library_text(name)}
        return {"text": read_source(inside(self.studio.folder, name, ".srm")).text}

    def _save(self, body: Body) -> dict[str, Any]:
        """Writes the text, or the machine with the values it has here. A file that is there stays, unless `over` says so."""
        name = text_of(body, "name", 200)
        path = inside(self.studio.folder, name, ".srm")
        with self.studio.session(body) as session:
            bench = session.bench
        text = text_of(body, "text")
        if body.get("values"):
            if bench.text != text:
                raise SettingError("the text is no machine yet, so it has no values; mend it first")
            text = str(bench.concrete)
        if path.exists() and not body.get("over"):
            return {"exists": name}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
        return {"name": name, "folder": str(Path(self.studio.folder))}


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Whether those who show how it is done earn more than all others."""
    shows = [row for row in rows if row["group"] in DEMONSTRATED]
    others = [row for row in rows if row["group"] not in DEMONSTRATED]
    if not shows:
        return "There is no demonstration yet. Play one, and keep it."
    if not others:
        return "There is nothing to compare demonstrations with. Play an episode, and set it aside."
    best = max(others, key=lambda row: row["pay"])
    beaten = [row for row in shows if row["pay"] <= best["pay"]]
    if not beaten:
        return f"Every demonstration earns more than each of the {len(others)} other episodes."
    count = "every demonstration" if len(beaten) == len(shows) else f"{len(beaten)} of {len(shows)} demonstrations"
    return f"{best['name']} earns as much as {count} or more, and it shows nothing that you want."
