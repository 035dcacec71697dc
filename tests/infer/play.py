"""Rollouts of a policy that acts at random, and demonstrations of the expert."""

from __future__ import annotations

import numpy as np

from srm.domains.base import Task
from srm.domains.envs import gather
from srm.domains.minigrid.envs import GridEnvs
from srm.domains.record import record
from srm.domains.spaces import Spaces
from srm.domains.tasks import find_task
from srm.trajectory import Demonstrations, Rollout

MINIGRID = Spaces(GridEnvs.observation_space, GridEnvs.action_space)


def demonstrations(task: str, count: int = 10) -> Demonstrations:
    return record(find_task(task), count, seed=0)


def random_rollouts(task: Task, *, rollouts: int, steps: int, envs: int, seed: int = 0) -> list[Rollout]:
    """Successive rollouts of the same envs."""
    made, rng = task.make_envs(envs, seed), np.random.default_rng(seed)
    observations, poses = made.reset()
    found = []
    for _ in range(rollouts):
        actions = [rng.integers(0, made.action_space.count, envs) for _ in range(steps)]
        answers = [made.step(taken) for taken in actions]
        found.append(gather(observations, poses, actions, answers))
        observations, poses = answers[-1].observations, answers[-1].poses
    made.close()
    return found


def uniform(rollout: Rollout) -> np.ndarray:
    """log pi(a|s) of a policy that acts at random."""
    return np.full(rollout.actions.shape, -np.log(7))
