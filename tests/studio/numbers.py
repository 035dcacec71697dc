"""A task whose actions are numbers, so that no keys can play it."""

from __future__ import annotations

import numpy as np

import srm

words = srm.Vocabulary("pendulum")


@words.signal(low=0)
def tilt(after):
    """how far the rod is from upright"""
    return 1 - after[..., 0]


@words.event
def upright(after):
    """the rod stands"""
    return np.asarray(after[..., 0] > 0.99)


TASK = words.task("Pendulum-v1", meaning="swing the rod up")
MACHINE = """\
machine rod
words pendulum
holes ?lean in -1 .. 0 ?stand in 0 .. 1
start swinging
    upright    // ?stand
    otherwise  // ?lean * tilt
"""
