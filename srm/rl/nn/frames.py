"""Which frames a policy sees at a step: the last L of the same episode, newest first, and blanks before its beginning.

    episode_start [T+1, B]  an episode begins with the observation before this step
    age           [T+1, B]  steps since then
    frames        [(L - 1 + T + 1) * B + 1, D]  L - 1 frames from before the rollout, its T + 1, and one blank at the end
    rows          [T+1, B, L] uint32  indices into frames

Frames are stored once; a stack of four is four numbers.
"""

from __future__ import annotations

import numpy as np

from srm.trajectory import Mask, Rollout


def episode_starts(rollout: Rollout, first: Mask) -> Mask:
    """[T+1, B] from what a rollout shows; `first` [B] says it of its first observation.

    An episode begins after a step that was spent on resetting, or with the observation that follows a step whose final one
    is kept aside. The observation between an episode's end and the resetting step is still the old episode's.
    """
    starts = np.concatenate([first[None], ~rollout.valid])
    starts[rollout.final_step + 1, rollout.final_env] = True
    return starts


def ages(episode_start: Mask, before: np.ndarray) -> np.ndarray:
    """[T+1, B] steps since the episode began; `before` [B] is the age one step earlier."""
    age = np.empty(episode_start.shape, np.int64)
    for t, starts in enumerate(episode_start):
        before = np.where(starts, 0, before + 1)
        age[t] = before
    return age


def newest_rows(num_steps: int, num_envs: int, lags: int) -> np.ndarray:
    """[T+1, B, L] rows if no episode began: lag k of step t is the frame of step t - k."""
    t, b, k = np.ogrid[: num_steps + 1, :num_envs, :lags]
    return (lags - 1 + t - k) * num_envs + b


def mask_old(rows: np.ndarray, age: np.ndarray, blank: int) -> np.ndarray:
    """Rows [..., B, L] with the blank frame wherever the episode is younger than the lag."""
    return np.where(np.arange(rows.shape[-1]) <= age[..., None], rows, blank).astype(np.uint32)
