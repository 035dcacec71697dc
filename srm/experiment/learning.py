"""Infer the holes of a machine and train a policy on it, in a run folder.

    machine.srm            the machine with its holes open
    demonstrations.npz     those it was inferred from
    log.csv                one row a round, with every hole and its spread
    learnt.srm             the machine with values and spreads
    posterior.json         what is known of each hole, and by what it was set
    draws.safetensors      draws of the posterior; not with the other ways of inferring
    check.json             what can be proved about the learnt machine
    episodes.json          demonstrations and episodes of the policy, and what they were paid
    report.html            all of it to look at

`begin` or `resume` a run, then take its rounds: each is in the log when it is yielded, and closing the iterator early leaves a
checkpoint. `finish` writes the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
import torch

from srm.chance import stream
from srm.errors import RunError
from srm.evaluate.batched import assignment_of
from srm.experiment.config import to_plain
from srm.experiment.episodes import EPISODES, record_episodes
from srm.experiment.given import Given
from srm.experiment.inference import HoleInference, check_solution
from srm.experiment.learning_settings import Learning, constraint_of, learning_of, read_inputs
from srm.experiment.origin import origin
from srm.experiment.run import (
    POLICY,
    Checkpoint,
    RunWriter,
    as_json,
    refuse_finished,
    refuse_taken,
    write_bytes,
    write_weights,
)
from srm.experiment.solution import Solution
from srm.experiment.training import (
    DEMONSTRATIONS,
    MACHINE,
    NO_CONSTRAINT,
    Progress,
    diverged,
    held_to,
    net_weights,
)
from srm.infer.belief import Belief
from srm.infer.loop import Round, infer
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.live import LivePosterior
from srm.infer.project import Floats
from srm.machine.check import check
from srm.machine.model import Machine
from srm.machine.parse import load
from srm.task import demos
from srm.task.table import Task, find_task
from srm.train.actor import Actor
from srm.train.episodes import EpisodeBook, Recent
from srm.train.learner import NotFinite
from srm.train.trial import WHOLE_ENVS, play_whole
from srm.trajectory import Demonstrations

LEARNT, POSTERIOR, DRAWS, CHECK = "learnt.srm", "posterior.json", "draws.safetensors", "check.json"


@dataclass(frozen=True)
class Stand(Progress):
    """Where a learning run stands after a round."""

    belief: Belief
    holes: tuple[str, ...]


class LearningRun:
    """One run under way."""

    def __init__(
        self,
        learning: Learning,
        machine: Machine,
        shown: Demonstrations,
        checkpoint: Checkpoint | None,
        task: Task | None = None,
    ) -> None:
        self.learning, self.machine, self.demonstrations = learning, machine, shown
        self.task = task or find_task(learning.task)
        self.inference = HoleInference.of(
            learning.infer,
            self.task,
            machine,
            constraint_of(machine, learning.constraint),
            shown,
            learning.infer_config,
            learning.posterior,
            learning.seed,
            allow_farming=learning.allow_farming or learning.as_printed,
        )
        state = _state_of(checkpoint)
        self.frames = int(state.get("until", 0)) or learning.frames or self.task.frames
        self._first = int(state.get("round", 0))
        # Worlds cannot be put back to where they were: a resumed run plays other episodes than those already seen.
        again = int(stream(learning.seed, f"resumed at {self._first}").integers(2**31))
        ppo = learning.learning.ppo
        worlds = self.task.make_worlds(ppo.worlds, again if self._first else learning.seed)
        demos.refuse_misfit(shown, worlds)
        self.learner = learning.learning.make(worlds, learning.seed)
        self.holes = self.inference.make(worlds.actions, ppo.worlds, ppo.steps, learning.cores)
        self._refined: list[str] = list(state.get("refined", []))  # what was found each time
        self._recent, self._seconds = Recent(past=state.get("recent")), float(state.get("seconds", 0.0))
        self._asked = bool(state.get("asked", False))  # to go on beyond what the run was begun with
        self._goal = learning.stop_at
        self._over = False  # nothing is left to learn
        self._writer: RunWriter | None = None
        if checkpoint is not None:
            self._load(checkpoint)

    @staticmethod
    def begin(learning: Learning, folder: Path, given: Given | None = None) -> LearningRun:
        """A new run; what cannot be learnt makes no folder."""
        machine, shown = read_inputs(learning, given)
        refuse_taken(folder)
        run = LearningRun(learning, machine, shown, None, given.task if given else None)
        about = origin(run.task.env_id, typed=given is None)
        config = {"kind": "learn", "learning": to_plain(learning), **about}
        run._writer = RunWriter.create(
            folder, config, {MACHINE: str(machine)}, lambda part: demos.save(shown, part / DEMONSTRATIONS)
        )
        return run

    @staticmethod
    def resume(folder: Path, frames: int = 0, task: Task | None = None) -> LearningRun:
        """Goes on with a run; up to `frames`, if given, rather than to what was last asked for."""
        learning = learning_of(folder)
        refuse_finished(folder, frames)
        task = task or find_task(learning.task)
        machine, shown = load(folder / MACHINE), demos.load(folder / DEMONSTRATIONS, task)
        writer, checkpoint = RunWriter.resume(folder)
        run = LearningRun(learning, machine, shown, checkpoint, task)
        run._writer = writer
        if frames:
            run.frames, run._asked = frames, True
        if run._recent.reached(run._goal):
            run._over, run._goal = not run._asked, None  # more frames than those to its goal may be asked for
        run._over |= run.learner.frames >= run.frames
        if frames and checkpoint is not None:
            run._save()  # and are asked for, even if the run is killed before it has played any
        return run

    @property
    def writer(self) -> RunWriter:
        assert self._writer is not None
        return self._writer

    def rounds(self) -> Generator[Stand, None, None]:
        """Learns to the end. Closed early, it saves a checkpoint and can be resumed."""
        start, before, earlier = time.monotonic(), self.learner.frames, self._seconds
        saved, whole = start, True
        book = EpisodeBook(self.learner.player.worlds.count)
        waiting: list[dict[str, Any]] = []  # the first rows, which do not know the columns of all losses yet
        try:
            if not self._first:
                self.learner.frames += self.inference.begin(self.holes, self.frames)
            self._over = self._over and not self._refine()  # the run may have been stopped before it could
            for round in () if self._over else infer(self.learner, self.holes, self.inference.config, self._first):
                episodes = book.read(round.rollout)
                self._recent.add(episodes)
                now = time.monotonic()
                self._seconds = earlier + now - start
                waiting.append(self._row(round, len(episodes)))
                if round.index >= max(self.inference.config.warm_up, 1):
                    waiting = self._write(waiting)
                    if now - saved >= self.learning.checkpoint_seconds:
                        self._save()
                        saved = now
                speed = (round.frames - before) / max(now - start, 1e-9)
                row = self._row(round, len(episodes))
                yield Stand(row, self.frames, speed, self._recent.counted, round.belief, self.machine.hole_names)
                if (round.frames >= self.frames or self._recent.reached(self._goal)) and not self._refine():
                    break
            waiting = self._write(waiting)
        except NotFinite as problem:
            whole = False
            told = diverged(self.writer.folder, f"round {self.learner.rounds}: {problem}")
            more = (
                ", --reward-net.learning-rate or --sampler.learning-rate" if self.learning.infer == "algorithm1" else ""
            )
            raise RunError(f"{told}{more}") from None
        except (Exception, KeyboardInterrupt):
            whole = False
            raise
        finally:
            if whole and not waiting:
                self._save()
            self.writer.close()
            self.learner.player.worlds.close()

    def _write(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            self.writer.row({name: row.get(name) for name in rows[-1]})
        return []

    def _row(self, round: Round, episodes: int) -> dict[str, Any]:
        names, belief = self.machine.hole_names, round.belief
        return {
            "round": round.index + 1,
            "frames": round.frames,
            "seconds": self._seconds,
            **self._recent.means(),
            "episodes": episodes,
            "paid": float(round.pay[round.rollout.real].mean()),
            **{f"hole.{name}": float(value) for name, value in zip(names, belief.mode, strict=True)},
            **{f"spread.{name}": float(value) for name, value in zip(names, belief.spread, strict=True)},
            "idle": belief.idle,
            **round.losses,
        }

    def finish(self) -> dict[str, Any]:
        """Writes what was learnt, and the report of it. Returns the summary."""
        self.holes.finish()
        try:
            with self.writer.reopened():
                return self._write_outcome()
        finally:
            self.holes.close()

    def _write_outcome(self) -> dict[str, Any]:
        writer, constraint = self.writer, self.inference.constraint
        play = self._play()
        outcome = self.inference.outcome(self.holes, play.rollout)
        concrete = held_to(self.machine.concretize(outcome.values, outcome.spreads), constraint)
        writer.text(LEARNT, str(concrete))
        writer.text(POSTERIOR, as_json(outcome.posterior))
        if outcome.draws is not None:
            write_bytes(writer.folder / DRAWS, outcome.draws)
        checked = check(concrete, self.task.words, constraint.name if constraint else NO_CONSTRAINT)
        writer.text(CHECK, as_json(checked.as_json()))
        config = to_plain(self.learning.learning)
        write_weights(writer.folder / POLICY, net_weights(self.learner), {"learning": config})
        actor = Actor(self.learner.net, self.learning.seed)
        with self.learner.net.fixed():
            recorded = record_episodes(
                self.task, concrete, self.demonstrations, actor, self.learning.episodes, self.learning.seed
            )
        writer.text(EPISODES, dumps(recorded))
        solution = self._check_solution(assignment_of(concrete), play)
        played = {"frames": self.learner.frames, "rounds": self.learner.rounds, "seconds": self._seconds}
        checked_solution = {} if solution is None else {"solution": solution.to_json(), "solution_text": str(solution)}
        summary = played | self._recent.summary() | checked_solution
        if self._refined:
            summary["refined"] = self._refined
        writer.finish(summary)
        return summary

    def _play(self) -> Play:
        """Whole episodes of the policy as it is, in envs of their own."""
        envs = self.task.make_worlds(WHOLE_ENVS, int(stream(self.learning.seed, "solution").integers(2**31)))
        try:
            rollout, log_prob = play_whole(self.learner.net, envs, self.learning.seed)
        finally:
            envs.close()
        return Play(rollout, log_prob, self.learner.log_probs(self.holes.demonstrated))

    def _check_solution(self, values: Floats, play: Play) -> Solution | None:
        """The paper's condition under these values."""
        discount, vocabulary = self.learning.learning.ppo.discount, self.task.vocabulary()
        return check_solution(self.machine, vocabulary, values, self.holes.demonstrated, play.rollout, discount)

    def _refine(self) -> bool:
        """Where the policy out-earns the demonstrations: its play becomes evidence, and training goes on for as long again."""
        if len(self._refined) >= self.learning.refine or not isinstance(self.holes, LivePosterior):
            return False
        play = self._play()
        solution = self._check_solution(self.holes.belief.mode, play)
        if solution is None or not solution.fails:
            return False
        self.holes.add(play)
        self._refined.append(f"after {self.learner.frames:,} frames {solution}")
        self.learner.frames += int(play.rollout.real.sum())
        self._recent, self._goal = Recent(), self.learning.stop_at
        self.frames = self.learner.frames + (self.learning.frames or self.task.frames)
        return True

    def _save(self) -> None:
        tensors = {name: value.numpy() for name, value in self.learner.tensors().items()}
        arrays = {f"holes.{name}": value for name, value in self.holes.arrays().items()}
        state = {
            "round": self.learner.rounds,
            "frames": self.learner.frames,
            "seconds": self._seconds,
            "recent": self._recent.past(),
            "until": self.frames,
            "asked": self._asked,
            "refined": self._refined,
        }
        self.writer.checkpoint({**tensors, **arrays}, state)

    def _load(self, checkpoint: Checkpoint) -> None:
        arrays = checkpoint.tensors
        tensors = {name: torch.from_numpy(value) for name, value in arrays.items() if not name.startswith("holes.")}
        try:
            self.learner.load(tensors, int(checkpoint.state["frames"]), self._first)
            self.holes.load({n.removeprefix("holes."): value for n, value in arrays.items() if n.startswith("holes.")})
        except RunError as problem:
            raise RunError(f"{checkpoint.path}: {problem}") from None


def _state_of(checkpoint: Checkpoint | None) -> dict[str, Any]:
    """What a checkpoint says beside its arrays; a damaged one is refused."""
    if checkpoint is None:
        return {}
    state = checkpoint.state
    try:
        numbers = [float(state.get(name, 0)) for name in ("round", "frames", "until", "seconds")]
        past = np.array(state.get("recent") or [], np.float64).reshape(-1, 2)
        sentences = all(isinstance(sentence, str) for sentence in state.get("refined", []))
        if min(numbers) >= 0 and max(numbers) < math.inf and np.isfinite(past).all() and sentences:
            return state
    except (TypeError, ValueError):
        pass
    raise RunError(f"{checkpoint.path} is damaged; delete it to go on from the checkpoint before")
