"""MiniGrid's DoorKey, KeyCorridor and ObstructedMaze, many worlds at a time, in C (grid.c).

    B worlds of W x H cells

    cells   [B, W, H, 3] uint8   type, colour and state, as MiniGrid encodes them
    inside  [B, W, H]    uint8   of a box: 1 + the colour of the key in it; 0: nothing
    agent   [B, 3]       int16   x, y, direction (0 right, 1 down, 2 left, 3 up)
    carried [B, 4]       uint8   type, colour, state and inside of what is carried; type 0: nothing
    steps   [B]          int32   of the episode
    chance  [B]          uint64  where each world stands in its own sequence of random numbers

The rules and the layouts are those of the `minigrid` package, whose settings are read from the package itself; a world is another one
than that of the same seed there. A step takes 0.4 microseconds of a core, EnvPool's 9, and there is no thread to wait for.
`tests/task/test_grid.py` steps these worlds and MiniGrid's side by side and compares how often what stands where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ENTRIES = tuple(
    f"minigrid.envs:{name}" for name in ("DoorKey", "KeyCorridor", "ObstructedMaze")
)  # Gymnasium's registry
VIEW, ACTIONS = 7, 7
MOST_ROWS, COLUMNS = 3, 3  # of rooms
DOORKEY, KEYCORRIDOR, MAZE_ONE_DOOR, MAZE, MAZE_KEYS_LAST = range(5)
BLUE, ANY = 2, 7  # colours


@dataclass(frozen=True)
class Layout:
    """What MiniGrid's settings say of an environment."""

    kind: int
    width: int
    height: int
    most_steps: int
    room: int = 0  # cells from wall to wall, both counted
    rows: int = 0
    columns: int = 0
    agent_room: tuple[int, int] = (0, 0)
    in_box: bool = False  # keys lie in boxes
    blocked: bool = False  # balls stand in front of locked doors
    quarters: int = 0

    @property
    def numbers(self) -> np.ndarray:
        """As `Layout` of grid.c has them; the last is the colour of the ball that ends an episode (in DoorKey there is none)."""
        size = (self.width, self.height, self.most_steps, self.room, self.rows, self.columns)
        target = ANY if self.kind == KEYCORRIDOR else BLUE
        return np.array(
            [self.kind, *size, *self.agent_room, self.in_box, self.blocked, self.quarters, target], np.int64
        )


def layout_of(world: Any) -> Layout | None:
    """Of an environment of MiniGrid; None: not one of these, or with settings that they never have."""
    from minigrid.envs import DoorKeyEnv, KeyCorridorEnv, ObstructedMaze_1Dlhb, ObstructedMaze_Full
    from minigrid.envs.obstructedmaze_v1 import ObstructedMaze_Full_V1

    if world.agent_view_size != VIEW or world.see_through_walls:
        return None
    size = (world.width, world.height, world.max_steps)
    if isinstance(world, DoorKeyEnv):
        return Layout(DOORKEY, *size)
    if not isinstance(world, KeyCorridorEnv | ObstructedMaze_1Dlhb | ObstructedMaze_Full | ObstructedMaze_Full_V1):
        return None
    rooms = (world.room_size, world.num_rows, world.num_cols)
    if isinstance(world, KeyCorridorEnv):
        fits = world.obj_type == "ball" and world.num_rows <= MOST_ROWS and world.num_cols == COLUMNS
        return Layout(KEYCORRIDOR, *size, *rooms) if fits else None
    if isinstance(world, ObstructedMaze_1Dlhb):
        return Layout(MAZE_ONE_DOOR, *size, *rooms, in_box=world.key_in_box, blocked=world.blocked)
    kind = MAZE_KEYS_LAST if isinstance(world, ObstructedMaze_Full_V1) else MAZE
    return Layout(kind, *size, *rooms, world.agent_room, world.key_in_box, world.blocked, world.num_quarters)


def inside_of(world: Any) -> np.ndarray:
    """[W, H] what the boxes of an environment of MiniGrid hold, as `inside` above has it."""
    from minigrid.core.constants import COLOR_TO_IDX

    things = world.grid.grid  # row by row
    held = [thing.contains if thing is not None and thing.type == "box" else None for thing in things]
    inside = np.array([1 + COLOR_TO_IDX[key.color] if key is not None else 0 for key in held], np.uint8)
    return inside.reshape(world.grid.height, world.grid.width).T
