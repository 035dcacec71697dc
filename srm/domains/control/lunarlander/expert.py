"""Pilots that land, each with a style of its own: how fast it sinks, how late it brakes, how softly it touches the ground.

A pilot sinks as fast as lets it brake in time, v(y) = sqrt(touch^2 + 2 * brake * y), but never faster than `fastest`. It leans against its drift and
towards the pad. Whoever brakes late with all that the engine has burns little fuel, since what hovering costs is paid by the second; whoever sinks
slowly touches the ground softly and burns more than twice as much. docs/lunarlander.md has the measurements.

    STYLES                             each pilot by the name of its style
    fly(PILOT, env, observation)       what it does, an action of either kind of the environment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from srm.domains.base import Expert
from srm.domains.control.lunarlander.vocabulary import (
    ANGLE,
    LEFT,
    LEFT_LEG,
    MAIN,
    NOTHING,
    RIGHT,
    RIGHT_LEG,
    SPIN,
    VX,
    VY,
    X,
    Y,
)

_MOST_LEAN = 0.4  # radians
_AGAINST_DRIFT = 0.5, 1.0  # radians of lean for a unit of distance from the middle, and of speed
_AGAINST_LEAN = 0.5, 1.0  # of the turn that is wanted, for a radian of lean and a unit of spin
_STEADY = 0.05  # a turn that is not worth an engine
_BRAKE_FIRST = 0.1  # how much more a turn must be wanted than braking, before it comes first
_GAIN = 20.0  # of a throttle
_SETTLE = 0.05  # speed of sinking that a lander on its legs does not fight


@dataclass(frozen=True)
class Pilot:
    """Speeds and accelerations in what the environment observes: speed, and its square by height."""

    meaning: str
    fastest: float  # speed of sinking
    touch: float  # speed of sinking at the ground
    brake: float  # braking that it plans with; the engine can do 0.38

    def wants(self, seen: np.ndarray) -> tuple[float, float]:
        """How much more upward speed and how much of a turn to the left it wants."""
        if seen[LEFT_LEG] or seen[RIGHT_LEG]:
            return -float(seen[VY]) - _SETTLE, 0.0
        sinking = min(self.fastest, float(np.sqrt(self.touch**2 + 2 * self.brake * max(seen[Y], 0.0))))
        drift = float(np.dot(_AGAINST_DRIFT, seen[[X, VX]]))
        lean = min(max(drift, -_MOST_LEAN), _MOST_LEAN)
        turn = float(np.dot(_AGAINST_LEAN, (lean - seen[ANGLE], -seen[SPIN])))
        return -sinking - float(seen[VY]), turn


def fly(pilot: Pilot, env: Any, observation: np.ndarray) -> Any:
    """One of four actions, or two throttles where the environment takes them."""
    lift, turn = pilot.wants(observation)
    if env.unwrapped.continuous:
        main = min(max(lift * _GAIN, 0.01), 1.0) if lift > 0 else -1.0
        return np.array([main, min(max(-turn * _GAIN, -1.0), 1.0)], np.float32)
    if lift > max(0.0, abs(turn) - _BRAKE_FIRST):
        return MAIN
    if abs(turn) <= _STEADY:
        return NOTHING
    return RIGHT if turn < 0 else LEFT


PILOTS: Mapping[str, Pilot] = {
    "gentle": Pilot("sinks slowly and touches the ground softly", fastest=0.3, touch=0.05, brake=0.04),
    "frugal": Pilot("falls, and brakes as late as it can, to save fuel", fastest=2.0, touch=0.1, brake=0.25),
}
STYLES: Mapping[str, Expert] = {name: partial(fly, pilot) for name, pilot in PILOTS.items()}
