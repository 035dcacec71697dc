"""What a domain must offer so that machines can speak of it: its words, a way to read them in a rollout, and tasks in them.

    Vocabulary    names, meanings and known facts; symbols only (`srm.machine.vocabulary`)
    EventReader   what happened at each of the T x B steps of a rollout, for all envs at once
    Task          where a task is played, in what words, with which machines, and who can show how it is done
    Domain        all that a domain has to say; everything else in the package asks for it (`srm.domains.registry`)

An event of step t follows from the observation before it, the action, the observation after it, and the poses and `info`. So a rollout can be read
whole, in pieces, or from a file years later. Only a `RememberingReader` looks further back, and it is handed its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from srm.errors import MachineError, SettingError, TaskError
from srm.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from rich.console import RenderableType

    from srm.domains.cells import Cells
    from srm.domains.controls import Controls
    from srm.domains.envs import Envs
    from srm.domains.scenes import Scene
    from srm.domains.states import StateKeys
    from srm.trajectory import Demonstrations, Events, Numbers, Observations, Rollout, Trajectory

Stepping = Literal["auto", "gymnasium", "envpool"]  # who is asked to step the envs
Expert = Callable[..., Any]  # plan(env), act(observation), ...: see `srm.domains.experts`


class EventReader(Protocol):
    """A domain's vocabulary and its reading."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def read(self, rollout: Rollout) -> Events:
        """Every event of every valid step. Steps that are not valid have none."""
        ...


@runtime_checkable
class RememberingReader(Protocol):
    """An event reader whose words remember what happened earlier in an episode: who reads successive rollouts carries its memory."""

    def begin(self, envs: int) -> np.ndarray:
        """The memory [B, ...] of envs that were just reset."""
        ...

    def read_on(self, rollout: Rollout, memory: np.ndarray) -> tuple[Events, np.ndarray]:
        """The next rollout of the same envs, and what they remember after it."""
        ...


def _envs(env_id: str, count: int, seed: int, stepping: Stepping = "auto") -> Envs:
    from srm.domains.envs import make_envs

    return make_envs(env_id, count, seed, stepping)


def _environment(env_id: str) -> gymnasium.Env:
    from srm.domains.envs import make_environment

    return make_environment(env_id)


def ended_with_reward(trajectory: Trajectory) -> bool:
    """The task ended the episode, with a return above 0."""
    return trajectory.terminated and trajectory.total_reward > 0


@dataclass(frozen=True)
class Task:
    """One row. The callables import what they need when they are called, so that the table can be read at once."""

    name: str
    meaning: str
    env_id: str
    vocabulary: Vocabulary
    event_reader: Callable[[], EventReader]
    machines: tuple[str, ...]  # files of srm/machine/library, without .srm
    expert: Expert | None  # None: demonstrations come from elsewhere
    frames: int  # to train for, unless given
    envs: Callable[[str, int, int], Envs] = _envs  # (environment, how many, seed), to train in
    environment: Callable[[str], gymnasium.Env] = _environment  # one, to record and replay in
    success: Callable[[Trajectory], bool] | None = None  # None: see `srm.evaluate.success`
    controls: Controls | None = None  # how a person plays it; None: as its domain or its environment says

    def solved(self, trajectory: Trajectory) -> bool:
        """Whether an episode counts as a success, where no machine is known."""
        return bool((self.success or ended_with_reward)(trajectory))

    def make_envs(self, count: int, seed: int) -> Envs:
        return self.envs(self.env_id, count, seed)

    @property
    def first_machine(self) -> str:
        """The name of the machine that serves where none is named."""
        if not self.machines:
            raise MachineError(
                f"task {self.name} has no machine of its own; name one with --machine FILE, or let one be proposed "
                "from demonstrations: --machine proposed"
            )
        return self.machines[0]

    def using(self, stepping: Stepping) -> Task:
        """The same task with its envs stepped by somebody who was asked for."""
        if stepping == "auto":
            return self
        if self.envs is not _envs:
            raise SettingError(
                f"--envs {stepping} would change nothing: {self.name} makes environments of its own; leave --envs out"
            )
        return replace(self, envs=partial(_envs, stepping=stepping))


class CompileEnvs(Protocol):
    """Compiled envs of an environment that `make_environment` made, or the reason why it has to step itself."""

    def __call__(self, env: gymnasium.Env, env_id: str, count: int, seed: int) -> Envs | str: ...


class RecordWith(Protocol):
    """Demonstrations by the domain's expert with a habit, with noise, or with both."""

    def __call__(self, task: Task, count: int, seed: int, *, habit: str | None, noise: float) -> Demonstrations: ...


@dataclass(frozen=True)
class Domain:
    """All that a domain has to say. None: it has no such thing. The functions import what they need when they are called, so that
    a machine can be checked against the vocabulary without any environment."""

    title: str  # what its package calls itself, for messages
    vocabulary: Vocabulary
    actions: tuple[str, ...]  # their names, by number
    packages: tuple[str, ...]  # distributions, if installed, whose versions are noted wherever episodes are kept
    tasks: tuple[Task, ...]
    environments: Mapping[str, tuple[str, ...]]  # the names of each task's environments
    prefix: str  # of the names of all its environments, if they share one; short names leave it out

    # Its environments
    register: Callable[[], None]  # makes Gymnasium know them
    owns: Callable[[gymnasium.Env], bool]  # whether an environment is of this domain, however it is wrapped
    pose: Callable[[Any], Numbers] | None = None  # [P] of an unwrapped environment
    observer: Callable[[], type[gymnasium.ObservationWrapper]] | None = None  # observes `image` and `pose`
    pool_poses: Callable[[Any, Mapping[str, Any]], Numbers] | None = (
        None  # [B, P] of what EnvPool observes and its info
    )
    compile_envs: CompileEnvs | None = None
    compile_env: Callable[[gymnasium.Env], gymnasium.Env] | None = None  # the same one, faster if it can be

    # Its observations
    cells: Callable[[], Cells] | None = None  # what a cell of an observation holds, for networks
    state_keys: StateKeys | None = None  # which states of an episode are the same
    picture: Callable[[Observations], np.ndarray | None] | None = None  # [height, width, 3]; None: not of this domain
    map: Callable[[gymnasium.Env], RenderableType] | None = None  # the whole env, for the terminal
    look: Callable[[gymnasium.Env], Scene] | None = None  # the environment as it stands, for replays
    look_through: Callable[[Observations], Scene] | None = None  # the same of an observation alone
    controls: Controls | None = None  # how a person plays its environments

    # Its demonstrations
    demonstrations: Path | None = None  # the folder of those that ship, TASK.npz
    check: Callable[[int, Trajectory], None] | None = None  # of episode number; ValueError: no env shows such numbers
    reckon_poses: Callable[[Observations, np.ndarray], np.ndarray] | None = None  # [T+1, P] from what was seen and done
    record_with: RecordWith | None = None

    def __post_init__(self) -> None:
        for task in self.tasks:
            if task.env_id not in self.environments.get(task.name, ()):
                raise TaskError(f"{self.title}: {task.env_id} is not among the environments of its task {task.name}")
