"""Learn for a number of frames. It yields rounds; the caller logs, draws progress, saves and stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srm.train.episodes import EpisodeBook, Episodes
from srm.train.learner import Learner, NotFinite, Pay
from srm.train.rollout import Batch
from srm.trajectory import Rollout


@dataclass(frozen=True, eq=False)
class TrainRound:
    """One rollout and what was learnt from it."""

    index: int
    frames: int  # since the beginning of the run
    rollout: Rollout
    paid: float  # mean pay of a real step
    episodes: Episodes  # those that ended in it
    losses: dict[str, float]


def train(learner: Learner, payer: Pay, frames: int) -> Iterator[TrainRound]:
    """Until the learner has played so many frames."""
    book = EpisodeBook(learner.player.envs.count)
    while learner.frames < frames:
        # Play
        batch = learner.collect()
        rollout = batch.rollout

        # Pay
        pay = payer(batch)
        if not np.isfinite(pay[rollout.real]).all():
            raise NotFinite(f"round {learner.rounds}: the pay is not finite")

        # Learn
        try:
            losses = learner.update(batch, pay)
        except NotFinite as problem:
            raise NotFinite(f"round {learner.rounds}: {problem}") from None
        mean_pay = float(pay[rollout.real].mean())
        yield TrainRound(learner.rounds, learner.frames, rollout, mean_pay, book.read(rollout), losses)


def task_pay(batch: Batch) -> np.ndarray:
    """What the task itself pays."""
    return batch.rollout.task_reward
