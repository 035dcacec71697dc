"""What `srm learn` is asked for, and what it is asked about: its settings, the machine and the demonstrations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from srm.domains import demonstrations as demos
from srm.domains.base import Stepping
from srm.domains.tasks import find_task
from srm.errors import MachineError, RunError, SettingError
from srm.infer.algorithm1.loop import InferConfig
from srm.infer.posterior.live import LiveConfig
from srm.machine.checks.check import refuse_unfit
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.rl.make import LearnerConfig
from srm.runs.config import from_plain
from srm.runs.folder import CONFIG, read_config
from srm.runs.foreign_policy import OWN, Sb3Config, refuse_unfit_policy
from srm.runs.given import Given
from srm.runs.inference import Way
from srm.runs.proposal import machine_named
from srm.runs.training import NO_CONSTRAINT
from srm.settings import NUMBER, ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Demonstrations


@dataclass(frozen=True)
class Learning:
    """What is learnt, from what, for how long."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = ""
    """a task or one of its environments, as `srm tasks` lists them, or your own as PACKAGE.MODULE:NAME"""
    machine: str | None = None
    """the machine whose holes are inferred, whatever values it has for them: a file, a name of the library, or `proposed` for one that is
    read from the demonstrations (`srm propose`); the task's first unless given"""
    constraint: str | None = None
    """which of the machine's constraints must hold, or none; its first unless given"""
    demos: Path | None = None
    """file of demonstrations; those that ship with the package unless given"""
    count: Annotated[int | None, tyro.conf.arg(aliases=["-n"])] = None
    """use only the first so many demonstrations"""
    frames: int = 0
    """steps to play; 0: what the task's table says"""
    stop_at: float | None = None
    """stop earlier, once the mean return of the last hundred episodes is this high"""
    seed: int = 0
    """of environments, weights, actions and draws"""
    envs: Stepping = "auto"
    """who steps the environments. auto: MiniGrid's rules compiled, for every environment that keeps them, else Gymnasium; gymnasium: always Gymnasium; envpool: EnvPool, whose MultiRoom puts walls behind doors"""
    infer: Way = "posterior"
    """how the holes are inferred: draws from the posterior itself, the paper's Algorithm 1, or a baseline that only looks at signs or regresses"""
    allow_farming: bool = False
    """do not add the atoms that keep loops from being repeated without end for gain (`srm check --forbid-farming` prints them)"""
    refine: int = 0
    """where the trained policy out-earns the demonstrations, make its play evidence and train on for as long again, so many times at most; needs --infer posterior"""
    cores: Literal[0, 1, 2] = 0
    """of Algorithm 1. 2: infer the holes beside the policy's update; 1: one after the other, with the same result; 0: as many as there are"""
    as_printed: bool = False
    """take the paper's side of every setting of f and q, whatever the flags say. Still not as printed: c is subtracted from a step's pay, not from
    each hole; J_soft and J_adv are means over steps, not sums along trajectories; f reads each demonstrated step once and q reads all steps,
    not batches of 128; q draws its own K assignments; the policy reads cells as one_hot unless --network.cells ids. docs/algorithm.md has the list"""
    checkpoint_seconds: float = 30.0
    """how much work may be lost when the run is killed"""
    episodes: int = 10
    """episodes of the policy to keep for the report"""
    policy: Annotated[str | None, tyro.conf.arg(metavar="sb3:NAME")] = None
    """a learner of Stable-Baselines3 in the policy's place: sb3:PPO, A2C, RecurrentPPO, DQN, SAC, TD3, ...; --learner, --net, --network and --ppo are not read then"""
    sb3: Sb3Config = field(default_factory=Sb3Config)
    learning: Annotated[LearnerConfig, tyro.conf.arg(name="")] = field(default_factory=LearnerConfig)
    posterior: LiveConfig = field(default_factory=LiveConfig)
    inference: Annotated[InferConfig, tyro.conf.arg(name="")] = field(default_factory=InferConfig)

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--", "frames", "seed", "checkpoint_seconds", "refine")
        ONE_OR_MORE.refuse_outside(self, "--", "episodes")
        NUMBER.refuse_outside(self, "--", "stop_at")

    @property
    def learner_names(self) -> tuple[str, ...]:
        """By which a folder is named."""
        return (self.learning.learner, self.learning.net) if self.policy is None else (self.policy,)

    @property
    def infer_config(self) -> InferConfig:
        return self.inference.as_printed() if self.as_printed else self.inference

    def refuse_idle_flags(self) -> None:
        """Flags of a way of inferring that was not chosen."""
        for flag, given, way in (
            ("--as-printed", self.as_printed, "algorithm1"),
            ("--reward-net.*, --sampler.* and --warm-up", self.inference != InferConfig(), "algorithm1"),
            ("--posterior.*", self.posterior != LiveConfig(), "posterior"),
            ("--refine", self.refine != 0, "posterior"),
        ):
            if given and self.infer != way:
                raise SettingError(f"{flag} would change nothing: it needs --infer {way}; give that, or leave it out")
        if self.policy is None and self.sb3 != Sb3Config():
            raise SettingError("--sb3.* would change nothing: it needs --policy sb3:NAME; give that, or leave it out")
        if self.policy not in (None, OWN):
            refuse_unfit_policy(str(self.policy), self.infer == "algorithm1")


def learning_of(folder: Path) -> Learning:
    """What a run was asked to learn."""
    config = read_config(folder)
    if config.get("kind") != "learn":
        raise RunError(f"{folder} is no run of `srm learn`; use the verb that began it, or give another run")
    return from_plain(Learning, config.get("learning"), str(folder / CONFIG))


def read_inputs(learning: Learning, given: Given | None = None) -> tuple[Machine, Demonstrations]:
    """The machine with its holes open, and the demonstrations. What cannot be learnt is refused."""
    learning.refuse_idle_flags()
    learning.learning.refuse_idle_parts()
    given = given or Given()
    task = given.task or find_task(learning.task)
    demonstrations = given.demonstrations or demos.choose(task, learning.demos, learning.count)
    machine = given.machine or machine_named(learning.machine, task, demonstrations, learning.seed)
    machine = machine.opened()
    if not machine.holes:
        raise MachineError(f"machine {machine.name} has no holes to infer; train on it with `srm train --reward`")
    learning.learning.refuse_cloning()
    refuse_unfit(machine, task.vocabulary, learning.constraint)
    return machine, demonstrations


def constraint_of(machine: Machine, name: str | None) -> Constraint | None:
    return None if name == NO_CONSTRAINT else machine.constraint(name)
