"""Which states of an episode are the same, as numbers that can be counted.

    keys [T, B] uint64   equal within an episode exactly where the state is (up to collisions of 64-bit hashes)

RIDE counts full states of the environment, of which the policy sees only a part. In MiniGrid nothing changes but the cell in front
of the agent and what it carries, and it sees both. So the state is where the agent stands, what it carries, and the set of
changed cells, which a running exclusive-or of (cell, content) hashes keeps: put back, a change cancels itself.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from srm.trajectory import Mask, Rollout

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_AHEAD = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])  # of each direction
StateKind = Literal["spots", "states"]


def state_keys(
    rollout: Rollout, episode_start: Mask, changed: np.ndarray, kind: StateKind
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys before and after each step, [T, B] each, and the hash of changed cells before the next rollout, [B]."""
    if rollout.poses.shape[2] < 3:  # not MiniGrid: the observation is all there is
        return hashed(rollout.observations[:-1], 2), hashed(rollout.after(), 2), changed
    before, after = rollout.poses[:-1], rollout.poses_after()
    if kind == "spots":
        return hashed(before[..., :2], 2), hashed(after[..., :2], 2), changed
    change = changes(rollout)
    running = np.empty((rollout.steps, rollout.envs), np.uint64)
    for t in range(rollout.steps):
        changed = np.where(episode_start[t], np.uint64(0), changed)
        running[t] = changed
        changed = changed ^ change[t]
    middle, last = rollout.observations.shape[2] // 2, rollout.observations.shape[3] - 1
    held_before, held_after = rollout.observations[:-1, :, middle, last], rollout.after()[:, :, middle, last]
    keys_before = running ^ hashed(np.concatenate([before, held_before], axis=2), 2)
    keys_after = running ^ change ^ hashed(np.concatenate([after, held_after], axis=2), 2)
    return keys_before, keys_after, changed


def changes(rollout: Rollout) -> np.ndarray:
    """[T, B] what each step does to the hash of changed cells: 0 unless the cell in front changed under a still agent."""
    before, after = rollout.poses[:-1].astype(np.int64), rollout.poses_after()
    middle, ahead = rollout.observations.shape[2] // 2, rollout.observations.shape[3] - 2
    old, new = rollout.observations[:-1, :, middle, ahead], rollout.after()[:, :, middle, ahead]
    spot = before[..., :2] + _AHEAD[before[..., 2]]
    change = hashed(np.concatenate([spot, old], axis=2), 2) ^ hashed(np.concatenate([spot, new], axis=2), 2)
    return np.where((before == after).all(axis=2) & rollout.valid, change, np.uint64(0))


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
