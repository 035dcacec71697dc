"""MiniGrid's event reader: what happened in a whole rollout, from observations, actions and poses alone.

    observations   [T+1, B, 7, 7, 3] uint8   [column, row, (type, colour, state)]
    poses          [T+1, B, 3] int16         x, y and direction of the agent

The agent stands at [3, 6] of its observation and looks to smaller rows, so the cell in front of it is [3, 5]; its own cell
shows what it carries. The cell in front is always visible and nothing moves by itself, so the observation before the step and
the action decide every act. Only what a box held is read from the observation after. `benchmarks/events.py` compares what reading a
rollout costs with what stepping it costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from srm.domains.minigrid.vocabulary import (
    BALL,
    BOX,
    CLOSED,
    DIRECTIONS,
    DOOR,
    DROP,
    EMPTY,
    FORWARD,
    GOAL,
    KEY,
    LOCKED,
    MINIGRID_WORDS,
    OPEN,
    PICKUP,
    TOGGLE,
    WALL,
    Target,
)
from srm.errors import TaskError
from srm.machine.vocabulary import NOTHING, Vocabulary, pack_cell
from srm.trajectory import Events, Rollout

_INDEX = MINIGRID_WORDS.event_index
REACH_GOAL, HIT_WALL, SEE_TARGET = _INDEX["reach_goal"], _INDEX["hit_wall"], _INDEX["see_target"]
PICK_UP_KEY, PICK_UP_BALL, PICK_UP_BOX = _INDEX["pick_up_key"], _INDEX["pick_up_ball"], _INDEX["pick_up_box"]
PICK_UP_TARGET, OPEN_BOX = _INDEX["pick_up_target"], _INDEX["open_box"]
DROP_KEY, DROP_BALL, DROP_BOX = _INDEX["drop_key"], _INDEX["drop_ball"], _INDEX["drop_box"]
OPEN_DOOR, CLOSE_DOOR, UNLOCK_DOOR = _INDEX["open_door"], _INDEX["close_door"], _INDEX["unlock_door"]
_COLOUR, _PLACE = (MINIGRID_WORDS.attribute_index[name] for name in ("colour", "place"))

_PACK = pack_cell(1, 0)  # a cell's number is x * _PACK + y
_STEPS = np.array(DIRECTIONS, np.int32)


@dataclass(frozen=True)
class MiniGrid:
    """The words of MiniGrid for a task whose target is `ball` or `box` (the only one there), `blue ball`, ... or nothing."""

    target: str | None = None

    def __post_init__(self) -> None:
        self._to_take()

    @property
    def vocabulary(self) -> Vocabulary:
        return MINIGRID_WORDS

    def read(self, rollout: Rollout) -> Events:
        self._check(rollout)
        step, env, event, attributes = _read(rollout, self._to_take())
        signals = np.zeros((rollout.steps, rollout.envs, 0))
        return Events(rollout.steps, rollout.envs, step, env, event, attributes, signals)

    def _check(self, rollout: Rollout) -> None:
        observations, poses = rollout.observations, rollout.poses
        if observations.shape[2:] != (7, 7, 3) or observations.dtype != np.uint8:
            raise TaskError(
                f"observations are {observations.dtype} {list(observations.shape[2:])}; MiniGrid's events need uint8 [7, 7, 3]"
            )
        if poses.shape[2] != 3:
            raise TaskError(
                f"poses have {poses.shape[2]} numbers; MiniGrid's events need x, y and direction (srm.domains.minigrid.envs.ShowPose)"
            )

    def _to_take(self) -> Target | None:
        return None if self.target is None else Target.of(self.target)


Cells = np.ndarray  # [..., 3] uint8: type, colour, state
Occurrences = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # [N] step, env and event, [N, 2] colour and place


def _read(rollout: Rollout, target: Target | None) -> Occurrences:
    """What happened, env by env and step by step; within a step the act, then what is seen, then a wall."""
    parts = [_acts(rollout, target)]
    if target is not None:
        parts.append(_sights(rollout, target))
    step, env, event, attributes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((event, step, env))
    return step[order].astype(np.int32), env[order].astype(np.int32), event[order], attributes[order]


def _acts(rollout: Rollout, target: Target | None) -> Occurrences:
    """At most one a step."""
    event = np.full(rollout.valid.shape, NOTHING, np.int16)
    front, own = rollout.observations[:-1, :, 3, 5], rollout.observations[:-1, :, 3, 6]
    for act, does in _doing(rollout.actions, front, own, target).items():
        event[does & rollout.valid] = act
    step, env = np.nonzero(event != NOTHING)
    event, front, own = event[step, env], front[step, env], own[step, env]

    colour = np.where(np.isin(event, (DROP_KEY, DROP_BALL, DROP_BOX)), own[:, 1], front[:, 1]).astype(np.int32)
    boxes = np.flatnonzero(event == OPEN_BOX)
    held = rollout.after()[step[boxes], env[boxes], 3, 5].astype(np.int32)
    colour[boxes] = np.where(held[:, 0] == KEY, held[:, 1], NOTHING)
    attributes = np.empty((len(event), 2), np.int32)
    attributes[:, _COLOUR] = np.where(np.isin(event, (REACH_GOAL, HIT_WALL)), NOTHING, colour)
    attributes[:, _PLACE] = np.where(event == HIT_WALL, NOTHING, _cell(rollout.poses[step, env], 3, 5))
    return step, env, event, attributes


def _doing(actions: np.ndarray, front: Cells, own: Cells, target: Target | None) -> dict[int, np.ndarray]:
    """Where each act is done, from the cells in front and the agents' own (what they carry)."""
    kind, state, held = front[..., 0], front[..., 2], own[..., 0]
    forward, drop, toggle = actions == FORWARD, (actions == DROP) & (kind == EMPTY), actions == TOGGLE
    pick_up, door = (actions == PICKUP) & (held == EMPTY), toggle & (kind == DOOR)
    is_target = _is_target(front, target)
    return {
        REACH_GOAL: forward & (kind == GOAL),
        HIT_WALL: forward & (kind == WALL),
        PICK_UP_KEY: pick_up & (kind == KEY),
        PICK_UP_TARGET: pick_up & is_target,
        PICK_UP_BALL: pick_up & (kind == BALL) & ~is_target,
        PICK_UP_BOX: pick_up & (kind == BOX) & ~is_target,
        DROP_KEY: drop & (held == KEY),
        DROP_BALL: drop & (held == BALL),
        DROP_BOX: drop & (held == BOX),
        OPEN_BOX: toggle & (kind == BOX),
        OPEN_DOOR: door & (state == CLOSED),
        CLOSE_DOOR: door & (state == OPEN),
        UNLOCK_DOOR: door & (state == LOCKED) & (held == KEY) & (own[..., 1] == front[..., 1]),
    }


