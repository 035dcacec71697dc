"""Train one policy on the task's reward, on a machine's, or to act as in demonstrations, in a run folder.

`begin` or `resume` a run, then take its rounds: each is in the log when it is yielded, and closing the iterator early leaves a
checkpoint. The caller draws progress.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from srm.errors import MachineError, RunError, SettingError
from srm.experiment.config import from_plain, to_plain
from srm.experiment.origin import origin
from srm.experiment.part import IMITATING, Plan, partner
from srm.experiment.run import (
    DEMONSTRATIONS,
    MACHINE,
    POLICY,
    Checkpoint,
    RunWriter,
    checkpoints,
    policy_file,
    read_config,
    refuse_finished,
    refuse_taken,
    write_weights,
)
from srm.infer.imitation import ImitationConfig
from srm.infer.random_holes import filled
from srm.machine.check import refuse_unfit
from srm.machine.model import Machine, held_to
from srm.machine.parse import find_machine, load
from srm.settings import NUMBER, ZERO_OR_MORE
from srm.task import demos
from srm.task.table import Task, find_task
from srm.train.episodes import Episodes, Recent
from srm.train.learner import Learner, NotFinite
from srm.train.loop import Round, train
from srm.train.make import LearnerConfig
from srm.trajectory import Demonstrations

TASK = "task"
NO_CONSTRAINT = "none"


@dataclass(frozen=True)
class Training:
    """What is trained, on what, for how long."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = ""
    """a task or one of its environments, as `srm tasks` lists them"""
    reward: str = TASK
    """what the policy is paid: `task` for the task's own reward, a machine (a file or a name of the library), or `gail` or `gan_gcl` for acting as in demonstrations"""
    holes: Literal["written", "uniform", "penalty"] = "written"
    """the machine's values: those written in it, or random ones that keep its constraint, drawn uniformly or found by J_con alone"""
    draw: int = 0
    """which of the random assignments"""
    constraint: str | None = None
    """which of the machine's constraints random values keep, or none; its first unless told"""
    demos: Path | None = None
    """file of the demonstrations to imitate; those that ship with the package unless told"""
    count: Annotated[int | None, tyro.conf.arg(aliases=["-n"])] = None
    """imitate only the first so many"""
    from_run: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """begin with the policy that this run has trained, in a smaller world for instance, in place of a fresh one"""
    frames: int = 0
    """steps to play; 0: what the task's table says"""
    stop_at: float | None = None
    """stop earlier, once the mean return of the last hundred episodes is this high"""
    seed: int = 0
    """of worlds, weights and actions"""
    cores: Literal[1, 2] = 1
    """2: a second process plays some of the worlds, and both take every gradient step together; give it twice the --ppo.worlds. Where others keep the second core busy the run soon goes on with one"""
    checkpoint_seconds: float = 30.0
    """how much work may be lost when the run is killed"""
    learning: Annotated[LearnerConfig, tyro.conf.arg(name="")] = field(default_factory=LearnerConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--", "draw", "frames", "seed", "checkpoint_seconds")
        NUMBER.refuse_outside(self, "--", "stop_at")

    @property
    def paid_by_machine(self) -> bool:
        return self.reward not in (TASK, *IMITATING)

    @property
    def from_demonstrations(self) -> bool:
        return self.reward in IMITATING or self.learning.learner == "bc"


@dataclass(frozen=True)
class Progress:
    """Where a run stands after a round."""

    row: dict[str, float]  # of the log
    frames: int  # to be played in all
    speed: float  # frames a second of this process, since it began
    counted: int  # episodes of which the row has the means


class TrainingRun:
    """One run under way."""

    def __init__(
        self,
        training: Training,
        machine: Machine | None,
        shown: Demonstrations | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.training = training
        policy = None if training.from_run is None or checkpoint is not None else policy_file(training.from_run)
        self._plan = Plan(training, machine, shown, checkpoint, policy)
        self._part = self._plan.part()
        self.learner = self._part.learner
        self.frames = training.frames or find_task(training.task).frames
        state: dict[str, Any] = {} if checkpoint is None else checkpoint.state
        self._recent = Recent(past=state.get("recent"))
        self._seconds = float(state.get("seconds", 0.0))
        self._asked = int(state.get("asked", 0))  # frames, when the run was told to go on
        self._goal = training.stop_at
        self._over = False  # nothing is left to train
        self._writer: RunWriter | None = None

    @staticmethod
    def begin(training: Training, folder: Path) -> TrainingRun:
        """A new run; what cannot be trained makes no folder."""
        task = find_task(training.task)
        machine, shown = read_inputs(training)
        refuse_taken(folder)
        run = TrainingRun(training, machine, shown, None)
        config = {"kind": "train", "training": to_plain(training), **origin(task.env_id)}
        texts = None if machine is None else {MACHINE: str(machine)}
        fill = None if shown is None else lambda part: demos.save(shown, part / DEMONSTRATIONS)
        run._writer = RunWriter.create(folder, config, texts, fill)
        if training.from_run is not None:
            run._save()  # from here on the other run is not needed
        return run

    @staticmethod
    def resume(folder: Path, frames: int = 0) -> TrainingRun:
        """Goes on with a run; up to `frames`, if given, rather than to what was last asked for."""
        training = training_of(folder)
        refuse_finished(folder, frames)
        machine = load(folder / MACHINE) if training.paid_by_machine else None
        shown = None
        if training.from_demonstrations:
            shown = demos.load(folder / DEMONSTRATIONS, find_task(training.task))
        writer, checkpoint = RunWriter.resume(folder)
        run = TrainingRun(training, machine, shown, checkpoint)
        run._writer, run._asked = writer, frames or run._asked
        run.frames = run._asked or run.frames
        if run._recent.reached(run._goal):
            run._over, run._goal = not run._asked, None  # more frames than those to its goal may be asked for
        if frames and checkpoint is not None:
            run._save()  # and are asked for, even if the run is killed before it has played any
        return run

    @property
    def writer(self) -> RunWriter:
        assert self._writer is not None
        return self._writer

    def rounds(self) -> Generator[Progress]:
        """Trains to the end. Closed early, it saves a checkpoint and can be resumed."""
        start, before, earlier = time.monotonic(), self.learner.frames, self._seconds
        saved = start
        whole = True  # whether the weights are those of a round that went well
        try:
            for round, episodes in () if self._over else self._played():
                self._recent.add(episodes)
                now = time.monotonic()
                self._seconds = earlier + now - start
                row = {
                    "round": round.index,
                    "frames": round.frames,
                    "seconds": self._seconds,
                    **self._recent.means(),
                    "episodes": len(episodes),
                    "paid": round.paid,
                    **round.losses,
                    **self._part.losses,
                    **({"cores": self._plan.training.cores} if self.training.cores == 2 else {}),
                }
                self.writer.row(row)
                if now - saved >= self.training.checkpoint_seconds:
                    self._save()
                    saved = now
                speed = (round.frames - before) / max(now - start, 1e-9)
                yield Progress(row, self.frames, speed, self._recent.counted)
                if self._recent.reached(self._goal):
                    break
        except NotFinite as problem:
            whole = False
            told = diverged(self.writer.folder, str(problem))
            imitating = " or --imitation.reward-net.learning-rate" if self.training.reward in IMITATING else ""
            raise RunError(f"{told}{imitating}") from None
        except (Exception, KeyboardInterrupt):
            whole = False
            raise
        finally:
            if whole:
                self._save()
            self.writer.close()
            self.learner.player.worlds.close()

    def _played(self) -> Iterator[tuple[Round, Episodes]]:
        """Rounds to the end, each with the episodes that ended in it."""
        if self._plan.training.cores == 2:
            yield from self._played_by_two()
        for round in train(self.learner, self._part.pay, self.frames):
            yield round, round.episodes

    def _played_by_two(self) -> Iterator[tuple[Round, Episodes]]:
        """Rounds with a second process: to the end, or until it hinders more than it helps and this one takes over its worlds."""
        rounds = train(self.learner, self._part.pay, self.frames)
        with partner(self._plan, sum(value.numel() for value in self._part.tensors().values())) as other:
            while self.learner.frames < self.frames and not other.hinders:
                other.begin()
                round = next(rounds)
                yield round, round.episodes + other.finish()
            other.stop()
        if self.learner.frames < self.frames:
            self.learner.player.worlds.close()
            alone = replace(self._plan.training, cores=1)
            self._plan = replace(self._plan, training=alone, checkpoint=self._checkpoint())
            self._part = self._plan.part()
            self.learner = self._part.learner

    def finish(self) -> dict[str, Any]:
        """Writes the policy and the summary of a run that has come to its end."""
        config = to_plain(self.training.learning)
        played = {"frames": self.learner.frames, "rounds": self.learner.rounds, "seconds": self._seconds}
        summary = played | self._recent.summary()
        with self.writer.reopened():
            write_weights(self.writer.folder / POLICY, net_weights(self.learner), {"learning": config})
            self.writer.finish(summary)
        return summary

    def _save(self) -> None:
        checkpoint = self._checkpoint()
        self.writer.checkpoint(checkpoint.tensors, checkpoint.state)

    def _checkpoint(self) -> Checkpoint:
        state = {
            "round": self.learner.rounds,
            "frames": self.learner.frames,
            "seconds": self._seconds,
            "recent": self._recent.past(),
            "asked": self._asked,
        }
        tensors = {name: value.numpy() for name, value in self._part.tensors().items()}
        return Checkpoint(self.writer.folder, tensors, state)


def diverged(folder: Path, problem: str) -> str:
    """What to do about learning that has diverged; the last words are the flag to turn down."""
    found = checkpoints(folder)
    good = f"the last good checkpoint is {found[-1]}" if found else "no checkpoint was written before"
    return f"{folder}: {problem}; {good}; try a smaller --ppo.learning-rate"


def training_of(folder: Path) -> Training:
    """What a run was asked to train."""
    config = read_config(folder)
    if config.get("kind") != "train":
        raise RunError(f"{folder} is no run of `srm train`; use the verb that began it, or give another run")
    return from_plain(Training, config.get("training"), str(folder / "config.json"))


def read_inputs(training: Training) -> tuple[Machine | None, Demonstrations | None]:
    """The machine that pays and the demonstrations to imitate, where there are any. What cannot be trained is refused."""
    refuse_idle_flags(training)
    task = find_task(training.task)
    if training.from_run is not None:
        policy_file(training.from_run)  # refused if there is none
    machine = _machine(training, task) if training.paid_by_machine else None
    shown = demos.choose(task, training.demos, training.count) if training.from_demonstrations else None
    return machine, shown


def refuse_idle_flags(training: Training) -> None:
    """Flags that would change nothing beside the others."""
    training.learning.refuse_idle_parts()
    random = "--holes uniform or --holes penalty"
    imitation_pay = f"--reward {' or '.join(IMITATING)}"
    imitation = f"{imitation_pay}, or --learner bc"
    for flag, given, applies, needs in (
        ("--holes", training.holes != "written", training.paid_by_machine, "a machine as --reward, to fill its holes"),
        ("--draw", training.draw != 0, training.holes != "written", random),
        ("--constraint", training.constraint is not None, training.holes != "written", random),
        ("--demos", training.demos is not None, training.from_demonstrations, imitation),
        ("-n", training.count is not None, training.from_demonstrations, imitation),
        ("--imitation", training.imitation != ImitationConfig(), training.reward in IMITATING, imitation_pay),
        ("--reward", training.reward != TASK, training.learning.learner != "bc", "a --learner that reads pay, not bc"),
    ):
        if given and not applies:
            raise SettingError(f"{flag} would change nothing: it needs {needs}; give that, or leave {flag} out")


def _machine(training: Training, task: Task) -> Machine:
    """What pays, with every hole filled."""
    machine = find_machine(training.reward, {task.words.name: task.words})
    if training.holes == "written":
        machine.values()  # refused if one is missing
    elif not machine.holes:
        raise MachineError(f"machine {machine.name} has no holes, so --holes {training.holes} has nothing to fill")
    else:
        constraint = None if training.constraint == NO_CONSTRAINT else machine.constraint(training.constraint)
        machine = held_to(filled(machine.opened(), constraint, training.holes, training.draw), constraint)
    refuse_unfit(machine, task.words, NO_CONSTRAINT)  # values are all that counts here
    return machine


def net_weights(learner: Learner) -> dict[str, np.ndarray]:
    return {f"net.{name}": value.numpy() for name, value in learner.net.state_dict().items()}
