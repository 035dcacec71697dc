"""Worlds whose every view tells the world, the episode and the step, in either way of resetting."""

from __future__ import annotations

import numpy as np

from srm.domains.envs import Step


class Clockwork:
    """World b plays episodes of `lengths[b]` steps, which end (even b) or run out of time (odd b).

    Cell (0, 0) of the view shows the step of the episode as a type, (0, 1) the world as a colour, and (0, 2) the episode's
    number as a state. Action `step % actions` is paid 1.
    """

    env_id = "Clockwork"
    view_shape: tuple[int, ...] = (7, 7, 3)
    view_dtype = np.dtype(np.uint8)

    def __init__(self, lengths: tuple[int, ...] = (3, 5), actions: int = 3, within_step: bool = False) -> None:
        self.count, self.actions = len(lengths), actions
        self._lengths, self._within = np.array(lengths), within_step
        self.reset()

    def reset(self) -> tuple[np.ndarray, np.ndarray]:
        self._step, self._episode = np.zeros(self.count, int), np.zeros(self.count, int)
        self._over = np.zeros(self.count, bool)
        return self._views(), self._places()

    def step(self, actions: np.ndarray) -> Step:
        real = ~self._over
        reward = (actions == self._step % self.actions).astype(np.float32) * real
        self._step = np.where(real, self._step + 1, 0)
        self._episode += ~real
        over = real & (self._step == self._lengths)
        even = np.arange(self.count) % 2 == 0
        final = np.zeros(0, np.int32)
        final_views, final_places = self._views()[:0], self._places()[:0]
        if self._within:
            final = np.flatnonzero(over).astype(np.int32)
            final_views, final_places = self._views()[final], self._places()[final]
            self._step[final], self._episode[final] = 0, self._episode[final] + 1
        else:
            self._over = over
        return Step(
            self._views(), self._places(), reward, over & even, over & ~even, real, final, final_views, final_places
        )

    def close(self) -> None:
        pass

    def _views(self) -> np.ndarray:
        views = np.zeros((self.count, 7, 7, 3), np.uint8)
        views[:, 0, 0, 0] = self._step % 11
        views[:, 0, 1, 1] = np.arange(self.count) % 6
        views[:, 0, 2, 2] = self._episode % 3
        return views

    def _places(self) -> np.ndarray:
        return np.stack([self._step, np.arange(self.count), np.zeros(self.count, int)], axis=1).astype(np.int16)


class Numbers(Clockwork):
    """The same as plain vectors: step, world, episode."""

    view_shape = (3,)
    view_dtype = np.dtype(np.float32)

    def _views(self) -> np.ndarray:
        return np.stack([self._step, np.arange(self.count), self._episode % 3], axis=1).astype(np.float32)

    def _places(self) -> np.ndarray:
        return np.zeros((self.count, 0), np.int16)
