"""Gymnasium's pendulum in words: a task with continuous actions, and a machine for it in pendulum.srm.

python -m benchmarks.learners sac-pendulum -o curve.csv
"""

from __future__ import annotations

import numpy as np

import srm

words = srm.Vocabulary("pendulum")

UPRIGHT = 0.95  # of the cosine of its angle


@words.event
def rise(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """the pendulum comes to stand upright"""
    return (before[..., 0] <= UPRIGHT) & (after[..., 0] > UPRIGHT)


@words.event
def fall(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """it no longer stands upright"""
    return (before[..., 0] > UPRIGHT) & (after[..., 0] <= UPRIGHT)


@words.signal(low=-1, high=1)
def height(after: np.ndarray) -> np.ndarray:
    """of its end: 1 above, -1 below"""
    return after[..., 0]


@words.signal(low=0, high=64)
def spin(after: np.ndarray) -> np.ndarray:
    """the square of its speed"""
    return after[..., 2] ** 2


@words.signal(low=0, high=4)
def effort(action: np.ndarray) -> np.ndarray:
    """the square of the torque"""
    return action[..., 0] ** 2


TASK = words.task("Pendulum-v1", meaning="swing the pendulum up and hold it there")
