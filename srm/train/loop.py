"""Learn for a number of frames. It yields rounds; the caller logs, draws progress, saves and stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srm.train.episodes import EpisodeBook, Episodes
from srm.train.learner import Learner, NotFinite, Pay
from srm.trajectory import Rollout


@dataclass(frozen=True, eq=False)
class Round:
    """One rollout and what was learnt from it."""

    index: int
    frames: int  # since the beginning of the run
    rollout: Rollout
    paid: float  # mean pay of a real step
    episodes: Episodes  # those that ended in it
    losses: dict[str, float]


def train(learner: Learner, pay: Pay, frames: int) -> Iterator[Round]:
    """Until the learner has played so many frames."""
    book = EpisodeBook(learner.player.worlds.count)
    while learner.frames < frames:
        rollout = learner.collect()
        paid = pay(rollout)
        if not np.isfinite(paid[rollout.real]).all():
            raise NotFinite(f"round {learner.rounds}: the pay is not finite")
        try:
            losses = learner.update(rollout, paid)
        except NotFinite as problem:
            raise NotFinite(f"round {learner.rounds}: {problem}") from None
        yield Round(
            learner.rounds,
            learner.frames,
            rollout,
            float(paid[rollout.real].mean()),
            book.read(rollout),
            losses,
        )


def task_pay(rollout: Rollout) -> np.ndarray:
    """What the task itself pays."""
    return rollout.task_reward
