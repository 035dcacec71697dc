"""What was seen, done and had happened: the arrays that every later part reads and none checks again.

    T  steps        B  worlds        N  occurrences of events        F  final views        P  numbers of a place

A `Rollout` is T steps of B worlds with episodes cut anywhere; a `Trajectory` is one whole episode; `Events` are what a
vocabulary read in a rollout. `as_rollout` lays trajectories side by side, so that whoever takes a rollout takes
demonstrations too.

Some worlds spend a step on resetting (its action is ignored, its reward is 0, the view after it is the first of the new
episode). Such steps, and the padding of `as_rollout`, are not `real`: nobody trains on them, counts them or shows them
to a machine. Other worlds reset within the step that ended an episode; there `views` already shows the new episode and
the true last view is kept among the finals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from srm.errors import TrajectoryError

Views = npt.NDArray[Any]  # the world's own type: uint8 for MiniGrid, float32 for a continuous observation
Numbers = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]


_KINDS = {"whole numbers": "iu", "numbers": "f", "yes or no": "b"}


def _expect(name: str, array: npt.NDArray[Any], shape: tuple[int | None, ...], kind: str) -> None:
    """Refuse an array of another rank, size (None: any) or kind of number."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in _KINDS[kind]:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TrajectoryError(f"{name}: {found}, expected an array of {kind}")
    fits = array.ndim == len(shape) and all(want in (None, have) for have, want in zip(array.shape, shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise TrajectoryError(f"{name}: shape {list(array.shape)}, expected [{wanted}]")


def _expect_length(name: str, array: npt.NDArray[Any], *leading: int) -> None:
    if not isinstance(array, np.ndarray) or array.shape[: len(leading)] != leading:
        found = list(array.shape) if isinstance(array, np.ndarray) else type(array).__name__
        raise TrajectoryError(f"{name}: {found}, expected [{', '.join(map(str, leading))}, ...]")


@dataclass(frozen=True, eq=False)
class Events:
    """Every occurrence of every event of a rollout, sorted by (world, step, event)."""

    steps: int  # T
    worlds: int  # B
    step: Numbers  # [N] int32
    world: Numbers  # [N] int32
    event: Numbers  # [N] int16, index into Words.events
    attributes: Numbers  # [N, attributes of the words] int32, NOTHING where the event has none
    signals: npt.NDArray[np.float64]  # [T, B, signals of the words]

    def __post_init__(self) -> None:
        count = len(self.step)
        for name, array, limit in (("step", self.step, self.steps), ("world", self.world, self.worlds)):
            _expect(name, array, (count,), "whole numbers")
            if count and not 0 <= array.min() <= array.max() < limit:
                raise TrajectoryError(f"{name}: {array.min()}..{array.max()}, expected 0..{limit - 1}")
        _expect("event", self.event, (count,), "whole numbers")
        if count and self.event.min() < 0:
            raise TrajectoryError(f"event: {self.event.min()}, expected an index of a word")
        _expect("attributes", self.attributes, (count, None), "whole numbers")
        _expect("signals", self.signals, (self.steps, self.worlds, None), "numbers")
        if not np.isfinite(self.signals).all():
            step, world, signal = np.argwhere(~np.isfinite(self.signals))[0]
            found = f"signal {signal} reads {self.signals[step, world, signal]} at step {step} of world {world}"
            raise TrajectoryError(f"signals: {found}, expected a finite number")
        place = (self.world.astype(np.int64) * self.steps + self.step) * (1 << 15) + self.event
        if count and not (np.diff(place) > 0).all():
            raise TrajectoryError("events are not sorted by (world, step, event), or one is listed twice")

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, eq=False)
class Rollout:
    """T steps of B worlds played side by side."""

    views: Views  # [T+1, B, ...]  before each step, and after the last
    actions: npt.NDArray[np.int64]  # [T, B]
    places: Numbers  # [T+1, B, P] int16; MiniGrid: x, y, direction of the agent
    task_reward: npt.NDArray[np.float32]  # [T, B]
    ended: Mask  # [T, B]  the task ended the episode at this step
    cut: Mask  # [T, B]  time ran out at this step, and the task had not ended
    real: Mask  # [T, B]  False: spent on resetting, or padding

    # Worlds that reset within the step: the view and place that `views` and `places` do not show. [F] of each.
    final_step: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))
    final_world: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))
    final_views: Views = field(default_factory=lambda: np.zeros(0, np.uint8))  # [F, ...]
    final_places: Numbers = field(default_factory=lambda: np.zeros(0, np.int16))  # [F, P]

    def __post_init__(self) -> None:
        _expect("actions", self.actions, (None, None), "whole numbers")
        steps, worlds = self.actions.shape
        _expect_length("views", self.views, steps + 1, worlds)
        _expect("places", self.places, (steps + 1, worlds, None), "whole numbers")
        _expect("task_reward", self.task_reward, (steps, worlds), "numbers")
        for name, mask in (("ended", self.ended), ("cut", self.cut), ("real", self.real)):
            _expect(name, mask, (steps, worlds), "yes or no")
        if (self.ended & self.cut).any():
            raise TrajectoryError(f"cut: step {_first(self.ended & self.cut)} both ended and ran out of time; it ended")
        if ((self.ended | self.cut) & ~self.real).any():
            raise TrajectoryError(f"real: step {_first((self.ended | self.cut) & ~self.real)} ends an episode unplayed")
        if len(self.final_step):
            self._check_finals()

    def _check_finals(self) -> None:
        finals = len(self.final_step)
        _expect("final_step", self.final_step, (finals,), "whole numbers")
        _expect("final_world", self.final_world, (finals,), "whole numbers")
        _expect("final_places", self.final_places, (finals, self.places.shape[2]), "whole numbers")
        _expect_length("final_views", self.final_views, finals, *self.views.shape[2:])
        if not (self.ended | self.cut)[self.final_step, self.final_world].all():
            raise TrajectoryError("final_step: a final view is given for a step that ends no episode")

    @property
    def steps(self) -> int:
        return int(self.actions.shape[0])

    @property
    def worlds(self) -> int:
        return int(self.actions.shape[1])

    def after(self) -> Views:
        """The true view after each step, [T, B, ...]: of the old episode where a new one has already begun."""
        return self._laid_over(self.views, self.final_views)

    def places_after(self) -> Numbers:
        """The true place after each step, [T, B, P]."""
        return self._laid_over(self.places, self.final_places)

    def _laid_over(self, array: npt.NDArray[Any], finals: npt.NDArray[Any]) -> npt.NDArray[Any]:
        shown = array[1:]
        if len(self.final_step) == 0:
            return shown
        shown = shown.copy()
        shown[self.final_step, self.final_world] = finals
        return shown

    def fresh(self) -> Mask:
        """Whether the view before step t is of another episode than the one before step t - 1, [T+1, B].

        The step that a world spends on resetting counts as fresh too. Row 0 is False: whoever collects knows what came
        before it.
        """
        mask = np.zeros((self.steps + 1, self.worlds), np.bool_)
        mask[1:] = self.ended | self.cut | ~self.real
        return mask


