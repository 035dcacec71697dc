"""A learner that somebody else has written, in the place of ours: four methods are enough.

    frames                  valid steps played so far
    collect()               -> a batch with `rollout` and `log_prob` [T, B] (None: not known)
    update(batch, pay)      learns from the batch collected last and what it was paid [T, B] -> losses by name
    log_probs(rollout)      log pi(a|s) [T, B] along any rollout, or None

Whatever else it has is used: `act(observations)` lets a run play whole episodes with it, `player(envs, seed)` and `actor(seed)` do the
same for one that remembers, `tensors()` and `load(tensors)` let a run be saved and resumed, and `repay(pay)` is given what all
that it remembers should be paid, whenever that has changed (`remembers` is how many steps of each env that is).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from srm.domains.envs import Envs
from srm.domains.play import OpenEnvs
from srm.domains.record import Act
from srm.errors import RunError
from srm.rl.evaluation import WHOLE_STEPS, EnvPlayer, play_whole
from srm.trajectory import Observations, Rollout

MakeLearner = Callable[[OpenEnvs, int], Any]  # environments and a seed -> a learner with the four methods
METHODS = ("collect", "update", "log_probs")


@dataclass(frozen=True, eq=False)
class PlayedBatch:
    """A rollout, and how likely the policy found what it did, if it knows."""

    rollout: Rollout
    log_prob: np.ndarray | None = None


class ActPlayer:
    """Plays envs by a function from observations to actions."""

    def __init__(self, envs: Envs, act: Callable[[Observations], np.ndarray]) -> None:
        self.envs, self._act, self._open = envs, act, OpenEnvs(envs)

    def collect(self, greedy: bool = False) -> PlayedBatch:
        return PlayedBatch(self._open.rollout(self._act, WHOLE_STEPS))


class ForeignLearner:
    """A learner of somebody else's, as a run needs it."""

    def __init__(self, learner: Any, envs: Any, num_steps: int = WHOLE_STEPS) -> None:
        absent = [name for name in METHODS if not callable(getattr(learner, name, None))]
        if absent or not hasattr(learner, "frames"):
            raise RunError(
                f"{type(learner).__name__} has no {' and no '.join(absent or ['frames'])}; "
                "a learner has frames, collect, update and log_probs (docs/learners.md)"
            )
        self.learner, self.envs, self.rounds, self.num_steps = learner, envs, 0, num_steps

    @property
    def frames(self) -> int:
        return int(self.learner.frames)

    @frames.setter
    def frames(self, frames: int) -> None:
        self.learner.frames = frames

    def collect(self) -> Any:
        batch = self.learner.collect()
        if not isinstance(getattr(batch, "rollout", None), Rollout) or not hasattr(batch, "log_prob"):
            raise RunError(
                f"{type(self.learner).__name__}.collect returned {type(batch).__name__}; it must have `rollout`, of "
                "srm.rollout(envs, act), and `log_prob`"
            )
        self.rounds += 1
        return batch

    def update(self, batch: Any, pay: np.ndarray) -> dict[str, float]:
        return {name: float(value) for name, value in (self.learner.update(batch, pay) or {}).items()}

    def log_probs(self, rollout: Rollout) -> np.ndarray | None:
        known: np.ndarray | None = self.learner.log_probs(rollout)
        return known

    # Memory

    @property
    def remembers(self) -> int:
        """Steps of each env that it learns from again and again."""
        return int(getattr(self.learner, "remembers", 0))

    def repay(self, pay: np.ndarray) -> None:
        """What the last steps that it remembers should be paid, [N, B]."""
        self.learner.repay(pay)

    # Play

    def player(self, envs: Envs, seed: int) -> EnvPlayer | None:
        """None: it cannot play but in envs of its own."""
        if hasattr(self.learner, "player"):
            made: EnvPlayer = self.learner.player(envs, seed)
            return made
        return ActPlayer(envs, self.learner.act) if hasattr(self.learner, "act") else None

    @contextmanager
    def acting(self, seed: int) -> Iterator[Act | None]:
        """None: it can play nowhere but in envs of its own."""
        if hasattr(self.learner, "actor"):
            yield self.learner.actor(seed)
        else:
            yield self._act if hasattr(self.learner, "act") else None

    def _act(self, observations: Sequence[Observations]) -> Any:
        return self.learner.act(np.asarray(observations[-1])[None])[0]

    def play_whole(self, envs: Envs, seed: int) -> tuple[Rollout, np.ndarray | None]:
        player = self.player(envs, seed)
        if player is not None:
            return play_whole(player)
        batch = self.learner.collect()
        return batch.rollout, batch.log_prob

    # Files

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.learner.tensors()) if hasattr(self.learner, "tensors") else {}

    def weights(self) -> dict[str, Tensor]:
        return self.tensors()

    def load(self, tensors: Mapping[str, Tensor], frames: int, rounds: int) -> None:
        if not hasattr(self.learner, "load"):
            raise RunError(
                f"{type(self.learner).__name__} has no tensors() and load(tensors), so its runs cannot be resumed"
            )
        self.learner.load(tensors)
        self.frames, self.rounds = frames, rounds
