"""Drivers with a style of their own: how fast they like to go, how much room they leave, and whether they overtake.

A driver speeds up while there is room, and slows down when the gap is short for its speed or would soon be closed. It changes lanes, if the other
lane has more room ahead and nobody beside, where it cannot brake any more; whoever overtakes does so before it brakes. docs/driving.md has the
measurements.

    STYLES[TASK]                       each driver by the name of its style
    drive(DRIVER, ROAD, observation)   what it does, one of five actions
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from srm.domains.base import Expert
from srm.domains.control.highway.vocabulary import (
    FASTER,
    HIGHWAY,
    IDLE,
    LANE_LEFT,
    LANE_RIGHT,
    LENGTH,
    MERGE,
    METRES,
    PRESENCE,
    SLOWER,
    Road,
    X,
    Y,
    own_speed,
)

_SLOWEST = 20.0  # of the three speeds that the actions choose from
_STEP = 5.0  # between two of them
_TOLERANCE = 1.0  # m/s that a speed may be off the one that was chosen
_MORE_ROOM = 10.0  # metres that another lane must offer beyond this one, to be worth changing


@dataclass(frozen=True)
class Driver:
    """Speeds in m/s, gaps in metres, times in seconds."""

    meaning: str
    fastest: float
    headway: float  # the gap it keeps, in seconds at its speed
    brakes: float  # the time to collision at which it slows down
    overtakes: bool
    beside: float  # how far ahead or behind a car in the other lane may be for it to count as beside


def drive(driver: Driver, road: Road, observation: np.ndarray) -> int:
    """One of five actions."""
    speed = float(own_speed(observation))
    gap, closing = (float(number) for number in road.ahead(observation))
    soon = closing > 0 and gap < driver.brakes * closing
    short = gap < driver.headway * speed
    slowest = speed <= _SLOWEST + _TOLERANCE
    if ((soon or short) and driver.overtakes) or (soon and slowest):
        for action, aside in ((LANE_LEFT, -1), (LANE_RIGHT, 1)):
            if (
                _is_free(driver, road, observation, aside)
                and float(road.ahead(observation, aside)[0]) > gap + _MORE_ROOM
            ):
                return action
    if (soon or short) and not slowest:
        return SLOWER
    room = gap > driver.headway * (speed + _STEP) and gap > driver.brakes * (closing + _STEP)
    if room and speed < driver.fastest - _TOLERANCE:
        return FASTER
    return IDLE


def _is_free(driver: Driver, road: Road, observation: np.ndarray, aside: int) -> bool:
    """Whether there is a lane on that side, nobody beside in it, and nobody about to be."""
    if not 0 <= float(road.lane(observation)) + aside < road.lanes:
        return False
    others = observation[1:]
    there = (others[:, PRESENCE] > 0) & (np.abs(road.range * others[:, Y] - aside) < 0.75)
    return not (there & (np.abs(METRES * others[:, X]) < LENGTH + driver.beside)).any()


DRIVERS: Mapping[str, Driver] = {
    "cautious": Driver(
        "leaves much room, and stays in its lane if it can",
        fastest=25,
        headway=1.5,
        brakes=6.0,
        overtakes=False,
        beside=10,
    ),
    "brisk": Driver(
        "drives as fast as it can, and overtakes", fastest=30, headway=0.6, brakes=3.5, overtakes=True, beside=10
    ),
}
STYLES: Mapping[str, Mapping[str, Expert]] = {
    task: {name: partial(drive, driver, road) for name, driver in DRIVERS.items()}
    for task, road in (("highway", HIGHWAY), ("merge", MERGE))
}
