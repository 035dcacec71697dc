"""The episodes that ended in a rollout: their return, length, and whether they were solved.

Return is the task's own reward, whatever the learner was paid. An episode with any of it is solved, unless somebody else says which are.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from srm.trajectory import Mask, Rollout


@dataclass(frozen=True, eq=False)
class Episodes:
    """[E] of each, in order of env and step."""

    env: np.ndarray
    total: np.ndarray  # the return
    length: np.ndarray
    solved: np.ndarray

    def __len__(self) -> int:
        return len(self.env)


class EpisodeBook:
    """Follows consecutive rollouts of the same envs, in which an episode may take several."""

    def __init__(self, num_envs: int) -> None:
        self._total, self._length = np.zeros(num_envs), np.zeros(num_envs, np.int64)  # so far, of the episode under way

    def read(self, rollout: Rollout, solved: Mask | None = None) -> Episodes:
        """Those that ended in this rollout; `solved` [T, B] says at their last step which are."""
        total = self._total + np.cumsum(rollout.task_reward * rollout.valid, axis=0, dtype=np.float64)  # [T, B]
        length = self._length + np.cumsum(rollout.valid, axis=0)
        env, step = np.nonzero((rollout.terminated | rollout.truncated).T)
        follows = np.zeros(len(env), np.bool_)  # another episode of the same env in this rollout
        follows[1:] = env[1:] == env[:-1]
        at_end = [sums[step, env] for sums in (total, length)]
        before = [np.where(follows, np.roll(sums, 1), 0) for sums in at_end]
        self._total, self._length = total[-1], length[-1]
        for carried, sums in zip((self._total, self._length), at_end, strict=True):
            last = np.append(env[1:] != env[:-1], True)[: len(env)]
            carried[env[last]] -= sums[last]
        returns = at_end[0] - before[0]
        return Episodes(env, returns, at_end[1] - before[1], returns > 0 if solved is None else solved[step, env])


WINDOW = 100


def of_few(counted: int) -> str:
    """What is said after a mean of fewer episodes than a curve averages: those that end first are the short ones, and solved."""
    return "" if counted in (0, WINDOW) else " of 1 episode" if counted == 1 else f" of {counted} episodes"


class Recent:
    """The last hundred episodes, for a curve that can be read."""

    def __init__(self, size: int = WINDOW, past: list[list[float]] | None = None) -> None:
        # [return, length, solved]; checkpoints of version 0.2 have the first two
        rows = [[*row, float(row[0] > 0)][:3] for row in past or []]
        self._last: deque[list[float]] = deque(rows, maxlen=size)

    def add(self, episodes: Episodes) -> None:
        rows = np.stack([episodes.total, episodes.length, episodes.solved], axis=1, dtype=np.float64)
        self._last.extend(rows.tolist())

    def means(self) -> dict[str, float]:
        """NaN before the first episode has ended."""
        if not self._last:
            return {"return": math.nan, "success": math.nan, "length": math.nan}
        total, length, solved = np.array(self._last).mean(axis=0).tolist()
        return {"return": total, "success": solved, "length": length}

    def summary(self) -> dict[str, float | int | None]:
        """The means as `json` can write them, and of how many episodes they are."""
        means = {name: None if np.isnan(value) else value for name, value in self.means().items()}
        return {**means, "episodes": self.counted}

    def reached(self, goal: float | None) -> bool:
        """Whether as many episodes as are kept have this mean return."""
        return goal is not None and len(self._last) == self._last.maxlen and self.means()["return"] >= goal

    @property
    def counted(self) -> int:
        return len(self._last)

    def past(self) -> list[list[float]]:
        """What a checkpoint keeps."""
        return list(self._last)
