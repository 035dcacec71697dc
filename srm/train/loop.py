"""Learn for a number of frames. It yields rounds; the caller logs, draws progress, saves and stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srm.train.learner import Learner, NotFinite, Pay
from srm.trajectory import Rollout


@dataclass(frozen=True, eq=False)
class Round:
    """One rollout and what was learnt from it."""

    index: int
    frames: int  # since the beginning of the run
    rollout: Rollout
    paid: float  # mean pay of a real step
    losses: dict[str, float]


def train(learner: Learner, pay: Pay, frames: int) -> Iterator[Round]:
    """Until the learner has played so many frames."""
    while learner.frames < frames:
        rollout = learner.collect()
        paid = pay(rollout)
        if not np.isfinite(paid[rollout.real]).all():
            raise NotFinite("the pay is not finite")
        losses = learner.update(rollout, paid)
        yield Round(learner.rounds, learner.frames, rollout, float(paid[rollout.real].mean()), losses)


def task_pay(rollout: Rollout) -> np.ndarray:
    """What the task itself pays."""
    return rollout.task_reward
