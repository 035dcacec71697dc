"""One env whose observation is a height, and words for it: a small place to try declarations in."""

from __future__ import annotations

from typing import Any

import numpy as np

import srm
from srm.trajectory import Rollout


def rollout_of(heights: Any, over: Any = None, info: dict[str, Any] | None = None) -> Rollout:
    """One env whose observation is a height before the first step and after each."""
    observations = np.array(heights, np.float64)[:, None, None]
    steps = len(observations) - 1
    ends = np.zeros((steps, 1), np.bool_) if over is None else np.array(over, np.bool_)[:, None]
    return Rollout(
        observations=observations,
        actions=np.zeros((steps, 1), np.int64),
        poses=np.zeros((steps + 1, 1, 0), np.int16),
        task_reward=np.zeros((steps, 1), np.float32),
        terminated=ends,
        truncated=np.zeros_like(ends),
        valid=np.ones_like(ends),
        info={key: np.array(numbers, np.float64)[:, None] for key, numbers in (info or {}).items()},
    )


def climber() -> srm.Vocabulary:
    words = srm.Vocabulary("climber")

    @words.event
    def rise(before, after):  # type: ignore[no-untyped-def]
        """goes up"""
        return after[..., 0] > before[..., 0]

    @words.event
    def fall(before, after):  # type: ignore[no-untyped-def]
        return after[..., 0] < before[..., 0]

    @words.signal(low=0, high=9)
    def height(after):  # type: ignore[no-untyped-def]
        return after[..., 0]

    return words
