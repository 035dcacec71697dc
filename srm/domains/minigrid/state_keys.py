"""Which states of an episode of MiniGrid are the same.

RIDE counts full states of the environment, of which the policy sees only a part. In MiniGrid nothing changes but the cell in front
of the agent and what it carries, and it sees both. So the state is where the agent stands, what it carries, and the set of
changed cells, which a running exclusive-or of (cell, content) hashes keeps: put back, a change cancels itself.
"""

from __future__ import annotations

import numpy as np

from srm.domains.states import Keys, StateKind, hashed
from srm.trajectory import Mask, Rollout

_AHEAD = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])  # of each direction


def state_keys(rollout: Rollout, episode_start: Mask, changed: np.ndarray, kind: StateKind) -> Keys | None:
    """As `srm.domains.states` wants them; carried over are the hashes of changed cells."""
    if rollout.poses.shape[2] < 3:  # not MiniGrid
        return None
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
