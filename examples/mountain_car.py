"""Gymnasium's MountainCar: a signal, a hole in a guard, and success that no reward tells.

    srm demo examples.mountain_car:TASK -n 10 -o car.npz
    srm infer examples.mountain_car:TASK --machine examples/mountain_car.srm --demos car.npz

The engine is too weak for the hill: the car has to swing. The task pays -1 a step until the flag is reached, so that a
return is never above 0. docs/mountain_car.md walks through this file.
"""

from __future__ import annotations

import numpy as np

import srm

PUSH_LEFT, COAST, PUSH_RIGHT = range(3)

words = srm.Vocabulary("mountain_car")


@words.event
def reach_flag(terminated: np.ndarray) -> np.ndarray:
    """the flag on the right hill is reached"""
    return terminated  # by nothing else


@words.signal(low=0.1, high=1)
def height(after: np.ndarray) -> np.ndarray:
    """how high the car is: 0.1 in the valley, 1 at the flag"""
    return 0.45 * np.sin(3 * after[..., 0]) + 0.55


words.once(reach_flag)


def drive(observation: np.ndarray) -> int:
    """Pushes the way the car rolls."""
    return PUSH_RIGHT if observation[1] >= 0 else PUSH_LEFT


TASK = words.task("MountainCar-v0", meaning="swing up the hill to the flag", expert=drive, success=reach_flag)
