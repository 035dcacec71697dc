"""A MiniGrid world as a value: what an expert thinks with.

The expert sees everything, also what is inside boxes. `World.after(action)` is the world that action leads to, by MiniGrid's
rules; worlds that are equal in every respect compare equal, so a search can tell where it has been.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from srm.domains.minigrid.vocabulary import (
    BALL,
    BOX,
    CLOSED,
    COLOURS,
    DIRECTIONS,
    DOOR,
    DROP,
    FLOOR,
    FORWARD,
    GOAL,
    KEY,
    LAVA,
    LEFT,
    LOCKED,
    OPEN,
    PICKUP,
    RIGHT,
    TOGGLE,
    WALL,
)

Cell = tuple[int, int]
Pose = tuple[int, int, int]  # x, y, direction

_NAMES = ("wall", "floor", "door", "key", "ball", "box", "goal", "lava")
_KINDS = dict(zip(_NAMES, (WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA), strict=True))


@dataclass(frozen=True)
class Thing:
    """What stands in a cell or is carried."""

    kind: int
    colour: int
    state: int = OPEN  # of a door
    inside: Thing | None = None  # of a box

    @property
    def movable(self) -> bool:
        return self.kind in (KEY, BALL, BOX)


def front(pose: Pose) -> Cell:
    dx, dy = DIRECTIONS[pose[2]]
    return pose[0] + dx, pose[1] + dy


@dataclass(frozen=True)
class World:
    """Where everything is. Walls, goals and painted floors are in `things` too; a cell without a thing is empty."""

    things: dict[Cell, Thing]  # never changed: an act makes a new one
    pose: Pose
    carried: Thing | None

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return self.pose, self.carried, frozenset(self.things.items())

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, World) and self._key == other._key

    def cells(self, kind: int) -> list[Cell]:
        return [cell for cell, thing in self.things.items() if thing.kind == kind]

    def opens_with(self, door: Thing) -> bool:
        """Whether what is carried opens this locked door."""
        return self.carried is not None and self.carried.kind == KEY and self.carried.colour == door.colour

    def after(self, action: int) -> World:
        x, y, direction = self.pose
        ahead = front(self.pose)
        thing = self.things.get(ahead)
        if action in (LEFT, RIGHT):
            return replace(self, pose=(x, y, (direction + (1 if action == RIGHT else -1)) % 4))
        if action == FORWARD:
            free = thing is None or thing.kind in (GOAL, FLOOR, LAVA) or (thing.kind == DOOR and thing.state == OPEN)
            return replace(self, pose=(*ahead, direction)) if free else self
        if action == PICKUP and thing is not None and thing.movable and self.carried is None:
            return replace(self, things=self._with(ahead, None), carried=thing)
        if action == DROP and thing is None and self.carried is not None:
            return replace(self, things=self._with(ahead, self.carried), carried=None)
        if action == TOGGLE and thing is not None and thing.kind == BOX:
            return replace(self, things=self._with(ahead, thing.inside))
        if action == TOGGLE and thing is not None and thing.kind == DOOR:
            if thing.state == LOCKED and not self.opens_with(thing):
                return self
            return replace(
                self, things=self._with(ahead, replace(thing, state=CLOSED if thing.state == OPEN else OPEN))
            )
        return self

    def _with(self, cell: Cell, thing: Thing | None) -> dict[Cell, Thing]:
        things = dict(self.things)
        things.pop(cell, None)
        if thing is not None:
            things[cell] = thing
        return things


def read_world(env: Any) -> World:
    """The present world of an environment of the `minigrid` package."""
    env = env.unwrapped
    things = {}
    for x in range(env.width):
        for y in range(env.height):
            thing = _thing(env.grid.get(x, y))
            if thing is not None:
                things[x, y] = thing
    return World(things, (int(env.agent_pos[0]), int(env.agent_pos[1]), int(env.agent_dir)), _thing(env.carrying))


def _thing(other: Any) -> Thing | None:
    if other is None or other.type not in _KINDS:
        return None
    state = OPEN
    if other.type == "door":
        state = LOCKED if other.is_locked else OPEN if other.is_open else CLOSED
    return Thing(_KINDS[other.type], COLOURS.index(other.color), state, _thing(getattr(other, "contains", None)))
