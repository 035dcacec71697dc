"""A MiniGrid world as coloured text, for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from srm.domains.minigrid.expert_world import Thing, World, read_world
from srm.domains.minigrid.vocabulary import BALL, BOX, CLOSED, COLOURS, DOOR, FLOOR, GOAL, KEY, LAVA, LOCKED, OPEN, WALL

_SIGNS = {WALL: "█", FLOOR: "·", KEY: "k", BALL: "o", BOX: "▣", GOAL: "G", LAVA: "~"}
_DOORS = {OPEN: "╌", CLOSED: "D", LOCKED: "L"}
_AGENT = "▶▼◀▲"
_STYLES = {"purple": "magenta", "grey": "bright_black"}  # what the terminal calls them
_LEGEND = "k key   o ball   ▣ box   D door   L locked door   ╌ open door   G goal   ~ lava   ▶ agent"


def draw_map(env: Any) -> Group:
    """The world of an environment, with what its signs mean."""
    return Group(draw_world(read_world(env)), _LEGEND)


def draw_world(world: World) -> Text:
    width, height = (1 + max(cell[axis] for cell in world.things) for axis in (0, 1))
    text = Text()
    for y in range(height):
        for x in range(width):
            if (x, y) == world.pose[:2]:
                text.append(_AGENT[world.pose[2]], "bold red")
            else:
                text.append_text(_sign(world.things.get((x, y))))
        text.append("\n")
    carried = _sign(world.carried) if world.carried else Text("nothing")
    return text.append_text(Text("in hand: ")).append_text(carried)


def _sign(thing: Thing | None) -> Text:
    if thing is None:
        return Text(" ")
    colour = COLOURS[thing.colour]
    sign = _DOORS[thing.state] if thing.kind == DOOR else _SIGNS[thing.kind]
    return Text(sign, _STYLES.get(colour, colour))
