"""The latest steps of some envs, kept across rollouts, so that whole episodes can be shown to the posterior.

    T steps of one rollout   L rollouts kept   B envs kept of those that play

An episode may take several rollouts. What a column shows before its first episode begins is not valid: the machine would meet it
at a node that nobody knows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from srm.infer.posterior.evidence import Play
from srm.trajectory import Rollout

ENVS = 16
STEPS = 640  # kept of each: as many as the longest episode of a small task


class Tape:
    """Remembers; `play` cuts out what begins with an episode."""

    def __init__(self, envs: int, steps: int) -> None:
        self._envs = min(envs, ENVS)
        self._kept: deque[tuple[Rollout, np.ndarray]] = deque(maxlen=max(1, STEPS // steps))
        self._begins: deque[np.ndarray] = deque(maxlen=self._kept.maxlen)  # [B] whether each rollout begins an episode
        self._next_begins = np.ones(self._envs, np.bool_)

    def add(self, rollout: Rollout, log_prob: np.ndarray) -> None:
        part = columns(rollout, self._envs)
        self._kept.append((part, log_prob[:, : self._envs]))
        self._begins.append(self._next_begins)
        self._next_begins = (part.ended | part.cut)[-1] & part.real[-1]

    def play(self, demonstrated_log_prob: np.ndarray) -> Play | None:
        """What is on the tape as one rollout whose columns begin with an episode; None: no episode began within it."""
        rollout = joined([part for part, _ in self._kept])
        log_prob = np.concatenate([log_prob for _, log_prob in self._kept])
        over = rollout.ended | rollout.cut
        begun = np.zeros(over.shape, np.bool_)
        begun[0] = self._begins[0]
        begun[1:] = np.logical_or.accumulate(over, axis=0)[:-1]
        begun |= begun[0]
        valid = rollout.real & begun
        if not valid.any():
            return None
        shown = replace(rollout, real=valid, ended=rollout.ended & valid, cut=rollout.cut & valid)
        return Play(shown, log_prob, demonstrated_log_prob)


def columns(rollout: Rollout, count: int) -> Rollout:
    """The rollout of the first `count` envs alone."""
    kept = rollout.final_world < count
    return Rollout(
        rollout.views[:, :count],
        rollout.actions[:, :count],
        rollout.places[:, :count],
        rollout.task_reward[:, :count],
        rollout.ended[:, :count],
        rollout.cut[:, :count],
        rollout.real[:, :count],
        rollout.final_step[kept],
        rollout.final_world[kept],
        rollout.final_views[kept],
        rollout.final_places[kept],
    )


def joined(rollouts: list[Rollout]) -> Rollout:
    """Successive rollouts of the same envs as one."""
    lengths = np.cumsum([0] + [rollout.steps for rollout in rollouts[:-1]])
    last = rollouts[-1]
    finals = [rollout for rollout in rollouts if len(rollout.final_step)]
    offsets = [offset for offset, rollout in zip(lengths, rollouts, strict=True) if len(rollout.final_step)]
    return Rollout(
        np.concatenate([*(rollout.views[:-1] for rollout in rollouts), last.views[-1:]]),
        np.concatenate([rollout.actions for rollout in rollouts]),
        np.concatenate([*(rollout.places[:-1] for rollout in rollouts), last.places[-1:]]),
        np.concatenate([rollout.task_reward for rollout in rollouts]),
        np.concatenate([rollout.ended for rollout in rollouts]),
        np.concatenate([rollout.cut for rollout in rollouts]),
        np.concatenate([rollout.real for rollout in rollouts]),
        *(
            (
                np.concatenate([r.final_step + offset for r, offset in zip(finals, offsets, strict=True)]).astype(
                    np.int32
                ),
                np.concatenate([r.final_world for r in finals]),
                np.concatenate([r.final_views for r in finals]),
                np.concatenate([r.final_places for r in finals]),
            )
            if finals
            else ()
        ),
    )