def _sights(rollout: Rollout, target: Target) -> Occurrences:
    """The target in view; a carried one is not looked at, and of several the first counts."""
    kinds = rollout.observations[:-1, ..., 0]
    cells = np.stack(np.unravel_index(np.flatnonzero(kinds == target.kind), kinds.shape))  # few of all cells
    step, env, column, row = cells
    counts = _is_target(rollout.observations[tuple(cells)], target) & rollout.valid[step, env]
    step, env, column, row = cells[:, counts & ((column != 3) | (row != 6))]
    first = (np.diff(step, prepend=-1) != 0) | (np.diff(env, prepend=-1) != 0)
    step, env, column, row = step[first], env[first], column[first], row[first]
    attributes = np.full((len(step), 2), NOTHING, np.int32)
    attributes[:, _PLACE] = _cell(rollout.poses[step, env], column, row)
    return step, env, np.full(len(step), SEE_TARGET, np.int16), attributes


def _is_target(cells: Cells, target: Target | None) -> np.ndarray:
    if target is None:
        return np.zeros(cells.shape[:-1], np.bool_)
    right = cells[..., 0] == target.kind
    return right if target.colour is None else right & (cells[..., 1] == target.colour)


def _cell(poses: np.ndarray, column: int | np.ndarray, row: int | np.ndarray) -> np.ndarray:
    """The environment's cells that observations from `poses` [N, 3] show at [column, row], each as one number."""
    x, y, direction = poses.T.astype(np.int32)
    dx, dy = _STEPS[direction].T
    ahead, right = 6 - row, column - 3
    cell: np.ndarray = (x + dx * ahead - dy * right) * _PACK + y + dy * ahead + dx * right
    return cell
