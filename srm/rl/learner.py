"""What every learner is: two verbs, and what is needed to stop and go on.

    collect() -> Batch                            the policy plays T steps of B envs
    update(batch, pay [T, B]) -> losses by name   it learns from what that play was paid, whoever pays

A learner never learns what a machine is: the task's reward, a machine, GAIL and RIDE differ by `pay` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from srm.domains.envs import Envs
from srm.domains.record import Act
from srm.domains.spaces import Choice, describe
from srm.errors import RunError, TaskError
from srm.rl.actor import Actor
from srm.rl.evaluation import WHOLE_STEPS, play_whole
from srm.rl.optimise import Optimiser
from srm.rl.rollout import Batch, Player, log_probs_along
from srm.rl.saved import load_weights
from srm.rl.visits import Visits
from srm.seeding import stream
from srm.trajectory import Rollout

Pay = Callable[[Batch], np.ndarray]  # -> [T, B]; most read `batch.rollout` alone


class RunLearner(Protocol):
    """What a run needs of a learner, whoever has written it (`srm.rl.foreign`)."""

    frames: int
    rounds: int

    @property
    def envs(self) -> Envs: ...

    @property
    def num_steps(self) -> int: ...

    def collect(self) -> Any: ...

    def update(self, batch: Any, pay: np.ndarray) -> dict[str, float]: ...

    def log_probs(self, rollout: Rollout) -> np.ndarray | None: ...

    def tensors(self) -> dict[str, Tensor]: ...

    def load(self, tensors: Mapping[str, Tensor], frames: int, rounds: int) -> None: ...

    def weights(self) -> dict[str, Tensor]: ...

    def acting(self, seed: int) -> AbstractContextManager[Act | None]: ...

    def play_whole(self, envs: Envs, seed: int) -> tuple[Rollout, np.ndarray | None]: ...


class Learner(ABC):
    """Plays, learns and can be saved. How it learns is up to `update`."""

    def __init__(
        self,
        player: Player,
        modules: Mapping[str, nn.Module],
        optimisers: Mapping[str, Optimiser],
        seed: int,
        visits: Visits | None = None,
    ) -> None:
        self.player, self.net = player, player.net
        self.frames = 0  # valid steps played
        self.rounds = 0  # batches collected
        self._modules = {"net": player.net, **modules}
        self._optimisers = dict(optimisers)
        self._seed = seed
        self._visits = visits

    @abstractmethod
    def update(self, batch: Batch, pay: np.ndarray) -> dict[str, float]:
        """Learns from a batch that was collected with the weights as they are, and what it was paid, [T, B]."""

    def collect(self) -> Batch:
        """The next T steps of every env, which continue those of the batch before."""
        batch = self.player.collect()
        if self._visits is not None:
            batch = replace(batch, visits=self._visits.count(batch.rollout))
        self.frames += int(batch.rollout.valid.sum())
        self.rounds += 1
        return batch

    def log_probs(self, rollout: Rollout) -> np.ndarray:
        """log pi(a|s) [T, B] of the policy as it is now, along any rollout; 0 where a step is not valid.

        Every env's first observation is taken to begin an episode. (What this learner played itself: `Batch.log_prob`.)
        """
        return log_probs_along(self.net, rollout)

    # What a run asks for besides

    @property
    def envs(self) -> Envs:
        return self.player.envs

    @property
    def num_steps(self) -> int:
        """T."""
        return self.player.num_steps

    def weights(self) -> dict[str, Tensor]:
        """The policy's own, by name."""
        return {f"net.{name}": value for name, value in self.net.state_dict().items()}

    @contextmanager
    def acting(self, seed: int) -> Iterator[Act]:
        """Somebody who plays one environment by the policy as it is."""
        with self.net.fixed():
            yield Actor(self.net, seed)

    def play_whole(self, envs: Envs, seed: int) -> tuple[Rollout, np.ndarray | None]:
        """The first episodes of each env, and the log-probabilities [T, B] of what was done in them."""
        return play_whole(Player(envs, self.net, WHOLE_STEPS, seed))

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed, by name, for a checkpoint."""
        weights = {
            f"{part}.{name}": value
            for part, module in self._modules.items()
            for name, value in module.state_dict().items()
        }
        return weights | {
            f"{part}.{name}": value
            for part, optimiser in self._optimisers.items()
            for name, value in optimiser.tensors().items()
        }

    def load(self, tensors: Mapping[str, Tensor], frames: int, rounds: int) -> None:
        """Goes on where a learner of the same shape was saved, with new episodes."""
        for part, module in self._modules.items():
            load_weights(module, part, tensors)
        for part, optimiser in self._optimisers.items():
            optimiser.load(part, tensors)
        self.frames, self.rounds = frames, rounds
        self.player.start_at(rounds)

    def _rng(self, purpose: str) -> np.random.Generator:
        return stream(self._seed, f"{purpose} {self.rounds}")


def number_of_actions(envs: Envs, learner: str) -> int:
    """How many there are to choose one from, which some learners cannot do without."""
    if not isinstance(envs.action_space, Choice):
        raise TaskError(
            f"--learner {learner} needs one of several actions at a step (Discrete), those of {envs.env_id} are "
            f"{describe(envs.action_space.dtype, envs.action_space.shape)}; use --learner ppo"
        )
    return envs.action_space.count


def weights_seed(seed: int) -> int:
    """What the first weights of a run are drawn from."""
    return int(stream(seed, "weights").integers(2**63))


class Means:
    """The mean of each loss over the gradient steps of an update. A loss that is not finite stops the run."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, losses: Mapping[str, Tensor | float]) -> None:
        for name, loss in losses.items():
            value = loss if isinstance(loss, float) else loss.item()
            if not np.isfinite(value):
                raise NotFinite(f"{name} is {value}")
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        return {name: total / self._counts[name] for name, total in self._sums.items()}


class NotFinite(RunError):
    """Learning has diverged."""
