"""MiniGrid's vocabulary: what happened in a whole rollout, from views, actions and places alone.

    views   [T+1, B, 7, 7, 3] uint8   [column, row, (type, colour, state)]
    places  [T+1, B, 3] int16         x, y and direction of the agent

The agent stands at [3, 6] of its view and looks to smaller rows, so the cell in front of it is [3, 5]; its own cell
shows what it carries. The cell in front is always visible and nothing moves by itself, so the view before the step and
the action decide every act. Only what a box held is read from the view after. Reading a rollout costs about a hundredth
of stepping it in EnvPool (`benchmarks/events.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from srm.errors import TaskError, near
from srm.machine.words import NOTHING, Words, pack_cell
from srm.task.minigrid_words import (
    BALL,
    BOX,
    CLOSED,
    COLOURS,
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
)
from srm.trajectory import Events, Rollout

_INDEX = MINIGRID_WORDS.event_index
REACH_GOAL, HIT_WALL, SEE_TARGET = _INDEX["reach_goal"], _INDEX["hit_wall"], _INDEX["see_target"]
PICK_UP_KEY, PICK_UP_BALL, PICK_UP_TARGET = _INDEX["pick_up_key"], _INDEX["pick_up_ball"], _INDEX["pick_up_target"]
DROP_KEY, DROP_BALL, OPEN_BOX = _INDEX["drop_key"], _INDEX["drop_ball"], _INDEX["open_box"]
OPEN_DOOR, CLOSE_DOOR, UNLOCK_DOOR = _INDEX["open_door"], _INDEX["close_door"], _INDEX["unlock_door"]
_COLOUR, _PLACE = (MINIGRID_WORDS.attribute_index[name] for name in ("colour", "place"))

_ANY, _NONE = -1, -2  # in place of the target's colour: any ball will do, there is no target
_PACK = pack_cell(1, 0)  # a cell's number is x * _PACK + y


@dataclass(frozen=True)
class MiniGrid:
    """The words of MiniGrid for a task whose target is `ball` (the only one there), `blue ball`, ... or nothing."""

    target: str | None = None

    def __post_init__(self) -> None:
        known = ("ball", *(f"{colour} ball" for colour in COLOURS))
        if self.target is not None and self.target not in known:
            raise TaskError(f"target {self.target!r} is no ball of MiniGrid{near(self.target, known)}")

    @property
    def words(self) -> Words:
        return MINIGRID_WORDS

    def read(self, rollout: Rollout) -> Events:
        self._check(rollout)
        step, world, event, attributes = _read(
            np.ascontiguousarray(rollout.views),
            np.ascontiguousarray(rollout.after()),
            rollout.actions.astype(np.int64),
            rollout.places.astype(np.int16),
            np.ascontiguousarray(rollout.real),
            self._target_colour(),
        )
        signals = np.zeros((rollout.steps, rollout.worlds, 0))
        return Events(rollout.steps, rollout.worlds, step, world, event, attributes, signals)

    def _check(self, rollout: Rollout) -> None:
        views, places = rollout.views, rollout.places
        if views.shape[2:] != (7, 7, 3) or views.dtype != np.uint8:
            raise TaskError(f"views are {views.dtype} {list(views.shape[2:])}; MiniGrid's words need uint8 [7, 7, 3]")
        if places.shape[2] != 3:
            raise TaskError(
                f"places have {places.shape[2]} numbers; MiniGrid's words need x, y and direction (srm.task.worlds.ShowPlace)"
            )

    def _target_colour(self) -> int:
        if self.target is None:
            return _NONE
        return _ANY if self.target == "ball" else COLOURS.index(self.target.removesuffix(" ball"))


Cell = np.ndarray  # [3] uint8: type, colour, state


@numba.njit(cache=True)
def _is_target(kind: int, colour: int, target_colour: int) -> bool:
    return kind == BALL and (target_colour == _ANY or colour == target_colour)


@numba.njit(cache=True)
def _act(action: int, front: Cell, own: Cell, target_colour: int) -> int:
    """The one act of a step, from the cell in front and the agent's own cell (what it carries); NOTHING if none."""
    kind = front[0]
    if action == FORWARD:
        if kind == GOAL:
            return REACH_GOAL
        return HIT_WALL if kind == WALL else NOTHING
    if action == PICKUP and own[0] == EMPTY:
        if kind == KEY:
            return PICK_UP_KEY
        if kind == BALL:
            return PICK_UP_TARGET if _is_target(kind, front[1], target_colour) else PICK_UP_BALL
    if action == DROP and kind == EMPTY:
        if own[0] == KEY:
            return DROP_KEY
        if own[0] == BALL:
            return DROP_BALL
    if action == TOGGLE:
        if kind == BOX:
            return OPEN_BOX
        if kind == DOOR and front[2] == CLOSED:
            return OPEN_DOOR
        if kind == DOOR and front[2] == OPEN:
            return CLOSE_DOOR
        if kind == DOOR and front[2] == LOCKED and own[0] == KEY and own[1] == front[1]:
            return UNLOCK_DOOR
    return NOTHING


