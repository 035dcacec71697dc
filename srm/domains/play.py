"""Envs and where they are: successive rollouts of them continue each other.

    envs = srm.envs("doorkey", 16, seed=0)
    rollout = srm.rollout(envs, act)           act: observations [B, ...] -> actions [B]

Whoever writes a learner of their own needs nothing else to play.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from srm.domains.envs import Envs, gather
from srm.errors import TaskError
from srm.trajectory import Mask, Observations, Rollout

STEPS = 128

ActOnAll = Callable[[Observations], np.ndarray]  # what B envs observe -> what is done in each


class OpenEnvs:
    """B envs with an episode under way in each."""

    def __init__(self, envs: Envs) -> None:
        self.envs, self.count = envs, envs.count
        self.action_space, self.observation_space = envs.action_space, envs.observation_space
        self.observations, self._poses = envs.reset()  # what is seen now
        self.episode_start: Mask = np.ones(envs.count, np.bool_)  # whether that begins an episode

    def rollout(self, act: ActOnAll, steps: int = STEPS) -> Rollout:
        """The next `steps` of every env."""
        first, poses, actions, answers = self.observations, self._poses, [], []
        for _ in range(steps):
            actions.append(self._refuse_misfit(np.asarray(act(self.observations))))
            answer = self.envs.step(actions[-1])
            answers.append(answer)
            self.observations, self._poses = answer.observations, answer.poses
            self.episode_start = ~answer.valid
            self.episode_start[answer.final_env] = True
        return gather(first, poses, actions, answers)

    def _refuse_misfit(self, actions: np.ndarray) -> np.ndarray:
        if len(actions.shape) == 0 or len(actions) != self.count:
            raise TaskError(
                f"act returned actions of shape {list(actions.shape)} for {self.count} environments; one for each is needed"
            )
        return actions

    def close(self) -> None:
        self.envs.close()
