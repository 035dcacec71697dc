"""The words of Hopper, as functions over arrays: the terms of the environment's own reward, and how the body stands.

Where it is along the way is not observed, so speed is read from `info`, as the environment pays it. The other two terms of its reward are `upright`
and a thousandth of `torque`. What is observed has no limits, so signals stop where a hopper that is not lost never comes; proofs need their ranges.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from srm.domains.words import WrittenVocabulary
from srm.machine.vocabulary import VOCABULARIES
from srm.trajectory import Mask, Observations

Z, LEAN = 0, 1  # what is observed first: the height of the torso and its angle
RISE = 6  # and how fast it rises
OBSERVED = 11
JOINTS = 3  # torques of thigh, leg and foot, from -1 to 1
FASTEST = 10.0

words = WrittenVocabulary("hopper")


@words.event
def fell(terminated: Mask) -> Mask:
    """is too low, or leans too far: the episode ends"""
    return terminated.copy()


@words.event
def rise(before: Observations, after: Observations) -> Mask:
    """begins to rise: a hop"""
    return (before[..., RISE] <= 0) & (after[..., RISE] > 0)


@words.signal(low=-FASTEST, high=FASTEST)
def speed(info: Mapping[str, np.ndarray]) -> np.ndarray:
    """forward, in metres a second, which is what the environment pays for it; 10 either way is as fast as it counts"""
    return np.clip(info["reward_forward"], -FASTEST, FASTEST)


@words.signal(low=0, high=JOINTS)
def torque(action: np.ndarray) -> np.ndarray:
    """the squares of the three torques; the environment charges a thousandth of them"""
    return np.square(action).sum(axis=-1)


@words.signal(low=0, high=1)
def upright(terminated: Mask) -> np.ndarray:
    """1 at each step but that at which it falls, which is what the environment pays for it"""
    return np.where(terminated, 0.0, 1.0)


@words.signal(low=0, high=2)
def height(after: Observations) -> np.ndarray:
    """of the torso, in metres; 2 is as high as it counts"""
    return np.clip(after[..., Z], 0, 2)


@words.signal(low=0, high=0.5)
def lean(after: Observations) -> np.ndarray:
    """of the torso, in radians; 0.5 is as far as it counts"""
    return np.minimum(np.abs(after[..., LEAN]), 0.5)


words.once(fell)

HOPPER_READER = words.reader()
HOPPER_WORDS = HOPPER_READER.vocabulary
VOCABULARIES[HOPPER_WORDS.name] = HOPPER_WORDS
