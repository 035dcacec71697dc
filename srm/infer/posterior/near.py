"""Rivals near the demonstrators: who does what was demonstrated where it looked most alike, and slips now and then.

    N demonstrated steps   F numbers of an observation   B envs

Random play is a weak rival: nearly any weights let demonstrators out-earn it. Whoever does nearly what they do, and somewhat worse, says
more: what the slips cost must cost something. Nothing is trained for it; the nearest demonstrated observation decides.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from srm.domains.base import Task
from srm.domains.envs import gather
from srm.infer.posterior.evidence import Play
from srm.seeding import stream
from srm.trajectory import Observations, Rollout, plain_arrays

NOISE = (0.1, 0.3)  # shares of the actions that are random; `python -m benchmarks.dense` compares
ENVS = 16


class NearestStep:
    """The action that was demonstrated where the observation was nearest, each number measured by its spread."""

    def __init__(self, demonstrated: Rollout) -> None:
        seen = _numbers(demonstrated.observations[:-1][demonstrated.valid])  # [N, F]
        spread = seen.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        self._actions = demonstrated.actions[demonstrated.valid]
        self._tree = cKDTree(seen / self._scale)

    def __call__(self, observations: Observations) -> np.ndarray:
        """[B] of observations [B, ...]."""
        _, nearest = self._tree.query(_numbers(observations) / self._scale)
        return self._actions[nearest]


def _numbers(observations: Observations) -> np.ndarray:
    """[N, F]."""
    parts = [part.reshape(len(part), -1).astype(np.float64) for _, part in plain_arrays(observations)]
    return np.concatenate(parts, axis=1)


def noisy_play(task: Task, demonstrated: Rollout, noise: float, seed: int, steps: int) -> Play:
    """Play by the nearest demonstrated step, of whose actions the share `noise` is random. It is for averages, which read no
    log-probabilities."""
    act, rng = NearestStep(demonstrated), stream(seed, f"noise {noise}")
    envs = task.make_envs(ENVS, seed)
    try:
        observations, poses = envs.reset()
        before, actions, answers = observations, [], []
        for _ in range(steps):
            slips = rng.random(envs.count) < noise
            action = act(before)
            action[slips] = envs.action_space.draw(rng, envs.count)[slips]
            answers.append(envs.step(action))
            actions.append(action)
            before = answers[-1].observations
    finally:
        envs.close()
    rollout = gather(observations, poses, actions, answers)
    return Play(rollout, np.zeros(rollout.valid.shape), np.zeros(demonstrated.valid.shape))
