"""What may be done in an environment and what is observed there, as values.

    A  numbers of an action        B  envs

An action is stored as what the environment takes, flat: a `Choice` (Gymnasium's Discrete) as one whole number, `Choices` (MultiDiscrete,
MultiBinary) as [A] whole numbers, `Bounds` (Box) as [A] float32 within their limits.

An observation is one array. Of a Dict or a Tuple it is a numpy structured array with a field for each part, `observation["position"]`;
a Tuple's fields are "0", "1", ..., and nested names are joined by dots. So whatever stacks, indexes, stores or reads arrays takes all
of them. MiniGrid's dictionary (image, direction, mission) is its image alone, as ever, with the pose beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from srm.errors import TaskError
from srm.trajectory import Numbers, Observations

BESIDE_IMAGE = {"direction", "mission", "pose"}  # what MiniGrid's dictionary has beside its image
LEAST_PICTURE = 8  # pixels of a side: what is smaller is taken as numbers
LARGEST_GRID = 32  # cells of a side: MiniGrid drawn as a picture has 56 pixels or more
SLACK = 1e-5  # of the width of a box: float32 and float64 round differently


@dataclass(frozen=True)
class Choice:
    """One of `count` actions, the first of which is `start`."""

    count: int
    start: int = 0

    dtype = np.dtype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def log_uniform(self) -> float:
        """The log-probability of an action that is drawn uniformly."""
        return -math.log(self.count)

    def draw(self, rng: np.random.Generator, envs: int) -> np.ndarray:
        """[B] drawn uniformly."""
        return rng.integers(self.count, size=envs) + self.start

    def for_env(self, action: Any) -> Any:
        """One action as the environment takes it."""
        return int(action)

    def for_envs(self, actions: np.ndarray) -> np.ndarray:
        return actions

    def outside(self, actions: np.ndarray) -> np.ndarray:
        """Whether each of actions [...] is none of these, [...]."""
        return (actions < self.start) | (actions >= self.start + self.count)

    def __str__(self) -> str:
        return f"{self.start}..{self.start + self.count - 1}"


@dataclass(frozen=True)
class Choices:
    """One of several in each of A places, counted from 0."""

    counts: tuple[int, ...]
    env_shape: tuple[int, ...]

    dtype = np.dtype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.counts),)

    @property
    def log_uniform(self) -> float:
        return -sum(map(math.log, self.counts))

    def draw(self, rng: np.random.Generator, envs: int) -> np.ndarray:
        return rng.integers(self.counts, size=(envs, len(self.counts)))

    def for_env(self, action: Any) -> Any:
        return np.asarray(action, np.int64).reshape(self.env_shape)

    def for_envs(self, actions: np.ndarray) -> np.ndarray:
        return actions.reshape(len(actions), *self.env_shape)

    def outside(self, actions: np.ndarray) -> np.ndarray:
        return np.any((actions < 0) | (actions >= np.array(self.counts)), axis=-1)

    def __str__(self) -> str:
        return f"0..{[count - 1 for count in self.counts]}"


@dataclass(frozen=True)
class Bounds:
    """A numbers, each within its limits."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    env_shape: tuple[int, ...]
    env_dtype: np.dtype

    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.low),)

    @cached_property
    def middle(self) -> np.ndarray:
        """[A]."""
        return (np.array(self.high, np.float32) + np.array(self.low, np.float32)) / 2

    @cached_property
    def half(self) -> np.ndarray:
        """[A] half the width."""
        return (np.array(self.high, np.float32) - np.array(self.low, np.float32)) / 2

    @property
    def log_uniform(self) -> float:
        """Densities are measured against the uniform one, so that they do not depend on the units of an action."""
        return 0.0

    def draw(self, rng: np.random.Generator, envs: int) -> np.ndarray:
        return self.scaled_up(rng.uniform(-1, 1, size=(envs, len(self.low))).astype(np.float32))

    def scaled_up(self, numbers: np.ndarray) -> np.ndarray:
        """Actions [..., A] of numbers from -1 to 1; -1 and 1 are the limits exactly."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)
        actions = np.clip(self.middle + self.half * numbers, low, high)
        return np.where(numbers <= -1, low, np.where(numbers >= 1, high, actions))

    def scaled_down(self, actions: np.ndarray) -> np.ndarray:
        """Numbers from -1 to 1 of actions [..., A]; what lies at a limit is -1 or 1 exactly."""
        numbers = np.clip((actions - self.middle) / self.half, -1, 1).astype(np.float32)
        numbers[actions <= np.array(self.low, np.float32)] = -1
        numbers[actions >= np.array(self.high, np.float32)] = 1
        return numbers

    def for_env(self, action: Any) -> Any:
        return np.asarray(action, self.env_dtype).reshape(self.env_shape)

    def for_envs(self, actions: np.ndarray) -> np.ndarray:
        return actions.astype(self.env_dtype, copy=False).reshape(len(actions), *self.env_shape)

    def outside(self, actions: np.ndarray) -> np.ndarray:
        slack = SLACK * 2 * self.half
        return np.any((actions < np.array(self.low) - slack) | (actions > np.array(self.high) + slack), axis=-1)

    def __str__(self) -> str:
        limits = {f"{low:g} to {high:g}" for low, high in zip(self.low, self.high, strict=True)}
        return limits.pop() if len(limits) == 1 else f"{_short(self.low)} to {_short(self.high)}"


ActionSpace = Choice | Choices | Bounds


def action_space_of(env_id: str, space: Any) -> ActionSpace:
    """What may be done in an environment with this action space of Gymnasium's."""
    if isinstance(space, spaces.Discrete) and space.start >= 0:
        return Choice(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete) and not np.any(space.start):
        return Choices(tuple(space.nvec.reshape(-1).tolist()), space.shape)
    if isinstance(space, spaces.MultiBinary):
        return Choices((2,) * math.prod(space.shape), space.shape)
    if isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind == "f":
        return _bounds(env_id, space)
    raise TaskError(
        f"{env_id}: has actions {space}; wrap it so that they are Discrete, MultiDiscrete or a Box of floats, "
        "whole numbers beginning at 0 (gymnasium.wrappers.TransformAction does that)"
    )


