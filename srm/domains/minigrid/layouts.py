"""Layouts by an environment of MiniGrid itself, for the compiled rules (`srm.domains.minigrid.grid` says what the arrays are).

Every episode has a new layout, so that none can be learnt by heart: `_gen_grid` is called for it, with the environment's own random numbers, and
what it laid out is copied. One takes 23 (Empty-8x8) to 412 microseconds (MultiRoom-N6), the observation of `reset` left out. With random
actions that makes 455,000 steps a second of MultiRoom-N2-S4 (11,000 by Gymnasium, 90,000 by EnvPool) and 299,000 of MultiRoom-N6; if every episode of
N2-S4 took 10 steps, 121,000, which is still ten times what a learner asks for. So layouts are neither kept nor drawn ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.domains.minigrid.grid import Rules, compile_rules
from srm.domains.minigrid.vocabulary import COLOURS, KEY
from srm.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

HOLDS_TARGET, TARGET = 64, 128  # added to `inside`


@dataclass(frozen=True, eq=False)
class GridStart:
    """The beginning of one episode."""

    cells: np.ndarray  # [W, H, 3] uint8
    inside: np.ndarray  # [W, H] uint8
    agent: tuple[int, int, int]


class UnknownLayout(TaskError):
    """A layout with something that the compiled rules do not know."""

    def __init__(self, env: Any, what: str) -> None:
        super().__init__(
            f"{type(env).__name__}: its layout has {what}, which the compiled rules of MiniGrid do not know; "
            "have Gymnasium step it with --envs gymnasium"
        )
        self.what = what


def rules_of(env: gymnasium.Env) -> Rules | str:
    """The rules of an environment of MiniGrid, as its class and its first layout tell them, or the reason why it has to step itself."""
    rules = compile_rules(env)
    if isinstance(rules, str):
        return rules
    env.reset(seed=0)
    try:
        read_grid(env.unwrapped, rules)
    except UnknownLayout as problem:
        return f"since its layout has {problem.what}"
    return rules


class LayoutSource:
    """Layouts by an environment itself, one after another, from a seed."""

    def __init__(self, env: gymnasium.Env, rules: Rules) -> None:
        self.env: Any = env.unwrapped
        self.rules = rules

    def seed(self, seed: int) -> None:
        self.env.reset(seed=seed)

    def draw(self) -> GridStart:
        """As `reset` does it, but without the observation, which would take as long again."""
        self.env.agent_pos, self.env.agent_dir = (-1, -1), -1
        self.env._gen_grid(self.env.width, self.env.height)
        return read_grid(self.env, self.rules)


def read_grid(env: Any, rules: Rules) -> GridStart:
    """What an environment has laid out; what the compiled rules do not know is refused."""
    from minigrid.core.grid import Grid

    if type(env.grid) is not Grid:
        raise UnknownLayout(env, f"a {type(env.grid).__module__}.{type(env.grid).__qualname__}")
    kinds, colours = _kinds(), {name: number for number, name in enumerate(COLOURS)}
    things: list[Any] = env.grid.grid  # row by row
    target: Any = None if rules.variant is None else getattr(env, rules.variant.target, None)

    # Its cells
    cells, inside = bytearray(b"\x01\x00\x00" * len(things)), bytearray(len(things))
    for at, thing in enumerate(things):
        if thing is None:
            continue
        kind = kinds.get(type(thing))
        if kind is None:
            raise UnknownLayout(env, f"a {type(thing).__module__}.{type(thing).__qualname__}")
        state = 0
        if thing.type == "door":
            if thing.is_open and thing.is_locked:
                raise UnknownLayout(env, "a door that is open and locked")
            state = 0 if thing.is_open else 2 if thing.is_locked else 1
        elif thing.type == "box" and thing.contains is not None:
            inside[at] = _contents(env, thing.contains, kinds, colours) + HOLDS_TARGET * (thing.contains is target)
        if thing is target:
            if thing.type == "door" and thing.is_open:
                raise UnknownLayout(env, "a target door that is open from the beginning")
            inside[at] += TARGET
        cells[3 * at : 3 * at + 3] = bytes((kind, colours[thing.color], state))

    # Its size, and where the agent is
    shape = (env.grid.height, env.grid.width)
    x, y, direction = (int(number) for number in (*env.agent_pos, env.agent_dir))
    if (*shape, env.max_steps) != (rules.height, rules.width, rules.most_steps):
        raise UnknownLayout(env, f"{shape[1]} x {shape[0]} cells and {env.max_steps} steps, unlike before")
    if not (0 <= x < rules.width and 0 <= y < rules.height and 0 <= direction < 4):
        raise UnknownLayout(env, f"the agent at {(x, y)}, direction {direction}")
    below = things[y * rules.width + x]
    if below is not None and not below.can_overlap():
        raise UnknownLayout(env, f"the agent on a {below.type}")
    return GridStart(
        np.frombuffer(cells, np.uint8).reshape(*shape, 3).transpose(1, 0, 2),
        np.frombuffer(inside, np.uint8).reshape(shape).T,
        (x, y, direction),
    )


@cache
def _kinds() -> dict[type, int]:
    """The things of MiniGrid; one of a subclass may behave in its own way."""
    from minigrid.core import world_object
    from minigrid.core.constants import OBJECT_TO_IDX

    names = ("Wall", "Floor", "Door", "Key", "Ball", "Box", "Goal", "Lava")
    return {getattr(world_object, name): OBJECT_TO_IDX[name.lower()] for name in names}


def _contents(env: Any, thing: Any, kinds: Mapping[type, int], colours: Mapping[str, int]) -> int:
    if thing.type not in ("key", "ball", "box") or type(thing) not in kinds or thing.contains is not None:
        more = "" if thing.contains is None else " that holds more"
        raise UnknownLayout(env, f"a box with a {type(thing).__name__} in it{more}")
    return 1 + colours[thing.color] + len(COLOURS) * (kinds[type(thing)] - KEY)
