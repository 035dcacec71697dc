"""The words of driving, as functions over arrays: what happens, how it goes, and what is known of that.

Both environments observe five cars, [T, B, 5, 5]: the own one, then the nearest ahead or beside it. Each is presence, x, y and the speeds along and
across the road; the others' are relative to the own one's. Positions and speeds are shares of a range. That of y depends on the road (`Road`), so
each environment has a reader of its own for the same words. Whether a car has crashed is not observed: `info` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from srm.domains.words import WordReader, WrittenVocabulary
from srm.machine.vocabulary import VOCABULARIES
from srm.trajectory import Mask, Observations

PRESENCE, X, Y, VX, VY = range(5)  # of each car
LANE_LEFT, IDLE, LANE_RIGHT, FASTER, SLOWER = range(5)  # the actions
ACTIONS = ("lane left", "idle", "lane right", "faster", "slower")
METRES = 200.0  # what an x of 1 is; further away nobody is seen, and the own x stays 1
SPEEDS = 80.0  # what a speed of 1 is, in m/s
LENGTH = 5.0  # of a car, in metres
FASTEST = 30.0  # of the three speeds that the actions choose from: 20, 25, 30 m/s
MOST_SPEED = 40.0  # of any car
MOST_GAP = 100.0
MOST_TIME = 10.0
_STANDS = 1e-3  # m/s: a gap that closes more slowly does not close


def own_speed(observed: Observations) -> np.ndarray:
    return SPEEDS * np.hypot(observed[..., 0, VX], observed[..., 0, VY])


@dataclass(frozen=True)
class Road:
    """What is measured across it. Lane 0 is the leftmost."""

    range: float  # what a y of 1 is, in lanes
    lanes: int  # that the car may use

    def lane(self, after: Observations) -> np.ndarray:
        """the lane it drives in: 0 is the leftmost"""
        return np.clip(np.rint(self.range * after[..., 0, Y]), 0, 2)

    def change_lane(self, before: Observations, after: Observations) -> Mask:
        """crosses from one lane into another"""
        return self.lane(before) != self.lane(after)

    def gap(self, after: Observations) -> np.ndarray:
        """metres to the car ahead in its lane, bumper to bumper; 100 is as far as counts"""
        return self.ahead(after)[0]

    def time_to_collision(self, after: Observations) -> np.ndarray:
        """seconds until the gap is closed, if both keep their speed; 10 is as long as counts"""
        gap, closing = self.ahead(after)
        return np.where(closing > _STANDS, np.minimum(gap / np.maximum(closing, _STANDS), MOST_TIME), MOST_TIME)

    def ahead(self, observed: Observations, aside: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The gap to the nearest car ahead, in this lane or in the one `aside` to the right, and how fast it closes."""
        others = observed[..., 1:, :]
        across = np.abs(self.range * others[..., Y] - aside)
        x = np.where(
            (others[..., PRESENCE] > 0) & (across < 0.5) & (others[..., X] > 0), METRES * others[..., X], np.inf
        )
        nearest = np.argmin(x, axis=-1)[..., None]
        gap = np.clip(np.take_along_axis(x, nearest, axis=-1)[..., 0] - LENGTH, 0, MOST_GAP)
        return gap, -SPEEDS * np.take_along_axis(others[..., VX], nearest, axis=-1)[..., 0] * (gap < MOST_GAP)


def crash(info: Mapping[str, np.ndarray], terminated: Mask) -> Mask:
    """hits another car"""
    return terminated & (info["crashed"] > 0)


def arrive(info: Mapping[str, np.ndarray], terminated: Mask) -> Mask:
    """comes to the end of the road"""
    return terminated & ~(info["crashed"] > 0)


def survive(truncated: Mask) -> Mask:
    """drives until the time is over"""
    return truncated


def speed(after: Observations) -> np.ndarray:
    """of the car, in m/s"""
    return np.minimum(own_speed(after), MOST_SPEED)


def slowness(after: Observations) -> np.ndarray:
    """how much less than 30 m/s it drives"""
    return np.clip(FASTEST - own_speed(after), 0, FASTEST)


def _reader(road: Road) -> WordReader:
    words = WrittenVocabulary("highway")
    for event in (crash, arrive, survive, road.change_lane):
        words.event(event)
    words.signal(low=0, high=MOST_SPEED)(speed)
    words.signal(low=0, high=FASTEST)(slowness)
    words.signal(low=0, high=2)(road.lane)
    words.signal(low=0, high=MOST_GAP)(road.gap)
    words.signal(low=0, high=MOST_TIME)(road.time_to_collision)
    words.exclusive(crash, arrive, survive)
    for last in (crash, arrive, survive):
        words.once(last)
    return words.reader()


HIGHWAY = Road(range=3, lanes=3)
MERGE = Road(
    range=2, lanes=2
)  # the third lane, of whoever comes in, ends; y is a share of the road it begins on, which has two
HIGHWAY_READER = _reader(HIGHWAY)
HIGHWAY_WORDS = HIGHWAY_READER.vocabulary
MERGE_READER = replace(_reader(MERGE), vocabulary=HIGHWAY_WORDS)  # not equal alone: its balances are known to hold
VOCABULARIES[HIGHWAY_WORDS.name] = HIGHWAY_WORDS
