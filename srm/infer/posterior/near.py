"""Rivals near the demonstrators: who does what was demonstrated where it looked most alike, and slips now and then.

    N demonstrated steps   F numbers of an observation   B envs

Random play is a weak rival: nearly any weights let demonstrators out-earn it. Whoever does nearly what they do, and somewhat worse, says
more. One slips into random actions, which costs what care is worth; another has a habit and slips into the same action again and again,
which costs what that action costs. Nothing is trained for it: the nearest demonstrated observation decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from srm.domains.base import Task
from srm.domains.envs import Envs, gather
from srm.infer.posterior.evidence import Play
from srm.seeding import stream
from srm.trajectory import Actions, Observations, Rollout, plain_arrays

SLIPS = (0.1, 0.3)  # shares of the actions that are random; `python -m benchmarks.dense` compares
HABIT = 0.2  # the share of one habitual action
MOST_HABITS = 4
ENVS = 8


class NearestStep:
    """The action that was demonstrated where the observation was nearest, each number measured by its spread."""

    def __init__(self, demonstrated: Rollout) -> None:
        seen = _numbers(demonstrated.observations[:-1][demonstrated.valid])  # [N, F]
        spread = seen.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        self._actions = demonstrated.actions[demonstrated.valid]
        self._tree = cKDTree(seen / self._scale)

    def __call__(self, observations: Observations) -> Actions:
        """[B, ...] of observations [B, ...]."""
        _, nearest = self._tree.query(_numbers(observations) / self._scale)
        return self._actions[nearest]


def _numbers(observations: Observations) -> np.ndarray:
    """[N, F]."""
    parts = [part.reshape(len(part), -1).astype(np.float64) for _, part in plain_arrays(observations)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Slip:
    """How often somebody does something else, and what: any action if none is given."""

    share: float
    action: Actions | None = None  # [...]

    def mixed(self, actions: Actions, envs: Envs, rng: np.random.Generator) -> Actions:
        slips = rng.random(len(actions)) < self.share
        others = envs.action_space.draw(rng, len(actions)) if self.action is None else self.action
        mixed = actions.copy()
        mixed[slips] = np.broadcast_to(others, actions.shape)[slips]
        return mixed


def near_plays(task: Task, demonstrated: Rollout, seed: int, steps: int) -> list[Play]:
    """Each of these rivals plays so many steps in a few envs. They are for averages, which read no log-probabilities."""
    act, rng = NearestStep(demonstrated), stream(seed, "rivals")
    envs = task.make_envs(ENVS, seed)
    try:
        habits = np.unique(envs.action_space.draw(rng, 4 * MOST_HABITS), axis=0)
        chosen = rng.permutation(len(habits))[:MOST_HABITS]
        slips = [*map(Slip, SLIPS), *(Slip(HABIT, habits[i]) for i in chosen)]
        return [_play(envs, act, slip, demonstrated, rng, steps) for slip in slips]
    finally:
        envs.close()


def _play(
    envs: Envs, act: NearestStep, slip: Slip, demonstrated: Rollout, rng: np.random.Generator, steps: int
) -> Play:
    observations, poses = envs.reset()
    before, actions, answers = observations, [], []
    for _ in range(steps):
        actions.append(slip.mixed(act(before), envs, rng))
        answers.append(envs.step(actions[-1]))
        before = answers[-1].observations
    rollout = gather(observations, poses, actions, answers)
    return Play(rollout, np.zeros(rollout.valid.shape), np.zeros(demonstrated.valid.shape))
