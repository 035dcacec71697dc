"""One run under way, of `srm train` or of `srm learn`: a policy learns from what it is paid, in a folder.

`begin` or `resume` a run, then `play` it, or take its `rounds`: each is in the log when it is yielded, and closing the iterator early
leaves a checkpoint and what is known so far. `finish` writes the rest. The caller draws progress. What the two verbs do not share is
handed in: their settings, and a `PaySource`, which pays and has files of its own to write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.tasks import find_task, task_in_file
from srm.errors import RunError
from srm.evaluate.success import SuccessReader
from srm.machine.model import Machine
from srm.rl.episodes import EpisodeBook, Recent
from srm.rl.foreign import ForeignLearner, MakeLearner
from srm.rl.learner import Learner, NotFinite, RunLearner
from srm.rl.loop import Round
from srm.rl.saved import load_weights
from srm.runs.config import to_plain
from srm.runs.folder import (
    DEMONSTRATIONS,
    MACHINE,
    POLICY,
    Checkpoint,
    RunWriter,
    checkpoints,
    policy_file,
    read_config,
    read_weights,
    refuse_taken,
    write_weights,
)
from srm.runs.foreign_policy import OWN, make_foreign, make_own
from srm.runs.given import Given
from srm.runs.inputs import Settings, read_inputs, saved_inputs
from srm.runs.kinds import CHECKPOINT_STATE, misfits
from srm.runs.learning import InferredPay
from srm.runs.learning_settings import Learning, learning_of
from srm.runs.origin import origin
from srm.runs.pay_source import PaySource
from srm.runs.records import refuse_finished
from srm.runs.rule_rates import RuleRates
from srm.runs.training import FixedPay, Training, training_of
from srm.seeding import stream
from srm.trajectory import Demonstrations

AnySettings = TypeVar("AnySettings", bound=Settings)
PAY = "pay."  # what a checkpoint's arrays of the pay source begin with


@dataclass(frozen=True)
class Progress:
    """Where a run stands after a round."""

    row: dict[str, float]  # of the log
    frames: int  # to be played in all
    speed: float  # frames a second of this process, since it began
    counted: int  # episodes of which the row has the means
    milestones: Mapping[str, float]  # how often the rules that tell most fire an episode; none without a machine

    @property
    def holes(self) -> dict[str, tuple[float, float]]:
        """Value and spread of each hole, where they are inferred."""
        names = [name.removeprefix("hole.") for name in self.row if name.startswith("hole.")]
        return {name: (self.row[f"hole.{name}"], self.row[f"spread.{name}"]) for name in names}


class Run:
    """One run under way."""

    def __init__(
        self,
        settings: Settings,
        machine: Machine | None,
        demonstrations: Demonstrations | None,
        checkpoint: Checkpoint | None,
        task: Task,
        policy: MakeLearner | None = None,
    ) -> None:
        self.settings, self.machine, self.demonstrations = settings, machine, demonstrations
        self.task = task.using(settings.envs)
        state = _state_of(checkpoint)
        self._first = int(state.get("round", 0))
        self.learner = _make_learner(settings, self.task, demonstrations, self._first, policy)
        self.source = _make_source(settings, self.task, self.learner, machine, demonstrations)
        self.frames = int(state.get("until", 0)) or settings.frames or self.task.frames
        self._requested = bool(state.get("requested", False))  # to go on beyond what the run was begun with
        self._refined: list[str] = list(state.get("refined", []))
        self._recent, self._seconds = Recent(past=state.get("recent")), float(state.get("seconds", 0.0))
        self._rules = None if machine is None else RuleRates(machine)
        self._success = SuccessReader(self.task, machine, lambda _: self.source.paid)
        self._goal = settings.stop_at
        self._over = False  # nothing is left to learn
        self._writer: RunWriter | None = None
        if checkpoint is not None:
            self._load(checkpoint)
        elif isinstance(settings, Training) and settings.from_run is not None:
            assert isinstance(self.learner, Learner)
            begin_as(self.learner, policy_file(settings.from_run))

    @staticmethod
    def begin(settings: Settings, folder: Path, given: Given | None = None) -> Run:
        """A new run; what cannot be trained or learnt makes no folder."""
        task = (given.task if given else None) or find_task(settings.task)
        machine, demonstrations = read_inputs(settings, given)
        refuse_taken(folder)
        settings = settle(settings, task)
        run = Run(settings, machine, demonstrations, None, task, given.policy if given else None)
        kind, key = ("learn", "learning") if isinstance(settings, Learning) else ("train", "training")
        config = {"kind": kind, key: to_plain(settings), **origin(task.env_id, run.stepped_by, typed=given is None)}
        texts = None if machine is None else {MACHINE: str(machine)}
        fill = None if demonstrations is None else lambda part: demos.save(demonstrations, part / DEMONSTRATIONS)
        run._writer = RunWriter.create(folder, config, texts, fill)
        if isinstance(settings, Training) and settings.from_run is not None:
            run._save()  # from here on the other run is not needed
        return run

    @staticmethod
    def resume(folder: Path, frames: int = 0, task: Task | str | None = None) -> Run:
        """Goes on with a run; up to `frames`, if given, rather than to what was last asked for. `task`: as the user names it, if it is
        one of their own."""
        settings = settings_of(folder)
        refuse_finished(folder, frames)
        task = task_in_file(settings.task, folder, task)
        machine, demonstrations = saved_inputs(folder, settings, task)
        writer, checkpoint = RunWriter.resume(folder)
        run = Run(settings, machine, demonstrations, checkpoint, task)
        run._writer = writer
        if frames:
            run.frames, run._requested = frames, True
        if run._recent.reached(run._goal):
            run._over, run._goal = not run._requested, None  # more frames than those to its goal may be asked for
        run._over |= run.learner.frames >= run.frames
        if frames and checkpoint is not None:
            run._save()  # and are asked for, even if the run is killed before it has played any
        return run

    @property
    def writer(self) -> RunWriter:
        assert self._writer is not None
        return self._writer

    @property
    def folder(self) -> Path:
        return self.writer.folder

    @property
    def stepped_by(self) -> str:
        return self.learner.envs.stepped_by

    def rounds(self) -> Generator[Progress]:
        """Learns to the end. Closed early, it saves a checkpoint and can be resumed."""
        start, before, earlier = time.monotonic(), self.learner.frames, self._seconds
        saved = start
        whole = True  # whether the weights are those of a round that went well
        book = EpisodeBook(self.learner.envs.count)
        try:
            if not self._first:
                self.learner.frames += self.source.begin(self.frames)
            self._over = self._over and not self._refine()  # the run may have been stopped before it could
            for round in () if self._over else self.source.rounds(self.frames, self._first):
                # Log
                now = time.monotonic()
                self._seconds = earlier + now - start
                row = self._row(round, book)
                self.writer.row(row)

                # Save
                if now - saved >= self.settings.checkpoint_seconds:
                    self._save()
                    saved = now

                # Show
                speed = (round.frames - before) / max(now - start, 1e-9)
                milestones = {} if self._rules is None else self._rules.milestones()
                yield Progress(row, self.frames, speed, self._recent.counted, milestones)

                # Stop
                if (round.frames >= self.frames or self._recent.reached(self._goal)) and not self._refine():
                    break
        except NotFinite as problem:
            whole = False
            raise RunError(f"{_diverged(self.folder, self.learner.rounds, problem)}{self.source.rates}") from None
        except (Exception, KeyboardInterrupt):
            whole = False
            raise
        finally:
            if whole:
                self._save()
            self.writer.close()
            self.learner.envs.close()

    def _row(self, round: Round, book: EpisodeBook) -> dict[str, float]:
        episodes = book.read(round.rollout, self._success.read(round.rollout))
        self._recent.add(episodes)
        if self._rules is not None and self.source.paid is not None:
            self._rules.add(self.source.paid, round.rollout.terminated | round.rollout.truncated)
        return {
            "round": self.learner.rounds,
            "frames": round.frames,
            "seconds": self._seconds,
            **self._recent.means(),
            "episodes": len(episodes),
            "paid": round.paid,
            **self.source.columns(round),
            **({} if self._rules is None else self._rules.row()),
            **round.losses,
        }

    def play(self, is_stopped: Callable[[], bool], *watchers: Callable[[Progress], None]) -> None:
        """The rounds to their end, or to the one after which somebody wants to stop. Each is shown to the watchers."""
        with closing(self.rounds()) as rounds:  # closed early, they leave a checkpoint
            for progress in rounds:
                for watch in watchers:
                    watch(progress)
                if is_stopped():
                    break

    def finish(self) -> dict[str, Any]:
        """Writes the policy, the summary and what the pay source leaves of a run that has come to its end. Returns the summary."""
        try:
            with self.writer.reopened():
                outcome = self.source.write(self.writer)
                about = {"learning": to_plain(self.settings.learning)}
                write_weights(self.folder / POLICY, net_weights(self.learner), about)
                played = {"frames": self.learner.frames, "rounds": self.learner.rounds, "seconds": self._seconds}
                refined = {"refined": self._refined} if self._refined else {}
                summary = {**played, **self._recent.summary(), **outcome, **refined}
                self.writer.finish(summary)
                return summary
        finally:
            self.close()

    def close(self) -> None:
        """Lets go of what only a run that goes on needs."""
        self.source.close()

    def _refine(self) -> bool:
        """At its end: whether the run goes on for as long again, with more evidence."""
        refinement = self.source.refine(len(self._refined))
        if refinement is None:
            return False
        self._refined.append(refinement.sentence)
        self.learner.frames += refinement.frames
        self._recent, self._goal = Recent(), self.settings.stop_at
        if self._rules is not None:
            self._rules.forget()
        self.frames = self.learner.frames + (self.settings.frames or self.task.frames)
        return True

    def _save(self) -> None:
        tensors = {name: value.numpy() for name, value in self.learner.tensors().items()}
        source = {f"{PAY}{name}": value for name, value in self.source.arrays().items()}
        rules = {} if self._rules is None else self._rules.arrays()
        state = {
            "round": self.learner.rounds,
            "frames": self.learner.frames,
            "seconds": self._seconds,
            "recent": self._recent.past(),
            "until": self.frames,
            "requested": self._requested,
            "refined": self._refined,
        }
        self.writer.checkpoint({**tensors, **source, **rules}, state)
        self.source.write_known(self.writer)

    def _load(self, checkpoint: Checkpoint) -> None:
        arrays, rounds = checkpoint.tensors, int(checkpoint.state["round"])
        source = {name.removeprefix(PAY): value for name, value in arrays.items() if name.startswith(PAY)}
        try:
            self.learner.load(as_tensors(arrays), int(checkpoint.state["frames"]), rounds)
            self.source.load(source, rounds)
            if self._rules is not None:
                self._rules.load(arrays)
        except RunError as problem:
            raise RunError(f"{checkpoint.path}: {problem}") from None


def settle(settings: AnySettings, task: Task) -> AnySettings:
    """The same with every default as it is for what is observed and done in the task."""
    envs = task.using(settings.envs).make_envs(1, settings.seed)
    try:
        return replace(settings, learning=settings.learning.settle(envs))
    finally:
        envs.close()


def _make_learner(
    settings: Settings, task: Task, demonstrations: Demonstrations | None, began: int, policy: MakeLearner | None
) -> RunLearner:
    """A fresh learner in envs of its own. `began`: the round after which the run goes on. `policy` makes one that is not ours."""
    # Envs cannot be put back to where they were: a resumed run plays other episodes than those already seen.
    seed = int(stream(settings.seed, f"resumed at {began}").integers(2**31)) if began else settings.seed
    foreign = settings.policy if isinstance(settings, Learning) else None
    if foreign is not None and policy is None:
        return _foreign_learner(settings, task, demonstrations, seed)
    envs = task.make_envs(settings.learning.ppo.num_envs, seed)
    if policy is not None:
        return make_own(policy, envs, seed)
    if demonstrations is None:
        return settings.learning.make(envs, settings.seed)
    demos.refuse_misfit(demonstrations, envs)
    return settings.learning.make(envs, settings.seed, demonstrations.as_rollout())


def _foreign_learner(
    settings: Settings, task: Task, demonstrations: Demonstrations | None, seed: int
) -> ForeignLearner:
    assert isinstance(settings, Learning)
    if settings.policy == OWN:
        raise RunError("this run was begun with a learner of your own, which its folder does not hold; begin a new one")
    assert settings.policy is not None
    learner = make_foreign(settings.policy, settings.sb3, task, seed)
    if demonstrations is not None:
        demos.refuse_misfit(demonstrations, learner.envs)
    return learner


def _make_source(
    settings: Settings, task: Task, learner: RunLearner, machine: Machine | None, demonstrations: Demonstrations | None
) -> PaySource:
    if isinstance(settings, Training):
        assert isinstance(learner, Learner)
        return FixedPay(settings, task, learner, machine, demonstrations)
    assert machine is not None
    assert demonstrations is not None
    return InferredPay(settings, task, learner, machine, demonstrations)


def settings_of(folder: Path) -> Settings:
    """What a run of either verb was asked for."""
    return learning_of(folder) if read_config(folder).get("kind") == "learn" else training_of(folder)


def begin_as(learner: Learner, policy: Path) -> None:
    """With the weights of a policy that another run has trained, and everything else new."""
    try:
        load_weights(learner.net, "net", as_tensors(read_weights(policy)[0]))
    except RunError as problem:
        raise RunError(
            f"{policy}: {problem}; --from-run needs the --learner, --net and --network of that run"
        ) from None


def as_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(value) for name, value in arrays.items()}


def net_weights(learner: RunLearner) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in learner.weights().items()}


def _diverged(folder: Path, round: int, problem: NotFinite) -> str:
    """What to do about learning that has diverged; the last words are the flag to turn down."""
    saved = checkpoints(folder)
    good = f"the last good checkpoint is {saved[-1]}" if saved else "no checkpoint was written before"
    return f"{folder}: round {round}: {problem}; {good}; try a smaller --ppo.learning-rate"


def _state_of(checkpoint: Checkpoint | None) -> dict[str, Any]:
    """What a checkpoint says beside its arrays; a damaged one is refused."""
    if checkpoint is None:
        return {}
    state = checkpoint.state
    fits = next(misfits(CHECKPOINT_STATE, state), None) is None
    numbers = [state.get(name, 0) for name in ("round", "frames", "until", "seconds")] if fits else [-1]
    if fits and min(numbers) >= 0 and all(len(row) in (2, 3) for row in state.get("recent") or ()):
        return state
    raise RunError(f"{checkpoint.path} is damaged; delete it to go on from the checkpoint before")
