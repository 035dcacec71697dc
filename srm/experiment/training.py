"""Train one policy on the task's reward, on a machine's, or to act as in demonstrations, in a run folder.

`begin` or `resume` a run, then take its rounds: each is in the log when it is yielded, and closing the iterator early leaves a
checkpoint. The caller draws progress.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import tyro
from torch import Tensor

from srm.chance import stream
from srm.errors import MachineError, RunError, SettingError
from srm.evaluate.payer import Payer
from srm.experiment.config import from_plain, to_plain
from srm.experiment.given import Given
from srm.experiment.origin import origin
from srm.experiment.run import (
    DEMONSTRATIONS,
    MACHINE,
    POLICY,
    Checkpoint,
    RunWriter,
    checkpoints,
    policy_file,
    read_config,
    read_weights,
    refuse_finished,
    refuse_taken,
    write_weights,
)
from srm.infer.imitation import Imitation, ImitationConfig, Kind
from srm.infer.random_holes import filled
from srm.machine.check import refuse_unfit
from srm.machine.model import Machine, held_to
from srm.machine.parse import find_machine, load
from srm.settings import NUMBER, ZERO_OR_MORE
from srm.task import demos
from srm.task.table import Task, find_task
from srm.train.episodes import Recent
from srm.train.learner import Learner, NotFinite, Pay, load_weights
from srm.train.loop import task_pay, train
from srm.train.make import LearnerConfig
from srm.trajectory import Demonstrations

TASK = "task"
NO_CONSTRAINT = "none"
IMITATING: dict[str, Kind] = {"gail": "gail", "gan_gcl": "gan_gcl"}


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
        task: Task | None = None,
    ) -> None:
        self.training = training
        task = task or find_task(training.task)
        began = 0 if checkpoint is None else int(checkpoint.state["round"])
        self.learner, self._pay = make_learner(training, machine, shown, began, task)
        self.frames = training.frames or task.frames
        state: dict[str, Any] = {} if checkpoint is None else checkpoint.state
        self._recent = Recent(past=state.get("recent"))
        self._seconds = float(state.get("seconds", 0.0))
        self._asked = int(state.get("asked", 0))  # frames, when the run was told to go on
        self._goal = training.stop_at
        self._over = False  # nothing is left to train
        self._writer: RunWriter | None = None
        if checkpoint is not None:
            self._load(checkpoint)
        elif training.from_run is not None:
            begin_as(self.learner, policy_file(training.from_run))

    @staticmethod
    def begin(training: Training, folder: Path, given: Given | None = None) -> TrainingRun:
        """A new run; what cannot be trained makes no folder."""
        task = (given.task if given else None) or find_task(training.task)
        machine, shown = read_inputs(training, given)
        refuse_taken(folder)
        run = TrainingRun(training, machine, shown, None, task)
        about = origin(task.env_id, typed=given is None)
        config = {"kind": "train", "training": to_plain(training), **about}
        texts = None if machine is None else {MACHINE: str(machine)}
        fill = None if shown is None else lambda part: demos.save(shown, part / DEMONSTRATIONS)
        run._writer = RunWriter.create(folder, config, texts, fill)
        if training.from_run is not None:
            run._save()  # from here on the other run is not needed
        return run

    @staticmethod
    def resume(folder: Path, frames: int = 0, task: Task | None = None) -> TrainingRun:
        """Goes on with a run; up to `frames`, if given, rather than to what was last asked for."""
        training = training_of(folder)
        refuse_finished(folder, frames)
        task = task or find_task(training.task)
        machine = load(folder / MACHINE) if training.paid_by_machine else None
        shown = None
        if training.from_demonstrations:
            shown = demos.load(folder / DEMONSTRATIONS, task)
        writer, checkpoint = RunWriter.resume(folder)
        run = TrainingRun(training, machine, shown, checkpoint, task)
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
            for round in () if self._over else train(self.learner, self._pay, self.frames):
                self._recent.add(round.episodes)
                now = time.monotonic()
                self._seconds = earlier + now - start
                row = {
                    "round": round.index,
                    "frames": round.frames,
                    "seconds": self._seconds,
                    **self._recent.means(),
                    "episodes": len(round.episodes),
                    "paid": round.paid,
                    **round.losses,
                    **(self._pay.losses if isinstance(self._pay, Imitation) else {}),
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
        state = {
            "round": self.learner.rounds,
            "frames": self.learner.frames,
            "seconds": self._seconds,
            "recent": self._recent.past(),
            "asked": self._asked,
        }
        tensors = self.learner.tensors() | (self._pay.tensors() if isinstance(self._pay, Imitation) else {})
        self.writer.checkpoint({name: value.numpy() for name, value in tensors.items()}, state)

    def _load(self, checkpoint: Checkpoint) -> None:
        tensors, rounds = as_tensors(checkpoint.tensors), int(checkpoint.state["round"])
        try:
            self.learner.load(tensors, int(checkpoint.state["frames"]), rounds)
            if isinstance(self._pay, Imitation):
                self._pay.load(tensors, rounds)
        except RunError as problem:
            raise RunError(f"{checkpoint.path}: {problem}") from None


def make_learner(
    training: Training, machine: Machine | None, shown: Demonstrations | None, began: int, task: Task
) -> tuple[Learner, Pay]:
    """A fresh learner in worlds of its own, and what pays it. `began`: the round after which the run goes on."""
    # Worlds cannot be put back to where they were: a resumed run plays other episodes than those already seen.
    seed = int(stream(training.seed, f"resumed at {began}").integers(2**31)) if began else training.seed
    worlds = task.make_worlds(training.learning.ppo.worlds, seed)
    if shown is not None:
        demos.refuse_misfit(shown, worlds)
    demonstrated = None if shown is None else shown.as_rollout()
    learner = training.learning.make(worlds, training.seed, demonstrated)
    if training.reward in IMITATING:
        assert demonstrated is not None
        kind = IMITATING[training.reward]
        return learner, Imitation(
            kind, demonstrated, worlds.actions, learner.log_probs, training.imitation, training.seed
        )
    return learner, task_pay if machine is None else Payer(machine, task.vocabulary())


def begin_as(learner: Learner, policy: Path) -> None:
    """With the weights of a policy that another run has trained, and everything else new."""
    try:
        load_weights(learner.net, "net", as_tensors(read_weights(policy)[0]))
    except RunError as problem:
        raise RunError(
            f"{policy}: {problem}; --from-run needs the --learner, --net and --network of that run"
        ) from None


def as_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value) for name, value in arrays.items()}


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


def read_inputs(training: Training, given: Given | None = None) -> tuple[Machine | None, Demonstrations | None]:
    """The machine that pays and the demonstrations to imitate, where there are any. What cannot be trained is refused."""
    refuse_idle_flags(training)
    given = given or Given()
    task = given.task or find_task(training.task)
    if training.from_run is not None:
        policy_file(training.from_run)  # refused if there is none
    machine = _machine(training, task, given.machine) if training.paid_by_machine else None
    shown = None
    if training.from_demonstrations:
        shown = given.demonstrations or demos.choose(task, training.demos, training.count)
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


def _machine(training: Training, task: Task, given: Machine | None) -> Machine:
    """What pays, with every hole filled."""
    machine = given or find_machine(training.reward, {task.words.name: task.words})
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
