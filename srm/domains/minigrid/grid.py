"""MiniGrid compiled (grid.c), many envs at a time: the steps of every environment that keeps MiniGrid's rules.

    B envs of W x H cells

    cells   [B, W, H, 3] uint8   type, colour and state, as MiniGrid encodes them
    inside  [B, W, H]    uint8   of a box: 1 + colour + 6 * (type - KEY) of what it holds, 0: nothing; + 64 if it holds the target;
                                 of anything: + 128 if it is the target itself
    agent   [B, 3]       int16   x, y, direction (0 right, 1 down, 2 left, 3 up)
    carried [B, 4]       uint8   type, colour, state and inside of what is carried; type 0: nothing
    steps   [B]          int32   of the episode
    rng     [B]          uint64  where each env stands in its own sequence of random numbers

Whose rules an environment has is read from its class (`compile_rules`): the methods that make a step must be MiniGrid's own, but for the
variants of `step` in `VARIANTS`. An environment that changes anything else, the reward or the observation, is left to Gymnasium, and the
reason is given. The layouts are the environment's own (`srm.domains.minigrid.layouts`). Those of DoorKey, KeyCorridor and ObstructedMaze are compiled too, with
MiniGrid's settings, but with other random numbers than there.

A step takes 0.2 microseconds of a core, EnvPool's 9, and there is no thread to wait for. `tests/domains/minigrid/test_grid.py` and `test_rules.py` step these
envs and MiniGrid's own side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.domains.minigrid.vocabulary import LIMITS, PICKUP, TOGGLE

if TYPE_CHECKING:
    import gymnasium

VIEW, ACTIONS = 7, LIMITS["action"]
MOST_ROWS, COLUMNS = 3, 3  # of rooms
DOORKEY, KEYCORRIDOR, MAZE_ONE_DOOR, MAZE, MAZE_KEYS_LAST, DRAWN_BEFORE = range(6)


@dataclass(frozen=True)
class Variant:
    """How a `step` differs from MiniGridEnv's: the task is also solved by this action on this thing."""

    action: int
    target: str  # the environment's attribute that is the thing


# Whose `step` it is -> what it adds. Reaching a goal solves every task, and lava loses it: that is MiniGridEnv's own `step`.
VARIANTS: Mapping[str, Variant | None] = {
    "minigrid.minigrid_env.MiniGridEnv": None,
    "minigrid.envs.keycorridor.KeyCorridorEnv": Variant(PICKUP, "obj"),
    "minigrid.envs.obstructedmaze.ObstructedMazeEnv": Variant(PICKUP, "obj"),
    "minigrid.envs.unlockpickup.UnlockPickupEnv": Variant(PICKUP, "obj"),
    "minigrid.envs.blockedunlockpickup.BlockedUnlockPickupEnv": Variant(PICKUP, "obj"),
    "minigrid.envs.unlock.UnlockEnv": Variant(TOGGLE, "door"),
}
# Everything else of MiniGridEnv that a step, an observation or the beginning of an episode goes through
METHODS = (
    *("reset", "gen_obs", "gen_obs_grid", "_reward", "get_view_exts", "dir_vec", "right_vec", "front_pos"),
    "np_random",
)


@dataclass(frozen=True)
class Rules:
    """What MiniGrid's settings say of an environment."""

    width: int
    height: int
    most_steps: int  # what the reward is measured by
    limit: int  # the episode is truncated after so many
    sees_through: bool
    variant: Variant | None


@dataclass(frozen=True)
class Layout:
    """The rules, and the settings of the layouts that are compiled."""

    rules: Rules
    kind: int = DRAWN_BEFORE
    room: int = 0  # cells from wall to wall, both counted
    rows: int = 0
    columns: int = 0
    agent_room: tuple[int, int] = (0, 0)
    in_box: bool = False  # keys lie in boxes
    blocked: bool = False  # balls stand in front of locked doors
    quarters: int = 0

    @property
    def numbers(self) -> np.ndarray:
        """As `Layout` of grid.c has them."""
        rules = self.rules
        solved_by = -1 if rules.variant is None else rules.variant.action
        common = (rules.width, rules.height, rules.most_steps, rules.limit, rules.sees_through, solved_by)
        rooms = (self.room, self.rows, self.columns, *self.agent_room, self.in_box, self.blocked, self.quarters)
        return np.array([self.kind, *common, *rooms], np.int64)


