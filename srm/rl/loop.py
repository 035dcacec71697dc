"""Learn for a number of frames. It yields rounds; the caller logs, draws progress, saves and stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srm.rl.learner import Learner, NotFinite, Pay
from srm.rl.rollout import Batch
from srm.trajectory import Rollout


@dataclass(frozen=True, eq=False)
class Round:
    """One rollout and what was learnt from it."""

    index: int
    frames: int  # since the beginning of the run
    rollout: Rollout
    paid: float  # mean pay of a real step
    losses: dict[str, float]


def train(learner: Learner, payer: Pay, frames: int) -> Iterator[Round]:
    """Until the learner has played so many frames."""
    while learner.frames < frames:
        # Play
        batch = learner.collect()
        valid = batch.rollout.valid

        # Pay
        pay = payer(batch)
        if not np.isfinite(pay[valid]).all():
            raise NotFinite("the pay is not finite")

        # Learn
        losses = learner.update(batch, pay)
        yield Round(learner.rounds, learner.frames, batch.rollout, float(pay[valid].mean()), losses)


def task_pay(batch: Batch) -> np.ndarray:
    """What the task itself pays."""
    return batch.rollout.task_reward