def _first(mask: Mask) -> str:
    step, world = np.argwhere(mask)[0]
    return f"{step} of world {world}"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One whole episode: T actions between T + 1 views."""

    views: Views  # [T+1, ...]
    actions: npt.NDArray[np.int64]  # [T]
    places: Numbers  # [T+1, P] int16
    task_reward: npt.NDArray[np.float32]  # [T]
    ended: bool  # False: time ran out

    def __post_init__(self) -> None:
        _expect("actions", self.actions, (None,), "whole numbers")
        steps = len(self.actions)
        if steps == 0:
            raise TrajectoryError("actions: an episode has at least one step")
        if len(self.views) != steps + 1:
            raise TrajectoryError(f"views: {len(self.views)} for {steps} actions, expected {steps + 1}")
        _expect("places", self.places, (steps + 1, None), "whole numbers")
        _expect("task_reward", self.task_reward, (steps,), "numbers")

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
    seeds: tuple[int, ...]  # [M] what each episode's world was made from
    trajectories: tuple[Trajectory, ...]  # [M]

    def __post_init__(self) -> None:
        if not self.trajectories:
            raise TrajectoryError(f"no demonstrations of {self.task}: at least one is needed")
        if len(self.seeds) != len(self.trajectories):
            raise TrajectoryError(f"seeds: {len(self.seeds)} for {len(self.trajectories)} trajectories")
        for index, trajectory in enumerate(self.trajectories):
            first = self.trajectories[0]
            if trajectory.views.shape[1:] != first.views.shape[1:] or trajectory.views.dtype != first.views.dtype:
                raise TrajectoryError(
                    f"demonstration {index}: views {trajectory.views.dtype} {list(trajectory.views.shape[1:])}, "
                    f"those of the first are {first.views.dtype} {list(first.views.shape[1:])}"
                )

    def __len__(self) -> int:
        return len(self.trajectories)

    @property
    def frames(self) -> int:
        return sum(trajectory.steps for trajectory in self.trajectories)

    def as_rollout(self) -> Rollout:
        return as_rollout(self.trajectories)


def as_rollout(trajectories: Sequence[Trajectory]) -> Rollout:
    """M episodes side by side, [T of the longest, M]; what follows an episode's end is not real."""
    if not trajectories:
        raise TrajectoryError("no trajectories to lay side by side")
    first, worlds = trajectories[0], len(trajectories)
    steps = max(trajectory.steps for trajectory in trajectories)
    views = np.zeros((steps + 1, worlds, *first.views.shape[1:]), first.views.dtype)
    places = np.zeros((steps + 1, worlds, first.places.shape[1]), first.places.dtype)
    actions = np.zeros((steps, worlds), np.int64)
    task_reward = np.zeros((steps, worlds), np.float32)
    ended, cut, real = (np.zeros((steps, worlds), np.bool_) for _ in range(3))
    for world, trajectory in enumerate(trajectories):
        length = trajectory.steps
        views[: length + 1, world] = trajectory.views
        places[: length + 1, world] = trajectory.places
        actions[:length, world] = trajectory.actions
        task_reward[:length, world] = trajectory.task_reward
        real[:length, world] = True
        ended[length - 1, world] = trajectory.ended
        cut[length - 1, world] = not trajectory.ended
    return Rollout(views, actions, places, task_reward, ended, cut, real)


