"""Gymnasium's Acrobot: two links that hang from a pivot, and only the joint between them has a motor.

    srm demo examples.acrobot:TASK -n 10 -o acrobot.npz
    srm learn examples.acrobot:TASK --machine examples/acrobot.srm --demos acrobot.npz

docs/acrobot.md walks through this file.
"""

from __future__ import annotations

import numpy as np

import srm

words = srm.Vocabulary("acrobot")
COS_1, SIN_1, COS_2, SIN_2, SPIN_1, SPIN_2 = range(6)  # what is observed of the two joints
PUSH_BACK, REST, PUSH = range(3)


@words.signal(low=-2, high=2)
def height(after: np.ndarray) -> np.ndarray:
    """of the free end over the pivot, in lengths of a link: -2 where it hangs; the line is at 1"""
    bent = after[..., COS_1] * after[..., COS_2] - after[..., SIN_1] * after[..., SIN_2]
    return -after[..., COS_1] - bent


@words.event
def cross_line(terminated: np.ndarray) -> np.ndarray:
    """the free end swings over the line"""
    return terminated


words.running_max(height, "best")
words.once(cross_line)


def swing(observation: np.ndarray) -> int:
    """Pushes the way the first link swings."""
    return PUSH if observation[SPIN_1] < 0 else PUSH_BACK


TASK = words.task("Acrobot-v1", meaning="swing the free end over the line", expert=swing, success=cross_line)
