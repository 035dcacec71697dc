"""The `minigrid` package as the truth: what its env says happened, and how to put it into an env of EnvPool's."""

from __future__ import annotations

from typing import Any

import numpy as np
from minigrid.core.constants import IDX_TO_COLOR
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall, WorldObj

from srm.domains.minigrid.vocabulary import COLOURS, MINIGRID_WORDS, WALL
from srm.machine.vocabulary import NOTHING, pack_cell

Occurrence = tuple[str, int, int]  # event, colour, place


class Truth:
    """Watches the objects of one `minigrid` env before and after a step. It looks at no observation."""

    def __init__(self, env: Any) -> None:
        self.env = env.unwrapped
        self.front = tuple(int(number) for number in self.env.front_pos)
        self.thing = self.env.grid.get(*self.front)
        self.carried = self.env.carrying
        self.door = (self.thing.is_open, self.thing.is_locked) if isinstance(self.thing, Door) else None
        self.inside = getattr(self.thing, "contains", None)
        self.seen = self._target_seen()

    def _target_seen(self) -> tuple[int, int] | None:
        target = getattr(self.env, "obj", None)
        if target is None or target is self.carried:
            return None
        x, y = (int(number) for number in target.cur_pos)
        if self.env.grid.get(x, y) is not target:
            return None  # a box that was opened
        inside = self.env.relative_coords(x, y)
        _, visible = self.env.gen_obs_grid()
        return (x, y) if inside is not None and visible[inside] else None

    def after(self, terminated: bool, forward: bool) -> set[Occurrence]:
        """What has happened since; `forward`: whether the agent tried to walk."""
        happened = set()
        if self.seen is not None:
            happened.add(("see_target", NOTHING, pack_cell(*self.seen)))
        event, colour = self._act(terminated, forward)
        if event == "hit_wall":
            happened.add((event, NOTHING, NOTHING))
        elif event is not None:
            number = NOTHING if colour is None else COLOURS.index(colour)
            happened.add((event, number, pack_cell(*self.front)))
        return happened

    def _act(self, terminated: bool, forward: bool) -> tuple[str | None, str | None]:
        now = self.env.carrying
        if self.carried is None and isinstance(now, Key | Ball | Box):
            name = "target" if now is getattr(self.env, "obj", None) else now.type
            return f"pick_up_{name}", now.color
        if isinstance(self.carried, Key | Ball | Box) and now is None:
            return f"drop_{self.carried.type}", self.carried.color
        if isinstance(self.thing, Box) and now is self.carried and self.env.grid.get(*self.front) is not self.thing:
            return "open_box", self.inside.color if isinstance(self.inside, Key) else None
        if isinstance(self.thing, Door) and (self.thing.is_open, self.thing.is_locked) != self.door:
            assert self.door is not None
            was_open, was_locked = self.door
            return "unlock_door" if was_locked else "close_door" if was_open else "open_door", self.thing.color
        if terminated and isinstance(self.thing, Goal):
            return "reach_goal", None
        if forward and isinstance(self.thing, Wall):
            return "hit_wall", None
        return None, None


def occurrences(events: Any, env: int, step: int) -> set[Occurrence]:
    """What a vocabulary read at one step."""
    rows = np.flatnonzero((events.env == env) & (events.step == step))
    return {
        (MINIGRID_WORDS.events[events.event[row]].name, *(int(number) for number in events.attributes[row]))
        for row in rows
    }


def put_into(env: Any, state: Any) -> None:
    """Makes the env of `env` the one that EnvPool's debug state tells of.

    EnvPool keeps the two rooms of ObstructedMaze-1D* in a grid of nine; the other seven are sealed off and left out.
    """
    env = env.unwrapped
    assert env.max_steps == state.max_steps
    cells = np.array(state.grid).reshape(state.width, state.height, 3)[: env.width, : env.height]
    held = np.array(state.grid_contains).reshape(state.width, state.height, 3)
    assert cells.shape[:2] == (env.width, env.height)
    assert (cells[-1, :, 0] == WALL).all()
    assert (cells[:, -1, 0] == WALL).all()
    grid = Grid(env.width, env.height)
    for x in range(env.width):
        for y in range(env.height):
            thing = WorldObj.decode(*cells[x, y]) if cells[x, y, 0] else None
            if isinstance(thing, Box) and held[x, y, 0]:
                thing.contains = WorldObj.decode(*held[x, y])
            if thing is not None:
                thing.init_pos = thing.cur_pos = (x, y)
            grid.set(x, y, thing)
    env.grid, env.carrying, env.step_count = grid, None, 0
    env.agent_pos, env.agent_dir = tuple(state.agent_pos), state.agent_dir
    if state.target_pos != (-1, -1):
        env.obj = grid.get(*state.target_pos)
        assert isinstance(env.obj, (Ball, Box))
        assert env.obj.color == IDX_TO_COLOR[state.target_color]