def _bounds(env_id: str, space: spaces.Box) -> Bounds:
    low, high = (limit.reshape(-1).astype(np.float64) for limit in (space.low, space.high))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and np.abs([low, high]).max(initial=0) < 1e30):
        raise TaskError(
            f"{env_id}: its actions have no bounds ({space}); wrap it so that they have, with "
            "gymnasium.wrappers.TransformAction(env, lambda action: action, Box(low, high))"
        )
    if not (low < high).all() or len(low) == 0:
        raise TaskError(f"{env_id}: its actions {space} leave nothing to choose; wrap it so that low lies below high")
    assert space.dtype is not None
    return Bounds(tuple(low.tolist()), tuple(high.tolist()), space.shape, np.dtype(space.dtype))


PartKind = Literal["numbers", "image", "cells", "one_of"]


@dataclass(frozen=True)
class ObservationPart:
    """One array of an observation, and where it is in what the environment returns."""

    name: str  # of its field; empty: the observation is this array
    path: tuple[str | int, ...]
    kind: PartKind  # any numbers; a picture; a grid of cells; numbers each of which is one of several
    shape: tuple[int, ...]
    dtype: np.dtype
    counts: tuple[int, ...] = ()  # one_of: how many values each number has
    starts: tuple[int, ...] = ()  # one_of: the first of them


@dataclass(frozen=True)
class ObservationSpace:
    """What an environment observes."""

    parts: tuple[ObservationPart, ...]
    has_pose: bool = False  # whether the pose stands beside the image

    @property
    def structured(self) -> bool:
        return bool(self.parts[0].name)

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.structured else self.parts[0].shape

    @cached_property
    def dtype(self) -> np.dtype:
        if not self.structured:
            return self.parts[0].dtype
        return np.dtype([(part.name, part.dtype, part.shape) for part in self.parts])

    def read(self, seen: Any) -> Observations:
        """A copy of what one environment or many observe, [..., *shape]."""
        if not self.structured:
            return np.array(_at(seen, self.parts[0].path), self.dtype)
        arrays = {part.name: np.asarray(_at(seen, part.path)) for part in self.parts}
        first = self.parts[0]
        leading = arrays[first.name].shape[: arrays[first.name].ndim - len(first.shape)]
        observations = np.empty(leading, self.dtype)
        for name, array in arrays.items():
            observations[name] = array
        return observations

    def pose(self, seen: Any) -> Numbers:
        """[..., P] of what one environment or many observe; no numbers where there is no pose."""
        if self.has_pose:
            return np.array(seen["pose"], np.int16)
        part = self.parts[0]
        array = np.asarray(_at(seen, part.path))
        return np.zeros((*array.shape[: array.ndim - len(part.shape)], 0), np.int16)

    def array_of(self, name: str, observations: Observations) -> np.ndarray:
        """The array [..., *shape] of a part."""
        array: np.ndarray = observations[name] if name else observations
        return array

    def refuse_misfit(self, observations: Observations, place: str, env_id: str) -> None:
        """Observations [T, ...] of another space."""
        fits = observations.shape[1:] == self.shape and _same_kind(observations.dtype, self.dtype)
        if not fits:
            raise TaskError(
                f"{place} has observations {describe(observations.dtype, observations.shape[1:])}, "
                f"those of {env_id} are {describe(self.dtype, self.shape)}"
            )


