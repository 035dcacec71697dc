"""The table of MiniGrid's words, one row at a time, on observations made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srm.domains.minigrid.events import MiniGrid
from srm.domains.minigrid.vocabulary import (
    BALL,
    BOX,
    CLOSED,
    DONE,
    DOOR,
    DROP,
    EMPTY,
    FORWARD,
    GOAL,
    KEY,
    LEFT,
    LOCKED,
    OPEN,
    PICKUP,
    TOGGLE,
    WALL,
)
from srm.errors import TaskError
from srm.machine.vocabulary import NOTHING, pack_cell
from srm.trajectory import Rollout
from tests.domains.minigrid.truth import occurrences

RED, GREEN, BLUE = range(3)
NONE = (EMPTY, 0, 0)
AHEAD = pack_cell(5, 7)  # the agent stands at (5, 8) and looks up


def one_step(
    front: tuple, action: int, own: tuple = NONE, after: tuple = NONE, elsewhere: dict | None = None
) -> Rollout:
    """One step of one env. `elsewhere` puts things into other cells of the observation before."""
    observations = np.zeros((2, 1, 7, 7, 3), np.uint8)
    observations[0, 0, 3, 5], observations[0, 0, 3, 6], observations[1, 0, 3, 5] = front, own, after
    for cell, thing in (elsewhere or {}).items():
        observations[0, 0][cell] = thing
    return Rollout(
        observations=observations,
        actions=np.array([[action]]),
        poses=np.array([[[5, 8, 3]], [[5, 8, 3]]], np.int16),
        task_reward=np.zeros((1, 1), np.float32),
        terminated=np.zeros((1, 1), bool),
        truncated=np.zeros((1, 1), bool),
        valid=np.ones((1, 1), bool),
    )


def happened(rollout: Rollout, target: str | None = "blue ball") -> set:
    return occurrences(MiniGrid(target).read(rollout), 0, 0) - {("see_target", NOTHING, AHEAD)}


@pytest.mark.parametrize(
    ("front", "action", "own", "expected"),
    [
        ((GOAL, GREEN, 0), FORWARD, NONE, ("reach_goal", NOTHING, AHEAD)),
        ((KEY, RED, 0), PICKUP, NONE, ("pick_up_key", RED, AHEAD)),
        ((BALL, GREEN, 0), PICKUP, NONE, ("pick_up_ball", GREEN, AHEAD)),
        ((BALL, BLUE, 0), PICKUP, NONE, ("pick_up_target", BLUE, AHEAD)),
        (NONE, DROP, (KEY, RED, 0), ("drop_key", RED, AHEAD)),
        (NONE, DROP, (BALL, GREEN, 0), ("drop_ball", GREEN, AHEAD)),
        ((BOX, RED, 0), PICKUP, NONE, ("pick_up_box", RED, AHEAD)),
        (NONE, DROP, (BOX, BLUE, 0), ("drop_box", BLUE, AHEAD)),
        ((DOOR, RED, CLOSED), TOGGLE, NONE, ("open_door", RED, AHEAD)),
        ((DOOR, RED, OPEN), TOGGLE, NONE, ("close_door", RED, AHEAD)),
        ((DOOR, RED, LOCKED), TOGGLE, (KEY, RED, 0), ("unlock_door", RED, AHEAD)),
        ((BOX, RED, 0), TOGGLE, NONE, ("open_box", NOTHING, AHEAD)),
        ((WALL, 5, 0), FORWARD, NONE, ("hit_wall", NOTHING, NOTHING)),
    ],
)
def test_an_act_and_its_attributes(front: tuple, action: int, own: tuple, expected: tuple) -> None:
    assert happened(one_step(front, action, own)) == {expected}


@pytest.mark.parametrize(
    ("front", "action", "own"),
    [
        pytest.param((KEY, RED, 0), PICKUP, (KEY, RED, 0), id="hands are full"),
        pytest.param((BOX, RED, 0), PICKUP, (BALL, RED, 0), id="hands are full, before a box"),
        pytest.param((DOOR, RED, LOCKED), TOGGLE, (KEY, GREEN, 0), id="a key of another colour"),
        pytest.param((DOOR, RED, LOCKED), TOGGLE, (BALL, RED, 0), id="no key"),
        pytest.param((DOOR, RED, OPEN), DROP, (KEY, RED, 0), id="nothing is dropped into a door"),
        pytest.param((GOAL, GREEN, 0), DROP, (KEY, RED, 0), id="nor onto the goal"),
        pytest.param(NONE, DROP, NONE, id="nothing to drop"),
        pytest.param(NONE, FORWARD, NONE, id="walking"),
        pytest.param((DOOR, RED, CLOSED), FORWARD, NONE, id="a closed door is no wall"),
        pytest.param((GOAL, GREEN, 0), LEFT, NONE, id="turning before the goal"),
        pytest.param((DOOR, RED, CLOSED), DONE, NONE, id="doing nothing"),
    ],
)
def test_no_act(front: tuple, action: int, own: tuple) -> None:
    assert happened(one_step(front, action, own)) == set()


def test_a_box_has_the_colour_of_the_key_it_held() -> None:
    opened = one_step((BOX, RED, 0), TOGGLE, after=(KEY, GREEN, 0))
    assert happened(opened) == {("open_box", GREEN, AHEAD)}
    other = one_step((BOX, RED, 0), TOGGLE, after=(BALL, GREEN, 0))
    assert happened(other) == {("open_box", NOTHING, AHEAD)}


def test_what_a_box_held_is_read_from_the_true_last_view() -> None:
    """An env that resets within the step already shows the next episode."""
    opened = one_step((BOX, RED, 0), TOGGLE, after=(KEY, RED, 0))
    last = np.zeros((1, 7, 7, 3), np.uint8)
    last[0, 3, 5] = KEY, GREEN, 0
    finals = {"final_step": np.array([0]), "final_env": np.array([0]), "final_observations": last}
    truncated = replace(opened, truncated=np.array([[True]]), **finals, final_poses=np.zeros((1, 3), np.int16))
    assert happened(truncated) == {("open_box", GREEN, AHEAD)}


@pytest.mark.parametrize(
    ("target", "kind", "colour", "event"),
    [
        *(("ball", BALL, RED, "pick_up_target"), ("blue ball", BALL, RED, "pick_up_ball")),
        *((None, BALL, BLUE, "pick_up_ball"), ("box", BALL, RED, "pick_up_ball")),
        *(("box", BOX, RED, "pick_up_target"), ("blue box", BOX, RED, "pick_up_box")),
        *(("blue box", BOX, BLUE, "pick_up_target"), ("blue ball", BOX, BLUE, "pick_up_box")),
    ],
)
def test_the_task_decides_what_is_the_target(target: str | None, kind: int, colour: int, event: str) -> None:
    assert happened(one_step((kind, colour, 0), PICKUP), target) == {(event, colour, AHEAD)}


def test_the_target_is_seen_where_it_is() -> None:
    # Two columns to the right of the agent and four rows ahead; looking up, that is +2 in x and -4 in y.
    seen = one_step(NONE, LEFT, elsewhere={(5, 2): (BALL, BLUE, 0)})
    assert happened(seen) == {("see_target", NOTHING, pack_cell(7, 4))}
    assert happened(seen, target=None) == set()
    assert happened(seen, target="green ball") == set()
    assert happened(seen, target="blue box") == set()
    box = one_step(NONE, LEFT, elsewhere={(5, 2): (BOX, BLUE, 0)})
    assert happened(box, target="box") == {("see_target", NOTHING, pack_cell(7, 4))}


def test_a_target_in_hand_is_not_seen() -> None:
    assert happened(one_step(NONE, LEFT, own=(BALL, BLUE, 0))) == set()


def test_seeing_may_go_with_an_act() -> None:
    both = one_step((DOOR, RED, CLOSED), TOGGLE, elsewhere={(3, 4): (BALL, BLUE, 0)})
    assert happened(both) == {("open_door", RED, AHEAD), ("see_target", NOTHING, pack_cell(5, 6))}


def test_a_step_that_is_not_real_has_no_events() -> None:
    resetting = replace(one_step((BALL, BLUE, 0), PICKUP), valid=np.array([[False]]))
    assert len(MiniGrid("ball").read(resetting)) == 0


def test_what_is_no_minigrid_rollout_is_refused() -> None:
    step = one_step(NONE, LEFT)
    with pytest.raises(TaskError, match=r"observations are uint8 \[7, 7\]"):
        MiniGrid().read(replace(step, observations=step.observations[..., 0]))
    with pytest.raises(TaskError, match="poses have 2 numbers"):
        MiniGrid().read(replace(step, poses=step.poses[..., :2]))
    with pytest.raises(TaskError, match="target 'blu ball' is no ball and no box of MiniGrid; did you mean blue ball"):
        MiniGrid("blu ball")