def first_columns(rollout: Rollout, count: int) -> Rollout:
    """The rollout of the first `count` worlds alone."""
    kept = rollout.final_world < count
    return Rollout(
        rollout.views[:, :count],
        rollout.actions[:, :count],
        rollout.places[:, :count],
        rollout.task_reward[:, :count],
        rollout.ended[:, :count],
        rollout.cut[:, :count],
        rollout.real[:, :count],
        rollout.final_step[kept],
        rollout.final_world[kept],
        rollout.final_views[kept],
        rollout.final_places[kept],
    )


def masked(rollout: Rollout, valid: Mask) -> Rollout:
    """The rollout with only the `valid` steps [T, B] among its real ones."""
    valid = rollout.real & valid
    kept = valid[rollout.final_step, rollout.final_world]
    return Rollout(
        rollout.views,
        rollout.actions,
        rollout.places,
        rollout.task_reward,
        rollout.ended & valid,
        rollout.cut & valid,
        valid,
        rollout.final_step[kept],
        rollout.final_world[kept],
        rollout.final_views[kept],
        rollout.final_places[kept],
    )


def joined(rollouts: Sequence[Rollout]) -> Rollout:
    """Successive rollouts of the same worlds as one."""
    begin = np.cumsum([0, *(rollout.steps for rollout in rollouts[:-1])])
    # A rollout without finals may have them without a shape.
    finals = [(r, offset) for r, offset in zip(rollouts, begin, strict=True) if len(r.final_step)] or [(rollouts[0], 0)]

    def end_to_end(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(rollout, name) for rollout in rollouts])

    def overlapping(name: str) -> npt.NDArray[Any]:
        return np.concatenate([*(getattr(r, name)[:-1] for r in rollouts), getattr(rollouts[-1], name)[-1:]])

    laid = {name: end_to_end(name) for name in ("actions", "task_reward", "ended", "cut", "real")}
    laid |= {name: overlapping(name) for name in ("views", "places")}
    for name in ("final_world", "final_views", "final_places"):
        laid[name] = np.concatenate([getattr(r, name) for r, _ in finals])
    final_step = np.concatenate([r.final_step + offset for r, offset in finals]).astype(np.int32)
    return Rollout(final_step=final_step, **laid)
