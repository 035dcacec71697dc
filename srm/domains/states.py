"""Which states of an episode are the same, as numbers that can be counted.

    keys [T, B] uint64   equal within an episode exactly where the state is (up to collisions of 64-bit hashes)

A domain may know its states; of any other rollout the observation is all there is.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from srm.domains.registry import domains
from srm.trajectory import Mask, Rollout

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
StateKind = Literal["spots", "states"]
Keys = tuple[np.ndarray, np.ndarray, np.ndarray]  # before and after each step, [T, B] each; carried over, [B]


class StateKeys(Protocol):
    """What a domain knows. `carried`: [B] what it said to carry over, 0 at first. None: the rollout is not of this domain."""

    def __call__(self, rollout: Rollout, episode_start: Mask, carried: np.ndarray, kind: StateKind) -> Keys | None: ...


def state_keys(rollout: Rollout, episode_start: Mask, carried: np.ndarray, kind: StateKind) -> Keys:
    for domain in domains():
        if domain.state_keys is not None:
            keys = domain.state_keys(rollout, episode_start, carried, kind)
            if keys is not None:
                return keys
    return hashed(rollout.observations[:-1], 2), hashed(rollout.after(), 2), carried


def hashed(numbers: np.ndarray, axes: int) -> np.ndarray:
    """One 64-bit number for everything behind the first `axes` axes (splitmix64, number by number)."""
    flat = numbers.reshape(*numbers.shape[:axes], -1)
    if flat.dtype.kind == "f":
        flat = flat.astype(np.float32).view(np.uint32)
    out = np.zeros(flat.shape[:-1], np.uint64)
    for column in np.moveaxis(flat, -1, 0):
        out = out + _GOLDEN + column.astype(np.uint64)
        out = (out ^ (out >> np.uint64(30))) * _MIX1
        out = (out ^ (out >> np.uint64(27))) * _MIX2
        out = out ^ (out >> np.uint64(31))
    return out
