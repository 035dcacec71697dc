"""Envs whose every observation tells the env, the episode and the step, in either way of resetting."""

from __future__ import annotations

import numpy as np

from srm.domains.envs import Step
from srm.domains.spaces import Choice, ObservationPart, ObservationSpace


class Clockwork:
    """Env b plays episodes of `lengths[b]` steps, which end (even b) or run out of time (odd b).

    Cell (0, 0) of the observation shows the step of the episode as a type, (0, 1) the env as a colour, and (0, 2) the episode's
    number as a state. Action `step % actions` is paid 1.
    """

    env_id = "Clockwork"
    observation_space = ObservationSpace((ObservationPart("", (), "cells", (7, 7, 3), np.dtype(np.uint8)),))

    def __init__(self, lengths: tuple[int, ...] = (3, 5), actions: int = 3, within_step: bool = False) -> None:
        self.count, self.action_space = len(lengths), Choice(actions)
        self._lengths, self._within = np.array(lengths), within_step
        self.reset()

    def reset(self) -> tuple[np.ndarray, np.ndarray]:
        self._step, self._episode = np.zeros(self.count, int), np.zeros(self.count, int)
        self._over = np.zeros(self.count, bool)
        return self._observations(), self._poses()

    def step(self, actions: np.ndarray) -> Step:
        valid = ~self._over
        reward = (actions == self._step % self.action_space.count).astype(np.float32) * valid
        self._step = np.where(valid, self._step + 1, 0)
        self._episode += ~valid
        over = valid & (self._step == self._lengths)
        even = np.arange(self.count) % 2 == 0
        final = np.zeros(0, np.int32)
        final_observations, final_poses = self._observations()[:0], self._poses()[:0]
        if self._within:
            final = np.flatnonzero(over).astype(np.int32)
            final_observations, final_poses = self._observations()[final], self._poses()[final]
            self._step[final], self._episode[final] = 0, self._episode[final] + 1
        else:
            self._over = over
        return Step(
            self._observations(),
            self._poses(),
            reward,
            over & even,
            over & ~even,
            valid,
            final,
            final_observations,
            final_poses,
        )

    def close(self) -> None:
        pass

    def _observations(self) -> np.ndarray:
        observations = np.zeros((self.count, 7, 7, 3), np.uint8)
        observations[:, 0, 0, 0] = self._step % 11
        observations[:, 0, 1, 1] = np.arange(self.count) % 6
        observations[:, 0, 2, 2] = self._episode % 3
        return observations

    def _poses(self) -> np.ndarray:
        return np.stack([self._step, np.arange(self.count), np.zeros(self.count, int)], axis=1).astype(np.int16)


class Numbers(Clockwork):
    """The same as plain vectors: step, env, episode."""

    observation_space = ObservationSpace((ObservationPart("", (), "numbers", (3,), np.dtype(np.float32)),))

    def _observations(self) -> np.ndarray:
        return np.stack([self._step, np.arange(self.count), self._episode % 3], axis=1).astype(np.float32)

    def _poses(self) -> np.ndarray:
        return np.zeros((self.count, 0), np.int16)