@numba.njit(cache=True)
def _target_in_view(view: np.ndarray, target_colour: int) -> tuple[int, int]:
    """Column and row of the target; (NOTHING, NOTHING) if it is not in view. A carried one is not looked at."""
    for column in range(7):
        for row in range(7):
            if _is_target(view[column, row, 0], view[column, row, 1], target_colour) and not (column == 3 and row == 6):
                return column, row
    return NOTHING, NOTHING


@numba.njit(cache=True)
def _cell(place: np.ndarray, column: int, row: int) -> int:
    """The world's cell that a view from `place` shows at [column, row], as one number."""
    dx = (1, 0, -1, 0)[place[2]]
    dy = (0, 1, 0, -1)[place[2]]
    ahead, right = 6 - row, column - 3
    x, y = place[0] + dx * ahead - dy * right, place[1] + dy * ahead + dx * right
    return int(x * _PACK + y)


@numba.njit(cache=True)
def _colour(event: int, front: Cell, own: Cell, front_after: Cell) -> int:
    if event in (DROP_KEY, DROP_BALL):
        return int(own[1])
    if event == OPEN_BOX:
        return int(front_after[1]) if front_after[0] == KEY else NOTHING
    return int(front[1])


@numba.njit(cache=True)
def _read(
    views: np.ndarray, after: np.ndarray, actions: np.ndarray, places: np.ndarray, real: np.ndarray, target_colour: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    steps, worlds = actions.shape
    step, world = np.empty(2 * steps * worlds, np.int32), np.empty(2 * steps * worlds, np.int32)
    event, attributes = np.empty(2 * steps * worlds, np.int16), np.full((2 * steps * worlds, 2), NOTHING, np.int32)
    count = 0
    for b in range(worlds):
        for t in range(steps):
            if not real[t, b]:
                continue
            view = views[t, b]
            front, own = view[3, 5], view[3, 6]
            act = _act(actions[t, b], front, own, target_colour)
            column, row = NOTHING, NOTHING
            if target_colour != _NONE:
                column, row = _target_in_view(view, target_colour)
            if act != NOTHING and act < SEE_TARGET:
                step[count], world[count], event[count] = t, b, act
                attributes[count, _PLACE] = _cell(places[t, b], 3, 5)
                if act != REACH_GOAL:
                    attributes[count, _COLOUR] = _colour(act, front, own, after[t, b, 3, 5])
                count += 1
            if row != NOTHING:
                step[count], world[count], event[count] = t, b, SEE_TARGET
                attributes[count, _PLACE] = _cell(places[t, b], column, row)
                count += 1
            if act == HIT_WALL:
                step[count], world[count], event[count] = t, b, HIT_WALL
                count += 1
    return step[:count].copy(), world[:count].copy(), event[:count].copy(), attributes[:count].copy()
