"""What was observed, done and had happened: the arrays that every later part reads and none checks again.

    T  steps   B  envs   A  numbers of an action   N  occurrences of events   F  final observations   P  numbers of a pose

A `Rollout` is T steps of B envs with episodes cut anywhere; a `Trajectory` is one whole episode; `Events` are what an
event reader reads in a rollout. `as_rollout` lays trajectories side by side, so that whoever takes a rollout takes
demonstrations too.

Actions are those that the environment took, one whole number each, [T, B], or A numbers each, [T, B, A]: whole ones (several choices)
or floats (`srm.domains.spaces`). An observation may be a structured array, with a field for each part of a dictionary.

Some envs spend a step on resetting (its action is ignored, its reward is 0, the observation after it is the first of the new
episode). Such steps, and the padding of `as_rollout`, are not `valid`: nobody trains on them, counts them or shows them
to a machine. Other envs reset within the step that ended an episode; there `observations` already shows the new episode and
the true last observation is kept among the finals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from srm.errors import TrajectoryError

Observations = npt.NDArray[Any]  # the environment's own type: uint8 for MiniGrid, float32 for a continuous observation
Actions = npt.NDArray[Any]  # int64, or float32 where they are numbers within bounds
Numbers = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]


_KINDS = {"whole numbers": "iu", "numbers": "f", "yes or no": "b"}


def _expect(name: str, array: npt.NDArray[Any], shape: tuple[int | None, ...], kind: str) -> None:
    """Refuse an array of another rank, size (None: any) or kind of number."""
    if isinstance(array, np.ndarray) and array.dtype.kind in _KINDS[kind] and array.ndim == len(shape):
        have = array.shape
        if have == shape or (shape[-1] is None and have[:-1] == shape[:-1]):
            return  # at once: a wrapper reads events at every step
    if not isinstance(array, np.ndarray) or array.dtype.kind not in _KINDS[kind]:
        kind_of = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TrajectoryError(f"{name}: {kind_of}, expected an array of {kind}")
    fits = array.ndim == len(shape) and all(want in (None, have) for have, want in zip(array.shape, shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise TrajectoryError(f"{name}: shape {list(array.shape)}, expected [{wanted}]")


def _expect_length(name: str, array: npt.NDArray[Any], *leading: int) -> None:
    if not isinstance(array, np.ndarray) or array.shape[: len(leading)] != leading:
        shape = list(array.shape) if isinstance(array, np.ndarray) else type(array).__name__
        raise TrajectoryError(f"{name}: {shape}, expected [{', '.join(map(str, leading))}, ...]")


def _expect_actions(actions: Actions, axes: int) -> None:
    """[...] whole numbers of `axes` axes, or with one axis more of either kind of number."""
    kind = "numbers" if isinstance(actions, np.ndarray) and actions.dtype.kind == "f" else "whole numbers"
    several = isinstance(actions, np.ndarray) and actions.ndim == axes + 1
    _expect("actions", actions, (None,) * (axes + several), "whole numbers" if not several else kind)
    if several and actions.shape[-1] == 0:
        raise TrajectoryError("actions: shape [..., 0], expected at least one number each")
    if kind == "numbers":
        _expect_finite("actions", actions)


def plain_arrays(observations: Observations) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Every array of observations by the name of its field; one without a name where they have no fields."""
    names = observations.dtype.names
    yield from [("", observations)] if names is None else ((name, observations[name]) for name in names)


