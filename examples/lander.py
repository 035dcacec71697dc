"""Gymnasium's LunarLander, with four actions and with two engines to be throttled, in the same words.

    srm demo examples.lander:TASK -n 10 -o lander.npz
    srm learn examples.lander:TASK --machine examples/lander.srm --demos lander.npz

Both need Box2D: pip install "symbolic-reward-machines[box2d]". docs/lander.md walks through this file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import srm
from srm.domains.controls import Controls

words = srm.Vocabulary("lander")
X, Y, VX, VY, ANGLE, SPIN, LEFT, RIGHT = range(8)  # what is observed
FIRE_LEFT, MAIN, FIRE_RIGHT = 1, 2, 3  # of four actions


@words.event
def land(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """comes to rest"""
    return terminated & (after[..., VX] == 0) & (after[..., VY] == 0)


@words.event
def crash(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """hits the ground with its body, or flies out of sight"""
    return terminated & ~land(after, terminated)


@words.signal(low=0, high=1.5)
def distance(after: np.ndarray) -> np.ndarray:
    """from the middle of the pad, in halves of the screen; 1.5 is as far as it counts"""
    return np.minimum(np.hypot(after[..., X], after[..., Y]), 1.5)


@words.signal(low=0, high=1.5)
def speed(after: np.ndarray) -> np.ndarray:
    """of the lander; 1.5 is as fast as it counts"""
    return np.minimum(np.hypot(after[..., VX], after[..., VY]), 1.5)


@words.signal(low=0, high=1)
def tilt(after: np.ndarray) -> np.ndarray:
    """how far it leans, in radians; 1 is as far as it counts"""
    return np.minimum(np.abs(after[..., ANGLE]), 1)


@words.signal(low=0, high=2)
def legs(after: np.ndarray) -> np.ndarray:
    """that stand on the ground"""
    return after[..., LEFT] + after[..., RIGHT]


@words.signal(low=0, high=1.1)
def fuel(action: np.ndarray) -> np.ndarray:
    """that is burnt: 1 by the main engine, 0.1 by one at the side"""
    if action.dtype.kind == "i":
        return (action == MAIN) + 0.1 * ((action == FIRE_LEFT) | (action == FIRE_RIGHT))
    main, side = action[..., 0], np.abs(action[..., 1])
    return np.where(main > 0, 0.5 + 0.5 * main, 0) + 0.1 * np.where(side > 0.5, side, 0)


for signal in (distance, speed, tilt, legs):
    words.change(signal)  # the signals change_distance, change_speed, change_tilt, change_legs
words.exclusive(land, crash)
words.once(land)
words.once(crash)


def fly(env: Any, observation: np.ndarray) -> Any:
    """The pilot that Gymnasium ships; it flies both kinds."""
    from gymnasium.envs.box2d.lunar_lander import heuristic  # needs Box2D, which only whoever flies has

    return heuristic(env.unwrapped, observation)


TASK = words.task(
    "LunarLander-v3",
    meaning="come to rest on the pad",
    expert=fly,
    success=land,
    frames=1_000_000,
    controls=Controls(  # `srm studio` flies it in real time
        {("ArrowLeft",): FIRE_LEFT, ("ArrowUp",): MAIN, ("ArrowRight",): FIRE_RIGHT},
        noop=0,
        turns=False,
        names=("fall", "left", "main engine", "right"),
    ),
)
CONTINUOUS = words.task(
    "LunarLanderContinuous-v3",
    name="lander_continuous",
    meaning="come to rest on the pad, with engines that can be throttled",
    expert=fly,
    success=land,
    frames=1_000_000,
)
