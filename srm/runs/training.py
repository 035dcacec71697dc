"""What `srm train` is asked for, and what pays in it: the task's reward, a machine's, or acting as in demonstrations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import tyro

from srm.domains import demonstrations as demos
from srm.domains.base import Stepping, Task
from srm.domains.tasks import find_task
from srm.errors import MachineError, RunError, SettingError
from srm.evaluate.batched import Paid
from srm.evaluate.payer import Payer
from srm.infer.baselines.imitation import Imitation, ImitationConfig, Kind
from srm.infer.baselines.random_holes import filled
from srm.machine.checks.check import refuse_unfit
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine, held_to
from srm.rl.learner import Learner, Pay
from srm.rl.loop import Round, task_pay, train
from srm.rl.make import LearnerConfig
from srm.rl.rollout import Batch
from srm.runs.config import from_plain
from srm.runs.folder import CONFIG, RunWriter, policy_file, read_config
from srm.runs.given import Given
from srm.settings import NUMBER, ZERO_OR_MORE
from srm.trajectory import Demonstrations

TASK = "task"
NO_CONSTRAINT = "none"
IMITATING: dict[str, Kind] = {"gail": "gail", "gan_gcl": "gan_gcl"}


@dataclass(frozen=True)
class Training:
    """What is trained, on what, for how long."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = ""
    """a task or one of its environments, as `srm tasks` lists them, or your own as PACKAGE.MODULE:NAME"""
    reward: str = TASK
    """what the policy is paid: `task` for the task's own reward, a machine (a file or a name of the library), or `gail` or `gan_gcl` for acting as in demonstrations"""
    holes: Literal["written", "uniform", "penalty"] = "written"
    """the machine's values: those written in it, or random ones that keep its constraint, drawn uniformly or found by J_con alone"""
    draw: int = 0
    """which of the random assignments"""
    constraint: str | None = None
    """which of the machine's constraints random values keep, or none; its first unless given"""
    demos: Path | None = None
    """file of the demonstrations to imitate; those that ship with the package unless given"""
    count: Annotated[int | None, tyro.conf.arg(aliases=["-n"])] = None
    """imitate only the first so many"""
    from_run: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """begin with the policy that this run has trained, in a smaller environment for instance, in place of a fresh one"""
    frames: int = 0
    """steps to play; 0: what the task's table says"""
    stop_at: float | None = None
    """stop earlier, once the mean return of the last hundred episodes is this high"""
    seed: int = 0
    """of environments, weights and actions"""
    envs: Stepping = "auto"
    """who steps the environments. auto: MiniGrid's rules compiled, for every environment that keeps them, else Gymnasium; gymnasium: always Gymnasium; envpool: EnvPool, whose MultiRoom puts walls behind doors"""
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


class FixedPay:
    """What pays in `srm train`: the task, a machine, or a discriminator that learns beside the policy. It infers nothing."""

    def __init__(
        self,
        training: Training,
        task: Task,
        learner: Learner,
        machine: Machine | None,
        demonstrations: Demonstrations | None,
    ) -> None:
        self.learner = learner
        self.payer = None if machine is None else Payer(machine, task.event_reader())
        self.imitation = _imitation(training, learner, demonstrations) if training.reward in IMITATING else None
        self.pay: Pay = self.imitation or (task_pay if self.payer is None else self._machine_pay)

    def _machine_pay(self, batch: Batch) -> np.ndarray:
        assert self.payer is not None
        return self.payer(batch.rollout)

    @property
    def paid(self) -> Paid | None:
        return None if self.payer is None else self.payer.open.paid

    @property
    def rates(self) -> str:
        return "" if self.imitation is None else " or --imitation.reward-net.learning-rate"

    def begin(self, frames: int) -> int:
        return 0

    def rounds(self, frames: int, first: int) -> Iterator[Round]:
        return train(self.learner, self.pay, frames)

    def columns(self, round: Round) -> dict[str, float]:
        return {} if self.imitation is None else self.imitation.losses

    def refine(self, refined: int) -> None:
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        tensors = {} if self.imitation is None else self.imitation.tensors()
        return {name: value.numpy() for name, value in tensors.items()}

    def load(self, arrays: Mapping[str, np.ndarray], rounds: int) -> None:
        if self.imitation is not None:
            self.imitation.load({name: torch.from_numpy(value) for name, value in arrays.items()}, rounds)

    def write_known(self, writer: RunWriter) -> None:
        pass

    def write(self, writer: RunWriter) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


def _imitation(training: Training, learner: Learner, demonstrations: Demonstrations | None) -> Imitation:
    assert demonstrations is not None
    kind, demonstrated = IMITATING[training.reward], demonstrations.as_rollout()
    return Imitation(kind, demonstrated, learner.player.spaces, learner.log_probs, training.imitation, training.seed)


def training_of(folder: Path) -> Training:
    """What a run was asked to train."""
    config = read_config(folder)
    if config.get("kind") != "train":
        raise RunError(f"{folder} is no run of `srm train`; use the verb that began it, or give another run")
    return from_plain(Training, config.get("training"), str(folder / CONFIG))


def read_inputs(training: Training, given: Given | None = None) -> tuple[Machine | None, Demonstrations | None]:
    """The machine that pays and the demonstrations to imitate, where there are any. What cannot be trained is refused."""
    refuse_idle_flags(training)
    given = given or Given()
    task = given.task or find_task(training.task)
    if training.from_run is not None:
        policy_file(training.from_run)  # refused if there is none
    machine = _machine(training, task, given.machine) if training.paid_by_machine else None
    demonstrations = None
    if training.from_demonstrations:
        demonstrations = given.demonstrations or demos.choose(task, training.demos, training.count)
    return machine, demonstrations


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
    machine = given or find_machine(training.reward, {task.vocabulary.name: task.vocabulary})
    if training.holes == "written":
        machine.values()  # refused if one is missing
    elif not machine.holes:
        raise MachineError(f"machine {machine.name} has no holes, so --holes {training.holes} has nothing to fill")
    else:
        constraint = None if training.constraint == NO_CONSTRAINT else machine.constraint(training.constraint)
        machine = held_to(filled(machine.opened(), constraint, training.holes, training.draw), constraint)
    refuse_unfit(machine, task.vocabulary, NO_CONSTRAINT)  # values are all that counts here
    return machine