def _expect_finite(name: str, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    place = np.argwhere(~np.isfinite(array))[0].tolist()
    raise TrajectoryError(f"{name}: {array[tuple(place)]} at {place}, expected finite numbers")


@dataclass(frozen=True, eq=False)
class Events:
    """Every occurrence of every event of a rollout, sorted by (env, step, event)."""

    steps: int  # T
    envs: int  # B
    step: Numbers  # [N] int32
    env: Numbers  # [N] int32
    event: Numbers  # [N] int16, index into Vocabulary.events
    attributes: Numbers  # [N, attributes of the vocabulary] int32, NOTHING where the event has none
    signals: npt.NDArray[np.float64]  # [T, B, signals of the vocabulary]

    def __post_init__(self) -> None:
        count = len(self.step)
        for name, array, limit in (("step", self.step, self.steps), ("env", self.env, self.envs)):
            _expect(name, array, (count,), "whole numbers")
            if count and not 0 <= array.min() <= array.max() < limit:
                raise TrajectoryError(f"{name}: {array.min()}..{array.max()}, expected 0..{limit - 1}")
        _expect("event", self.event, (count,), "whole numbers")
        if count and self.event.min() < 0:
            raise TrajectoryError(f"event: {self.event.min()}, expected an index of a word")
        _expect("attributes", self.attributes, (count, None), "whole numbers")
        _expect("signals", self.signals, (self.steps, self.envs, None), "numbers")
        if np.count_nonzero(np.isfinite(self.signals)) < self.signals.size:
            step, env, signal = np.argwhere(~np.isfinite(self.signals))[0]
            reading = f"signal {signal} reads {self.signals[step, env, signal]} at step {step} of env {env}"
            raise TrajectoryError(f"signals: {reading}, expected a finite number")
        if count < 2:
            return
        place = (self.env.astype(np.int64) * self.steps + self.step) * (1 << 15) + self.event
        if not (np.diff(place) > 0).all():
            raise TrajectoryError("events are not sorted by (env, step, event), or one is listed twice")

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, eq=False)
class Rollout:
    """T steps of B envs played side by side."""

    observations: Observations  # [T+1, B, ...]  before each step, and after the last
    actions: Actions  # [T, B], or [T, B, A]
    poses: Numbers  # [T+1, B, P] int16; MiniGrid: x, y, direction of the agent
    task_reward: npt.NDArray[np.float32]  # [T, B]
    terminated: Mask  # [T, B]  the task ended the episode at this step
    truncated: Mask  # [T, B]  time ran out at this step, and the task had not ended
    valid: Mask  # [T, B]  False: spent on resetting, or padding

    # Envs that reset within the step: the observation and pose that `observations` and `poses` do not show. [F] of each.
    final_step: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))
    final_env: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))
    final_observations: Observations = field(default_factory=lambda: np.zeros(0, np.uint8))  # [F, ...]
    final_poses: Numbers = field(default_factory=lambda: np.zeros(0, np.int16))  # [F, P]

    # The numbers of Gymnasium's `info` after each step, by key: [T, B] float64, NaN where a step's info has none.
    info: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _expect_actions(self.actions, 2)
        steps, envs = self.actions.shape[:2]
        _expect_length("observations", self.observations, steps + 1, envs)
        _expect("poses", self.poses, (steps + 1, envs, None), "whole numbers")
        _expect("task_reward", self.task_reward, (steps, envs), "numbers")
        for name, mask in (("terminated", self.terminated), ("truncated", self.truncated), ("valid", self.valid)):
            _expect(name, mask, (steps, envs), "yes or no")
        if (self.terminated & self.truncated).any():
            raise TrajectoryError(
                f"truncated: step {_first(self.terminated & self.truncated)} both terminated and ran out of time; it terminated"
            )
        if ((self.terminated | self.truncated) & ~self.valid).any():
            raise TrajectoryError(
                f"valid: step {_first((self.terminated | self.truncated) & ~self.valid)} ends an episode unplayed"
            )
        for key, numbers in self.info.items():
            _expect(f"info {key}", numbers, (steps, envs), "numbers")
        if len(self.final_step):
            self._check_finals()

    def _check_finals(self) -> None:
        finals = len(self.final_step)
        _expect("final_step", self.final_step, (finals,), "whole numbers")
        _expect("final_env", self.final_env, (finals,), "whole numbers")
        _expect("final_poses", self.final_poses, (finals, self.poses.shape[2]), "whole numbers")
        _expect_length("final_observations", self.final_observations, finals, *self.observations.shape[2:])
        if not (self.terminated | self.truncated)[self.final_step, self.final_env].all():
            raise TrajectoryError("final_step: a final observation is given for a step that ends no episode")

    @property
    def steps(self) -> int:
        return int(self.actions.shape[0])

    @property
    def envs(self) -> int:
        return int(self.actions.shape[1])

    def after(self) -> Observations:
        """The true observation after each step, [T, B, ...]: of the old episode where a new one has already begun."""
        return self._laid_over(self.observations, self.final_observations)

    def poses_after(self) -> Numbers:
        """The true pose after each step, [T, B, P]."""
        return self._laid_over(self.poses, self.final_poses)

    def _laid_over(self, array: npt.NDArray[Any], finals: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = array[1:]
        if len(self.final_step) == 0:
            return whole
        whole = whole.copy()
        whole[self.final_step, self.final_env] = finals
        return whole

    def fresh(self) -> Mask:
        """Whether the observation before step t is of another episode than the one before step t - 1, [T+1, B].

        The step that an env spends on resetting counts as fresh too. Row 0 is False: whoever collects knows what came
        before it.
        """
        mask = np.zeros((self.steps + 1, self.envs), np.bool_)
        mask[1:] = self.terminated | self.truncated | ~self.valid
        return mask


def _first(mask: Mask) -> str:
    step, env = np.argwhere(mask)[0]
    return f"{step} of env {env}"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One whole episode: T actions between T + 1 observations."""

    observations: Observations  # [T+1, ...]
    actions: Actions  # [T], or [T, A]
    poses: Numbers  # [T+1, P] int16
    task_reward: npt.NDArray[np.float32]  # [T]
    terminated: bool  # False: time ran out
    info: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)  # [T] of each key, NaN where it has none

    def __post_init__(self) -> None:
        _expect_actions(self.actions, 1)
        steps = len(self.actions)
        if steps == 0:
            raise TrajectoryError("actions: an episode has at least one step")
        if len(self.observations) != steps + 1:
            raise TrajectoryError(f"observations: {len(self.observations)} for {steps} actions, expected {steps + 1}")
        _expect("poses", self.poses, (steps + 1, None), "whole numbers")
        _expect("task_reward", self.task_reward, (steps,), "numbers")
        for name, array in plain_arrays(self.observations):
            _expect_finite(f"observations {name}".rstrip(), array)
        for key, numbers in self.info.items():
            _expect(f"info {key}", numbers, (steps,), "numbers")

    @property
    def steps(self) -> int:
        return len(self.actions)

    @property
    def total_reward(self) -> float:
        """The return: the task's own reward over the episode."""
        return float(self.task_reward.sum())


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Episodes that show how a task is done, and where they come from."""

    task: str
    env_id: str
    vocabulary: str
    versions: Mapping[str, str]  # of the packages that played them
    seeds: tuple[int, ...]  # [M] what each episode's env was made from
    trajectories: tuple[Trajectory, ...]  # [M]

    def __post_init__(self) -> None:
        if not self.trajectories:
            raise TrajectoryError(f"no demonstrations of {self.task}: at least one is needed")
        if len(self.seeds) != len(self.trajectories):
            raise TrajectoryError(f"seeds: {len(self.seeds)} for {len(self.trajectories)} trajectories")
        for index, trajectory in enumerate(self.trajectories):
            first = self.trajectories[0]
            if (
                trajectory.observations.shape[1:] != first.observations.shape[1:]
                or trajectory.observations.dtype != first.observations.dtype
            ):
                raise TrajectoryError(
                    f"demonstration {index}: observations {trajectory.observations.dtype} {list(trajectory.observations.shape[1:])}, "
                    f"those of the first are {first.observations.dtype} {list(first.observations.shape[1:])}"
                )
            if (trajectory.actions.dtype.kind, trajectory.actions.shape[1:]) != (
                first.actions.dtype.kind,
                first.actions.shape[1:],
            ):
                raise TrajectoryError(
                    f"demonstration {index}: actions {trajectory.actions.dtype} {list(trajectory.actions.shape[1:])}, "
                    f"those of the first are {first.actions.dtype} {list(first.actions.shape[1:])}"
                )

    def __len__(self) -> int:
        return len(self.trajectories)

    def __repr__(self) -> str:
        mean = sum(trajectory.total_reward for trajectory in self.trajectories) / len(self)
        return (
            f"{len(self)} demonstration{'s' if len(self) != 1 else ''} of {self.task} in {self.env_id}, "
            f"{self.frames} steps, mean return {mean:.3f}"
        )

    @property
    def frames(self) -> int:
        return sum(trajectory.steps for trajectory in self.trajectories)

    def as_rollout(self) -> Rollout:
        return as_rollout(self.trajectories)


def as_rollout(trajectories: Sequence[Trajectory]) -> Rollout:
    """M episodes side by side, [T of the longest, M]; what follows an episode's end is not valid."""
    if not trajectories:
        raise TrajectoryError("no trajectories to lay side by side")
    first, envs = trajectories[0], len(trajectories)
    steps = max(trajectory.steps for trajectory in trajectories)
    observations = np.zeros((steps + 1, envs, *first.observations.shape[1:]), first.observations.dtype)
    poses = np.zeros((steps + 1, envs, first.poses.shape[1]), first.poses.dtype)
    whole = first.actions.dtype.kind != "f"
    actions = np.zeros((steps, envs, *first.actions.shape[1:]), np.int64 if whole else np.float32)
    task_reward = np.zeros((steps, envs), np.float32)
    terminated, truncated, valid = (np.zeros((steps, envs), np.bool_) for _ in range(3))
    info = {key: np.full((steps, envs), np.nan) for trajectory in trajectories for key in trajectory.info}
    for env, trajectory in enumerate(trajectories):
        length = trajectory.steps
        observations[: length + 1, env] = trajectory.observations
        poses[: length + 1, env] = trajectory.poses
        actions[:length, env] = trajectory.actions
        task_reward[:length, env] = trajectory.task_reward
        valid[:length, env] = True
        terminated[length - 1, env] = trajectory.terminated
        truncated[length - 1, env] = not trajectory.terminated
        for key, numbers in trajectory.info.items():
            info[key][:length, env] = numbers
    return Rollout(observations, actions, poses, task_reward, terminated, truncated, valid, info=info)


def first_columns(rollout: Rollout, count: int) -> Rollout:
    """The rollout of the first `count` envs alone."""
    kept = rollout.final_env < count
    return Rollout(
        rollout.observations[:, :count],
        rollout.actions[:, :count],
        rollout.poses[:, :count],
        rollout.task_reward[:, :count],
        rollout.terminated[:, :count],
        rollout.truncated[:, :count],
        rollout.valid[:, :count],
        rollout.final_step[kept],
        rollout.final_env[kept],
        rollout.final_observations[kept],
        rollout.final_poses[kept],
        {key: numbers[:, :count] for key, numbers in rollout.info.items()},
    )


def masked(rollout: Rollout, valid: Mask) -> Rollout:
    """The rollout with only the `valid` steps [T, B] among its valid ones."""
    valid = rollout.valid & valid
    kept = valid[rollout.final_step, rollout.final_env]
    return Rollout(
        rollout.observations,
        rollout.actions,
        rollout.poses,
        rollout.task_reward,
        rollout.terminated & valid,
        rollout.truncated & valid,
        valid,
        rollout.final_step[kept],
        rollout.final_env[kept],
        rollout.final_observations[kept],
        rollout.final_poses[kept],
        rollout.info,
    )


def joined(rollouts: Sequence[Rollout]) -> Rollout:
    """Successive rollouts of the same envs as one."""
    begin = np.cumsum([0, *(rollout.steps for rollout in rollouts[:-1])])
    # A rollout without finals may have them without a shape.
    finals = [(r, offset) for r, offset in zip(rollouts, begin, strict=True) if len(r.final_step)] or [(rollouts[0], 0)]

    def end_to_end(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(rollout, name) for rollout in rollouts])

    def overlapping(name: str) -> npt.NDArray[Any]:
        return np.concatenate([*(getattr(r, name)[:-1] for r in rollouts), getattr(rollouts[-1], name)[-1:]])

    laid = {name: end_to_end(name) for name in ("actions", "task_reward", "terminated", "truncated", "valid")}
    laid |= {name: overlapping(name) for name in ("observations", "poses")}
    for name in ("final_env", "final_observations", "final_poses"):
        laid[name] = np.concatenate([getattr(r, name) for r, _ in finals])
    final_step = np.concatenate([r.final_step + offset for r, offset in finals]).astype(np.int32)
    nothing = [np.full(rollout.valid.shape, np.nan) for rollout in rollouts]
    info = {
        key: np.concatenate([rollout.info.get(key, absent) for rollout, absent in zip(rollouts, nothing, strict=True)])
        for key in dict.fromkeys(key for rollout in rollouts for key in rollout.info)
    }
    return Rollout(final_step=final_step, info=info, **laid)
