"""MiniGrid's vocabulary, as data: what can happen there, and what is known of how it can follow one another.

`srm.domains.minigrid.events` reads them in a rollout. The ids below are MiniGrid's own encoding of a cell (type, colour, state)
and of an action.
"""

from __future__ import annotations

from dataclasses import dataclass

from srm.errors import TaskError, near
from srm.machine.vocabulary import VOCABULARIES, Attribute, Balance, Event, Vocabulary

EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA = range(1, 10)  # types of a cell; 0 is not seen
OPEN, CLOSED, LOCKED = 0, 1, 2  # states of a door
LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)  # actions
ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")  # by their id in a cell
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # the step (dx, dy) of each direction; y grows downwards
LIMITS = {"action": 7, "type": 11, "colour": 6, "state": 3, "direction": 4}  # how many there are of each

_WHERE = ("colour", "place")

EVENTS = (
    Event("reach_goal", "walks onto the goal", ("place",)),
    Event("pick_up_key", "takes the key in front, with empty hands", _WHERE),
    Event("pick_up_ball", "takes the ball in front that is not the target, with empty hands", _WHERE),
    Event("pick_up_box", "takes the box in front that is not the target, with empty hands", _WHERE),
    Event("pick_up_target", "takes the task's target, with empty hands", _WHERE),
    Event("drop_key", "puts the carried key into the empty cell in front", _WHERE),
    Event("drop_ball", "puts the carried ball into the empty cell in front", _WHERE),
    Event("drop_box", "puts the carried box into the empty cell in front", _WHERE),
    Event("open_door", "opens the closed door in front", _WHERE),
    Event("close_door", "closes the open door in front", _WHERE),
    Event("unlock_door", "opens the locked door in front with a key of its colour in hand", _WHERE),
    Event("open_box", "opens the box in front; the colour is that of the key it held, if it held one", _WHERE),
    Event("see_target", "has the target in view while acting", ("place",), act=False),
    Event("hit_wall", "walks against a wall", ()),
)

ATTRIBUTES = (
    Attribute("colour", "colour of the object (of open_box: of the key the box held)", COLOURS),
    Attribute("place", "the cell it happens at: the one in front of the agent (see_target: the target's)", None),
)

BALANCES = (
    Balance(("pick_up_key",), ("drop_key",), most=1),
    Balance(("pick_up_ball", "pick_up_target"), ("drop_ball",), most=1),
    Balance(("pick_up_box", "pick_up_target"), ("drop_box",), most=1),
    Balance(
        ("pick_up_key", "pick_up_ball", "pick_up_box", "pick_up_target"), ("drop_key", "drop_ball", "drop_box"), most=1
    ),
    Balance(("open_door", "unlock_door"), ("close_door",)),  # how many doors stand open
    Balance(("unlock_door",)),  # a door cannot be locked again
    Balance(("open_box",)),  # a box that is opened is gone
    Balance(("reach_goal",), most=1),  # ends the episode
    Balance(("pick_up_target",), most=1),  # ends the episode
)

MINIGRID_WORDS = Vocabulary("minigrid", EVENTS, ATTRIBUTES, (), BALANCES)
VOCABULARIES[MINIGRID_WORDS.name] = MINIGRID_WORDS


@dataclass(frozen=True)
class Target:
    """What a task asks to take: a ball or a box, of one colour or (None) whichever there is."""

    kind: int
    colour: int | None

    @staticmethod
    def of(name: str) -> Target:
        """`ball`, `blue ball`, `box`, ..."""
        kinds = {"ball": BALL, "box": BOX}
        known = [*kinds, *(f"{colour} {kind}" for kind in kinds for colour in COLOURS)]
        if name not in known:
            raise TaskError(f"target {name!r} is no ball and no box of MiniGrid{near(name, known)}")
        colour, _, kind = name.rpartition(" ")
        return Target(kinds[kind], COLOURS.index(colour) if colour else None)
