"""The words of LunarLander, as functions over arrays: what happens in a flight, how it goes, and what is known of that.

Both kinds of the environment observe the same eight numbers. They differ in the action, [T, B] whole numbers or [T, B, 2] throttles, so the same
words serve both. What is observed has no limits, so the signals stop where a flight that is not lost never comes; proofs need their ranges.
"""

from __future__ import annotations

import numpy as np

from srm.domains.words import WrittenVocabulary
from srm.machine.vocabulary import VOCABULARIES
from srm.trajectory import Mask, Observations

X, Y, VX, VY, ANGLE, SPIN, LEFT_LEG, RIGHT_LEG = range(8)  # what is observed; the pad is at 0, 0
NOTHING, LEFT, MAIN, RIGHT = range(4)  # the actions; throttled are MAIN, from 0, and both sides, beyond a half
ACTIONS = ("nothing", "left engine", "main engine", "right engine")
PAD = 0.2  # from the middle of the pad to either flag
SIDE_SHARE = 0.1  # of the main engine's fuel, as Gymnasium's own reward charges it

words = WrittenVocabulary("lunarlander")


def _speed(observed: Observations) -> np.ndarray:
    return np.hypot(observed[..., VX], observed[..., VY])


def _stands(observed: Observations) -> Mask:
    return (observed[..., LEFT_LEG] > 0) | (observed[..., RIGHT_LEG] > 0)


def _rests(observed: Observations) -> Mask:
    return (observed[..., VX] == 0) & (observed[..., VY] == 0)  # exactly: Box2D stops a body that it puts to sleep


@words.event
def land(after: Observations, terminated: Mask) -> Mask:
    """comes to rest between the flags"""
    return terminated & _rests(after) & (np.abs(after[..., X]) <= PAD)


@words.event
def miss(after: Observations, terminated: Mask) -> Mask:
    """comes to rest beside the pad"""
    return terminated & _rests(after) & (np.abs(after[..., X]) > PAD)


@words.event
def crash(after: Observations, terminated: Mask) -> Mask:
    """hits the ground with its body, or flies out of the picture"""
    return terminated & ~_rests(after)


@words.event
def touch(before: Observations, after: Observations, terminated: Mask) -> Mask:
    """touches the ground with a leg, and neither touched it before"""
    return ~_stands(before) & _stands(after) & ~terminated


@words.event
def lift(before: Observations, after: Observations, terminated: Mask) -> Mask:
    """touches the ground with no leg any more"""
    return _stands(before) & ~_stands(after) & ~terminated


@words.signal(low=0, high=2)
def distance(after: Observations) -> np.ndarray:
    """from the middle of the pad, in halves of the picture; 2 is as far as it counts"""
    return np.minimum(np.hypot(after[..., X], after[..., Y]), 2)


@words.signal(low=0, high=2)
def speed(after: Observations) -> np.ndarray:
    """of the lander; 2 is as fast as it counts"""
    return np.minimum(_speed(after), 2)


@words.signal(low=0, high=1)
def tilt(after: Observations) -> np.ndarray:
    """how far it leans, in radians; 1 is as far as it counts"""
    return np.minimum(np.abs(after[..., ANGLE]), 1)


@words.signal(low=0, high=4)
def haste(after: Observations) -> np.ndarray:
    """the square of its speed: over a flight, what hurrying costs; 4 is as much as counts"""
    return np.minimum(_speed(after) ** 2, 4)


@words.signal(low=0, high=1 + SIDE_SHARE)
def fuel(action: np.ndarray) -> np.ndarray:
    """what the engines burn: 1 for the main engine, 0.1 for one at the side, as throttled"""
    if action.dtype.kind != "f":
        return (action == MAIN) + SIDE_SHARE * ((action == LEFT) | (action == RIGHT))
    main, side = action[..., 0], np.abs(action[..., 1])
    return np.where(main > 0, (main + 1) / 2, 0.0) + SIDE_SHARE * np.where(side > 0.5, side, 0.0)


@words.signal(low=0, high=2)
def impact(before: Observations, after: Observations, terminated: Mask) -> np.ndarray:
    """the speed with which it touches the ground, at the step at which it does; else 0"""
    return np.where(touch(before, after, terminated), np.minimum(_speed(before), 2), 0.0)


for signal in (distance, speed, tilt):
    words.change(signal)  # change_distance, change_speed, change_tilt: progress, whose sum is bounded
words.exclusive(land, miss, crash, touch, lift)
for last in (land, miss, crash):
    words.once(last)
words.alternate(touch, lift)

LANDER_READER = words.reader()
LANDER_WORDS = LANDER_READER.vocabulary
VOCABULARIES[LANDER_WORDS.name] = LANDER_WORDS
