"""MiniGrid's rules compiled, for every environment that keeps them: up to five million steps a second on one core.

`ShowPose` makes any other environment of MiniGrid observe what its events are read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from srm.domains.envs import Step, first_seed, no_finals
from srm.domains.minigrid import grid
from srm.domains.minigrid.layouts import GridStart, LayoutSource, rules_of
from srm.domains.spaces import ActionSpace, Choice, ObservationPart, ObservationSpace
from srm.errors import TaskError
from srm.extension import extension
from srm.seeding import stream
from srm.trajectory import Numbers, Observations

COMPILED, OWN_LAYOUTS = (
    "MiniGrid's rules and layouts, compiled",
    "MiniGrid's rules compiled, layouts by the environment itself",
)


def compile_envs(env: gymnasium.Env, env_id: str, count: int, seed: int) -> GridEnvs | str:
    """Envs like this one, or the reason why it has to step itself."""
    rules = rules_of(env)
    if isinstance(rules, str):
        return rules
    layout = grid.layout_of(env.unwrapped, rules)
    source = LayoutSource(env, rules) if layout.kind == grid.DRAWN_BEFORE else None
    return GridEnvs(env_id, layout, count, seed, source)


class GridEnvs:
    """Envs of `grid.py`, which spend the step after an episode's end on resetting. `source`: who lays them out, if it is not grid.c."""

    action_space: ActionSpace = Choice(grid.ACTIONS)
    observation_space = ObservationSpace(
        (ObservationPart("", (), "cells", (grid.VIEW, grid.VIEW, 3), np.dtype(np.uint8)),)
    )

    def __init__(
        self, env_id: str, layout: grid.Layout, count: int, seed: int, source: LayoutSource | None = None
    ) -> None:
        assert (source is None) != (layout.kind == grid.DRAWN_BEFORE), "somebody has to lay them out"
        self.env_id, self.count, self._source = env_id, count, source
        self.stepped_by = COMPILED if source is None else OWN_LAYOUTS
        self._step = extension("srm.domains.minigrid._grid").step
        self._layout, self._seed = layout.numbers, seed
        self._rng = stream(seed, "worlds").integers(2**64, size=count, dtype=np.uint64)
        self.cells = np.zeros((count, layout.rules.width, layout.rules.height, 3), np.uint8)
        self.agent, self.carried = np.zeros((count, 3), np.int16), np.zeros((count, 4), np.uint8)
        self._inside, self._steps = np.zeros(self.cells.shape[:3], np.uint8), np.zeros(count, np.int32)
        self._state = (self.cells, self._inside, self.agent, self.carried, self._steps)

    def begin_as(self, starts: Sequence[GridStart]) -> None:
        """Every env begins an episode there."""
        self._lay_out(np.arange(self.count), starts)
        self.carried[:], self._steps[:] = 0, 0
        self._over = np.zeros(self.count, np.bool_)

    def _lay_out(self, envs: np.ndarray, starts: Iterable[GridStart]) -> None:
        for b, start in zip(envs, starts, strict=True):
            self.cells[b], self._inside[b], self.agent[b] = start.cells, start.inside, start.agent

    def reset(self) -> tuple[Observations, Numbers]:
        self._rng = stream(self._seed, "worlds").integers(2**64, size=self.count, dtype=np.uint64)
        if self._source is not None:
            self._source.seed(first_seed(self._seed))
        self._over = np.ones(self.count, np.bool_)
        begun = self.step(np.zeros(self.count, np.int64))
        return begun.observations, begun.poses

    def step(self, actions: np.ndarray) -> Step:
        over, reward = self._over, np.empty(self.count, np.float32)
        terminated, truncated = np.empty(self.count, np.bool_), np.empty(self.count, np.bool_)
        observations = np.empty((self.count, grid.VIEW, grid.VIEW, 3), np.uint8)
        chosen = np.ascontiguousarray(actions, np.int64)
        if chosen.shape != (self.count,):
            raise TaskError(f"actions {list(chosen.shape)}: {self.count} environments take one each, [{self.count}]")
        if self._source is not None and over.any():
            envs = np.flatnonzero(over)
            self._lay_out(envs, [self._source.draw() for _ in envs])
        self._step(*self._state, self._rng, over, chosen, self._layout, reward, terminated, truncated, observations)
        self._over, poses = terminated | truncated, self.agent.copy()
        return Step(observations, poses, reward, terminated, truncated, ~over, *no_finals(observations, poses))

    def close(self) -> None:
        if self._source is not None:
            self._source.env.close()


class ShowPose(gymnasium.ObservationWrapper):
    """MiniGrid's observation as `image` and `pose`: x, y and direction of the agent."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        image = env.observation_space["image"]  # type: ignore[index]
        pose = gymnasium.spaces.Box(0, np.iinfo(np.int16).max, (3,), np.int16)
        self.observation_space = gymnasium.spaces.Dict({"image": image, "pose": pose})

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {"image": observation["image"], "pose": pose_of(self.unwrapped)}


def pose_of(env: Any) -> Numbers:
    """x, y and direction of the agent of an unwrapped environment."""
    return np.array([*env.agent_pos, env.agent_dir], np.int16)


def pool_poses(seen: Any, info: Mapping[str, Any]) -> Numbers:
    """[B, 3] of EnvPool's environments of MiniGrid."""
    return np.concatenate([info["agent_pos"], seen["direction"][:, None]], axis=1).astype(np.int16)
