"""How well a policy does: episodes played for the record alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from srm.domains.envs import Envs
from srm.rl.episodes import EpisodeBook, Episodes
from srm.rl.nn.nets import Net
from srm.rl.rollout import Player
from srm.seeding import stream
from srm.trajectory import Mask, Rollout, joined, masked

DRAWS = 2000
WHOLE_ENVS, EPISODES = 32, 4  # so many whole episodes of each: the first to end anywhere would be the short ones
WHOLE_STEPS, MOST_STEPS = 128, 4096  # of a rollout, and in all
COLUMNS = ("env", "total", "length", "solved")  # of episodes


class PlayerBatch(Protocol):
    """What a player did."""

    @property
    def rollout(self) -> Rollout: ...

    @property
    def log_prob(self) -> np.ndarray | None: ...


class EnvPlayer(Protocol):
    """B envs, played by somebody."""

    @property
    def envs(self) -> Envs: ...

    def collect(self, greedy: bool = False) -> PlayerBatch:
        """The next T steps of every env."""
        ...


def evaluate(
    net: Net,
    envs: Envs,
    episodes: int,
    *,
    greedy: bool,
    seed: int,
    num_steps: int = 128,
    judge: Callable[[Rollout], Mask | None] = lambda _: None,
) -> Episodes:
    """What a network does."""
    return first_episodes(Player(envs, net, num_steps, seed), episodes, greedy=greedy, judge=judge)


def first_episodes(
    player: EnvPlayer, episodes: int, *, greedy: bool, judge: Callable[[Rollout], Mask | None] = lambda _: None
) -> Episodes:
    """The first episodes of each env, the same number of each (or one more).

    An env's quota counts, not the first to end anywhere: those would be the short ones. `judge` sees every rollout, and may say which
    episodes are solved, as `EpisodeBook.read` takes it.
    """
    count = player.envs.count
    quota = np.full(count, episodes // count)
    quota[: episodes % count] += 1
    book = EpisodeBook(count)
    parts: list[Episodes] = []
    while (quota > 0).any():
        rollout = player.collect(greedy).rollout
        finished = book.read(rollout, judge(rollout))
        counted = _rank(finished.env) < quota[finished.env]
        np.subtract.at(quota, finished.env[counted], 1)
        parts.append(Episodes(*(getattr(finished, name)[counted] for name in COLUMNS)))
    return Episodes(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))


def _rank(sorted_groups: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... within each run of equal numbers."""
    starts = np.flatnonzero(np.append(True, sorted_groups[1:] != sorted_groups[:-1]))[: len(sorted_groups)]
    lengths = np.diff(np.append(starts, len(sorted_groups)))
    return np.arange(len(sorted_groups)) - np.repeat(starts, lengths)


@dataclass(frozen=True)
class IntervalEstimate:
    """A mean and the 95 % interval it lies in."""

    mean: float
    low: float
    high: float

    def __format__(self, digits: str) -> str:
        return f"{self.mean:{digits}} [{self.low:{digits}}, {self.high:{digits}}]"


def mean_estimate(values: np.ndarray) -> IntervalEstimate:
    """Percentiles of means of bootstrap draws, which stay among the values; a single one has no spread, and is its own interval."""
    rng = stream(0, "bootstrap of a trial")
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return IntervalEstimate(float(values.mean()), float(low), float(high))


def share_estimate(hits: np.ndarray) -> IntervalEstimate:
    """Wilson's interval, which stays within 0 and 1 and has a width even when all or none hit."""
    n, p, z = len(hits), float(hits.mean()), 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return IntervalEstimate(p, max(0.0, middle - half), min(1.0, middle + half))  # rounding may leave them by a hair


def play_whole(player: EnvPlayer) -> tuple[Rollout, np.ndarray | None]:
    """The first episodes of each env, and the log-probabilities [T, B] of what the policy did in them, if it knows any."""
    rollouts: list[Rollout] = []
    log_probs: list[np.ndarray] = []
    episodes = np.zeros(player.envs.count, np.int64)  # finished, of each env
    while (episodes < EPISODES).any() and len(rollouts) * WHOLE_STEPS < MOST_STEPS:
        batch = player.collect()
        rollouts.append(batch.rollout)
        log_probs += [] if batch.log_prob is None else [batch.log_prob]
        episodes += (batch.rollout.terminated | batch.rollout.truncated).sum(axis=0)
    return _first_episodes(joined(rollouts)), np.concatenate(log_probs) if log_probs else None


def _first_episodes(rollout: Rollout) -> Rollout:
    """The rollout with what comes after each env's first episodes left out."""
    over = rollout.terminated | rollout.truncated
    return masked(rollout, np.less(np.cumsum(over, axis=0) - over, EPISODES))
