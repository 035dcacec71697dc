"""The policy that a run of `srm train` or `srm learn` has reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import torch
from torch import Tensor

from srm.domains.base import Task
from srm.domains.envs import Envs
from srm.domains.record import Act, play, record
from srm.domains.tasks import find_task, loaded_task, task_in_file
from srm.errors import RunError, TaskError
from srm.evaluate.success import solved
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.rl.actor import Actor
from srm.rl.evaluation import WHOLE_STEPS, EnvPlayer
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import Net
from srm.rl.rollout import Player
from srm.rl.saved import load_weights
from srm.runs.folder import LEARNT, MACHINE, POLICY, checkpoints, policy_file, read_weights
from srm.runs.foreign_policy import OWN, Sb3Config, trained_actor, trained_player
from srm.runs.inputs import Settings
from srm.runs.learning_settings import Learning
from srm.runs.run import settings_of
from srm.trajectory import Demonstrations

TRIES = 25  # environments in a row that a policy may fail when it shows how a task is done


@dataclass(frozen=True, eq=False)
class Trained:
    """What was trained, with what network, and its weights."""

    folder: Path
    task: str
    learning: LearnerConfig
    path: Path
    tensors: Mapping[str, Tensor]
    given: Task | None = None  # the task itself, where the user handed it over or named it
    foreign: tuple[str, Sb3Config] | None = None  # a learner of somebody else's

    def environment(self, name: str | None) -> Task:
        """Where the policy can be tried: where it was trained, or another environment of the same task."""
        if name is None:
            return task_in_file(self.task, self.folder, self.given)
        try:
            task = find_task(name)
        except TaskError:
            if name not in gymnasium.registry:
                raise
            return replace(task_in_file(self.task, self.folder, self.given), env_id=name)
        self.refuse_other(task, name)
        return task

    def refuse_other(self, task: Task, name: str) -> None:
        """Another task than that of the policy."""
        trained = self.family
        if task.name != trained:
            raise RunError(
                f"{name} is of the task {task.name}, but the policy of {self.folder} was trained on {trained}; "
                f"choose an environment of {trained} (`srm tasks` lists them)"
            )

    @property
    def family(self) -> str:
        """The name of the task that it was trained on, for which nothing is imported."""
        return (self.given or loaded_task(self.task) or task_in_file(self.task, self.folder)).name

    def player(self, task: Task, envs: Envs, seed: int) -> EnvPlayer:
        """Somebody who plays envs of the task by the policy."""
        if self.foreign is not None:
            return trained_player(*self.foreign, task, self.tensors, envs)
        return Player(envs, self.net(envs), WHOLE_STEPS, seed)

    def actor(self, task: Task, seed: int, *, greedy: bool = False) -> Act:
        """Somebody who plays one environment of the task by it."""
        if self.foreign is not None:
            return trained_actor(*self.foreign, task, self.tensors, greedy)
        envs = task.make_envs(1, seed)
        envs.close()
        return Actor(self.net(envs), seed, greedy=greedy)

    def machine(self) -> Machine | None:
        """What paid it, with values, where a machine did."""
        path = next((self.folder / name for name in (LEARNT, MACHINE) if (self.folder / name).exists()), None)
        return None if path is None else load(path)

    def net(self, envs: Envs) -> Net:
        """The policy's network for envs of the same kind, if it is one of ours."""
        if self.foreign is not None:
            raise RunError(
                f"{self.folder}: its policy is {self.foreign[0]}, which only plays; give a run of a learner of ours"
            )
        net = self.learning.make_net(envs)
        try:
            load_weights(net, "net", self.tensors)
        except RunError as problem:
            raise RunError(f"{self.path}: {problem}") from None
        return net


def read_policy(folder: Path, task: Task | str | None = None) -> Trained:
    """From the end of a run or, if it is not finished, from its last checkpoint. `task`: as the user names it, if it is one of their own."""
    settings = settings_of(folder)
    given = None if task is None else task_in_file(settings.task, folder, task)
    path = policy_file(folder)
    try:
        weights, _ = read_weights(path)
    except RunError as problem:
        other = (
            f"; delete it for {checkpoints(folder)[-1]} to be used"
            if path.name == POLICY and checkpoints(folder)
            else ""
        )
        raise RunError(f"{problem}{other}") from None
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    return Trained(folder, settings.task, settings.learning, path, tensors, given, _foreign(folder, settings))


def _foreign(folder: Path, settings: Settings) -> tuple[str, Sb3Config] | None:
    if not isinstance(settings, Learning) or settings.policy is None:
        return None
    if settings.policy == OWN:
        raise RunError(f"{folder}: its policy is of a learner of your own, which its folder does not hold")
    return settings.policy, settings.sb3


def record_policy(name: str, folder: Path, count: int, seed: int) -> Demonstrations:
    """`count` episodes in which the policy of a run succeeds; those it fails are left out."""
    trained = read_policy(folder)
    task = trained.environment(name)
    actor = trained.actor(task, seed)
    missed, machine = 0, trained.machine()

    def expert(env: Any) -> list[int] | None:
        nonlocal missed
        played = play(env, actor, env.unwrapped.np_random_seed)  # the environment it was just reset to
        if solved(task, played, machine):
            missed = 0
            return played.actions.tolist()
        missed += 1
        if missed == TRIES:
            raise RunError(
                f"{folder}: its policy has not solved {TRIES} environments of {task.env_id} in a row; "
                "train it further with --resume and more --frames, or leave --from-run out for the expert"
            )
        return None

    return record(replace(task, expert=expert), count, seed, lambda trajectory: solved(task, trajectory, machine))
