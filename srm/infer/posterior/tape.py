"""The latest steps of some envs, kept across rollouts, so that whole episodes can be shown to the posterior.

    T steps of one rollout   L rollouts kept   B envs kept of those that play

An episode may take several rollouts. What a column shows before its first episode begins is not valid: the machine would meet it
at a node that nobody knows.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from srm.infer.posterior.evidence import Play
from srm.trajectory import Rollout, first_columns, joined, masked

ENVS = 16
STEPS = 640  # kept of each: as many as the longest episode of a small task


class Tape:
    """Remembers; `play` cuts out what begins with an episode."""

    def __init__(self, envs: int, steps: int, kept: int = STEPS) -> None:
        self._envs = min(envs, ENVS)
        self._kept: deque[tuple[Rollout, np.ndarray]] = deque(maxlen=max(1, kept // steps))
        self._begins: deque[np.ndarray] = deque(maxlen=self._kept.maxlen)  # [B] whether each rollout begins an episode
        self._next_begins = np.ones(self._envs, np.bool_)

    def add(self, rollout: Rollout, log_prob: np.ndarray) -> None:
        part = first_columns(rollout, self._envs)
        self._kept.append((part, log_prob[:, : self._envs]))
        self._begins.append(self._next_begins)
        self._next_begins = part.fresh()[-1]

    def play(self, demonstrated_log_prob: np.ndarray) -> Play | None:
        """What is on the tape as one rollout whose columns begin with an episode; None: no episode began within it."""
        rollout = joined([part for part, _ in self._kept])
        log_prob = np.concatenate([log_prob for _, log_prob in self._kept])
        over = rollout.terminated | rollout.truncated
        begun = np.zeros(over.shape, np.bool_)
        begun[0] = self._begins[0]
        begun[1:] = np.logical_or.accumulate(over, axis=0)[:-1]
        begun |= begun[0]
        whole = masked(rollout, begun)
        return Play(whole, log_prob, demonstrated_log_prob) if whole.valid.any() else None