# ---- which rules an environment has


def compile_rules(env: gymnasium.Env) -> Rules | str:
    """The rules of an environment of MiniGrid, or the reason why it has to step itself."""
    from minigrid.core.actions import Actions
    from minigrid.minigrid_env import MiniGridEnv

    limit, core = None, env
    while core is not core.unwrapped:
        name = f"{type(core).__module__}.{type(core).__qualname__}"
        if name == "gymnasium.wrappers.common.TimeLimit":
            limit = min(limit or core._max_episode_steps, core._max_episode_steps)  # type: ignore[attr-defined]
        elif name not in _HARMLESS:
            return f"since it is wrapped in {type(core).__name__}"
        core = core.env  # type: ignore[attr-defined]
    if not isinstance(core, MiniGridEnv):
        return f"since {type(core).__name__} is no environment of MiniGrid"
    changed = next(_changes(core), None)
    if changed is not None:
        return f"since {changed} of its own"
    if core.actions is not Actions or getattr(core.action_space, "n", 0) != ACTIONS:
        return f"since its actions are {core.action_space}"
    if core.agent_view_size != VIEW:
        return f"since its observation has {core.agent_view_size} x {core.agent_view_size} cells, not {VIEW} x {VIEW}"
    limit = core.max_steps if limit is None else min(limit, core.max_steps)
    return Rules(
        core.width,
        core.height,
        core.max_steps,
        limit,
        bool(core.see_through_walls),
        VARIANTS[_owner(type(core), "step")],
    )


_HARMLESS = (  # wrappers that change nothing of a step
    "gymnasium.wrappers.common.PassiveEnvChecker",
    "gymnasium.wrappers.common.OrderEnforcing",
    "srm.domains.minigrid.envs.ShowPose",
)


def _changes(env: Any) -> Iterator[str]:
    """What an environment does otherwise than MiniGrid: `MemoryEnv has a step`."""
    made = type(env)
    owner = _owner(made, "step")
    if owner not in VARIANTS:
        yield f"{owner.rpartition('.')[2]} has a step"
    for name in METHODS:
        owner = _owner(made, name)
        if owner not in ("minigrid.minigrid_env.MiniGridEnv", "gymnasium.core.Env"):
            yield f"{owner.rpartition('.')[2]} has a {name}"
    for name in ("step", *METHODS):
        if name in vars(env):
            yield f"this {made.__name__} has a {name}"


def _owner(made: type, method: str) -> str:
    """The class that a method comes from."""
    (owner, *_) = (base for base in made.__mro__ if method in vars(base))
    return f"{owner.__module__}.{owner.__qualname__}"


# ---- who lays it out


def layout_of(env: Any, rules: Rules) -> Layout:
    """The compiled layouts of an environment that the package itself has; of any other its own."""
    from minigrid.envs import DoorKeyEnv, KeyCorridorEnv, ObstructedMaze_1Dlhb, ObstructedMaze_Full
    from minigrid.envs.obstructedmaze_v1 import ObstructedMaze_Full_V1

    own = Layout(rules)
    if not type(env).__module__.startswith("minigrid."):
        return own
    if isinstance(env, DoorKeyEnv):
        return Layout(rules, DOORKEY)
    if not isinstance(env, KeyCorridorEnv | ObstructedMaze_1Dlhb | ObstructedMaze_Full | ObstructedMaze_Full_V1):
        return own
    rooms = (env.room_size, env.num_rows, env.num_cols)
    if isinstance(env, KeyCorridorEnv):
        fits = env.obj_type == "ball" and env.num_rows <= MOST_ROWS and env.num_cols == COLUMNS
        return Layout(rules, KEYCORRIDOR, *rooms) if fits else own
    if isinstance(env, ObstructedMaze_1Dlhb):
        return Layout(rules, MAZE_ONE_DOOR, *rooms, in_box=env.key_in_box, blocked=env.blocked)
    kind = MAZE_KEYS_LAST if isinstance(env, ObstructedMaze_Full_V1) else MAZE
    return Layout(rules, kind, *rooms, env.agent_room, env.key_in_box, env.blocked, env.num_quarters)