@dataclass(frozen=True)
class Spaces:
    """What is observed and what is done."""

    observations: ObservationSpace
    actions: ActionSpace


def observation_space_of(env_id: str, space: Any, *, grid: bool = False) -> ObservationSpace:
    """What an environment with this observation space of Gymnasium's observes. `grid`: its small pictures are grids of cells."""
    if isinstance(space, spaces.Dict) and "image" in space.spaces and set(space.spaces) - {"image"} <= BESIDE_IMAGE:
        part = _part(env_id, space["image"], ("image",), "", grid)
        return ObservationSpace((part,), "pose" in space.spaces)
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = tuple(_parts(env_id, space, (), grid))
        if not parts:
            raise TaskError(f"{env_id}: observes {space}, which is nothing; wrap it so that it observes something")
        return ObservationSpace(parts)
    return ObservationSpace((_part(env_id, space, (), "", grid),))


def _parts(env_id: str, space: Any, path: tuple[str | int, ...], grid: bool) -> Iterator[ObservationPart]:
    if isinstance(space, spaces.Dict):
        inner: Mapping[Any, Any] = space.spaces
    elif isinstance(space, spaces.Tuple):
        inner = dict(enumerate(space.spaces))
    else:
        yield _part(env_id, space, path, ".".join(map(str, path)), grid)
        return
    for key, part in inner.items():
        yield from _parts(env_id, part, (*path, key), grid)


def _part(env_id: str, space: Any, path: tuple[str | int, ...], name: str, grid: bool) -> ObservationPart:
    if isinstance(space, spaces.Discrete):
        whole = np.dtype(space.dtype or np.int64)
        return ObservationPart(name, path, "one_of", (), whole, (int(space.n),), (int(space.start),))
    if isinstance(space, spaces.MultiDiscrete):
        counts, starts = (tuple(array.reshape(-1).tolist()) for array in (space.nvec, space.start))
        return ObservationPart(name, path, "one_of", space.shape, np.dtype(space.dtype), counts, starts)
    if isinstance(space, spaces.MultiBinary):
        size = math.prod(space.shape)
        return ObservationPart(name, path, "one_of", space.shape, np.dtype(np.int8), (2,) * size, (0,) * size)
    if isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind in "fiu":
        return ObservationPart(name, path, _kind_of(space, grid), space.shape, np.dtype(space.dtype))
    place = f" in {name}" if name else ""
    raise TaskError(
        f"{env_id}: observes {space}{place}, which no network here reads; wrap it so that it observes a Box, Discrete, "
        "MultiDiscrete, MultiBinary, or a Dict or Tuple of these (gymnasium.wrappers.TransformObservation does that)"
    )


def _kind_of(space: spaces.Box, grid: bool) -> PartKind:
    if space.dtype != np.uint8 or len(space.shape) not in (2, 3):
        return "numbers"
    sides = np.sort(space.shape)[-2:]
    if grid and len(space.shape) == 3 and space.shape[2] == 3 and sides[1] <= LARGEST_GRID:
        return "cells"
    return "image" if sides[0] >= LEAST_PICTURE else "numbers"


def _at(seen: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        seen = seen[key]
    return seen


def _same_kind(one: np.dtype, other: np.dtype) -> bool:
    """Whether arrays of one can stand for those of the other: floats of any size for floats, and so on, in the same fields."""
    if one.names is None or other.names is None:
        return one.names == other.names and (one.kind == other.kind or {one.kind, other.kind} <= set("iu"))
    return one.names == other.names and all(
        one[name].shape == other[name].shape and _same_kind(one[name].base, other[name].base) for name in one.names
    )


def describe(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    """`float32 [3]`, or `position float32 [3], goal int64` of several parts."""
    if dtype.names is None:
        return f"{dtype} {list(shape)}" if shape else str(dtype)
    return ", ".join(f"{name} {describe(dtype[name].base, dtype[name].shape)}" for name in dtype.names)


def _short(numbers: tuple[float, ...]) -> str:
    listed = ", ".join(f"{number:g}" for number in numbers[:8])
    return f"[{listed}{', ...' if len(numbers) > 8 else ''}]"
