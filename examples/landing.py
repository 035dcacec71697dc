"""Gymnasium's lunar lander with engines that can be throttled, paid by what each step gains: the machine is landing.srm.

python -m benchmarks.learners sac-lander -o curve.csv
"""

from __future__ import annotations

import numpy as np

import srm

words = srm.Vocabulary("landing")


def stands(observation: np.ndarray) -> np.ndarray:
    """On either leg."""
    return (observation[..., 6] > 0) | (observation[..., 7] > 0)


def rests(observation: np.ndarray) -> np.ndarray:
    """On both legs, between the flags, without moving."""
    legs = (observation[..., 6] > 0) & (observation[..., 7] > 0)
    return legs & (np.hypot(observation[..., 2], observation[..., 3]) < 0.05)


@words.event
def land(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """it has come to rest on both legs"""
    return terminated & rests(after)


@words.event
def crash(after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """it hits the ground, or leaves the picture"""
    return terminated & ~rests(after)


@words.event
def touch(before: np.ndarray, after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """a leg touches the ground"""
    return ~stands(before) & stands(after) & ~terminated


@words.event
def lift(before: np.ndarray, after: np.ndarray, terminated: np.ndarray) -> np.ndarray:
    """no leg touches the ground any more"""
    return stands(before) & ~stands(after) & ~terminated


words.exclusive(land, crash, touch, lift)


@words.signal
def closer(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """to the pad"""
    return np.hypot(before[..., 0], before[..., 1]) - np.hypot(after[..., 0], after[..., 1])


@words.signal
def slower(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """by how much its speed has fallen"""
    return np.hypot(before[..., 2], before[..., 3]) - np.hypot(after[..., 2], after[..., 3])


@words.signal
def straighter(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """by how much its tilt has fallen"""
    return np.abs(before[..., 4]) - np.abs(after[..., 4])


@words.signal(low=0, high=1)
def thrust(action: np.ndarray) -> np.ndarray:
    """of the main engine"""
    return np.where(action[..., 0] > 0, (action[..., 0] + 1) / 2, 0.0)


TASK = words.task("LunarLanderContinuous-v3", meaning="land on the pad")
