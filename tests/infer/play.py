"""Rollouts of a policy that acts at random, and demonstrations of the expert."""

from __future__ import annotations

import numpy as np

from srm.domains.envs import gather
from srm.domains.record import record
from srm.domains.tasks import Task, find_task
from srm.trajectory import Demonstrations, Rollout


def demonstrations(task: str, count: int = 10) -> Demonstrations:
    return record(find_task(task), count, seed=0)


def random_rollouts(task: Task, *, rollouts: int, steps: int, worlds: int, seed: int = 0) -> list[Rollout]:
    """Successive rollouts of the same worlds."""
    made, rng = task.make_worlds(worlds, seed), np.random.default_rng(seed)
    views, places = made.reset()
    found = []
    for _ in range(rollouts):
        actions = [rng.integers(0, made.actions, worlds) for _ in range(steps)]
        answers = [made.step(taken) for taken in actions]
        found.append(gather(views, places, actions, answers))
        views, places = answers[-1].views, answers[-1].places
    made.close()
    return found


def uniform(rollout: Rollout) -> np.ndarray:
    """log pi(a|s) of a policy that acts at random."""
    return np.full(rollout.actions.shape, -np.log(7))
