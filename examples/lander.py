"""Gymnasium's LunarLander, with four actions and with two engines to be throttled, in the same words.

    srm demo examples.lander:TASK -n 10 -o lander.npz
    srm learn examples.lander:TASK --machine examples/lander.srm --demos lander.npz

Both need Box2D: pip install "symbolic-reward-machines[box2d]". docs/lander.md walks through this file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import srm

words = srm.Vocabulary("lander")
X, Y, VX, VY, ANGLE, _, LEFT_LEG, RIGHT_LEG = range(8)  # what is observed


@words.event
def land(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """comes to rest"""
    return terminated & (after[..., VX] == 0) & (after[..., VY] == 0)


@words.event
def crash(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """hits the ground with its body, or flies out of sight"""
    return terminated & ~land(after, terminated)


@words.event
def touch(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """a leg touches the ground"""
    legs = after[..., LEFT_LEG : RIGHT_LEG + 1] > before[..., LEFT_LEG : RIGHT_LEG + 1]
    return legs.any(axis=-1)


@words.signal(low=0)
def distance(after: np.ndarray) -> np.ndarray:
    """from the middle of the pad"""
    return np.hypot(after[..., X], after[..., Y])


@words.signal(low=0)
def speed(after: np.ndarray) -> np.ndarray:
    """of the lander"""
    return np.hypot(after[..., VX], after[..., VY])


@words.signal(low=0)
def tilt(after: np.ndarray) -> np.ndarray:
    """how far it leans"""
    return np.abs(after[..., ANGLE])


words.exclusive(land, crash)
words.once(land)
words.once(crash)


def fly(env: Any, observation: np.ndarray) -> Any:
    """The pilot that Gymnasium ships; it flies both kinds."""
    from gymnasium.envs.box2d.lunar_lander import heuristic  # needs Box2D, which only whoever flies has

    return heuristic(env.unwrapped, observation)


TASK = words.task("LunarLander-v3", meaning="come to rest on the pad", expert=fly, success=land, frames=1_000_000)
CONTINUOUS = words.task(
    "LunarLanderContinuous-v3",
    name="lander_continuous",
    meaning="come to rest on the pad, with engines that can be throttled",
    expert=fly,
    success=land,
    frames=1_000_000,
)
