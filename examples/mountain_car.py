"""A task of one's own that pays no reward above 0: Gymnasium's MountainCar, with a signal and its own idea of success.

    srm demo examples.mountain_car:MOUNTAIN_CAR -n 10 -o car.npz
    srm learn examples.mountain_car:MOUNTAIN_CAR --machine examples/mountain_car.srm --demos car.npz --net mlp

The engine is too weak for the hill: the car has to swing. The task pays -1 a step until the flag is reached, so that a
return is never above 0, and `success` says instead when an episode counts. docs/own_task.md walks through this file.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np

from srm.domains.base import Task
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary
from srm.trajectory import Events, Rollout, Trajectory

PUSH_LEFT, COAST, PUSH_RIGHT = range(3)
LEFTMOST, RIGHTMOST, FASTEST = -1.2, 0.6, 0.07  # MountainCar's own numbers


# The environment: Gymnasium's, with its two numbers brought to -1..1. Its velocities of 0.07 and less teach a network nothing.


class Scaled(gymnasium.ObservationWrapper):
    """Position and velocity, each from -1 to 1."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        x, velocity = observation
        middle, half = (RIGHTMOST + LEFTMOST) / 2, (RIGHTMOST - LEFTMOST) / 2
        return np.array([(x - middle) / half, velocity / FASTEST], np.float32).clip(-1, 1)  # rounding


def make_scaled(**settings: Any) -> gymnasium.Env:
    return Scaled(gymnasium.make("MountainCar-v0", **settings))


# Under an id of its own, so that the envs to train in are scaled too: they are made by their id.
gymnasium.register("ScaledMountainCar-v0", entry_point=make_scaled)


# The words: one event, and the height at every step


WORDS = Vocabulary(
    "mountain_car",
    events=(Event("reach_flag", "the flag on the right hill is reached"),),
    signals=(Signal("height", "how high the car is: 0.1 in the valley, 1 at the flag"),),
    balances=(Balance(("reach_flag",), most=1),),  # ends the episode
)


def position(observations: np.ndarray) -> np.ndarray:
    """Where the car is, -1.2 to 0.6, from observations [..., 2]."""
    return (RIGHTMOST + LEFTMOST) / 2 + observations[..., 0].astype(np.float64) * (RIGHTMOST - LEFTMOST) / 2


def height(x: np.ndarray) -> np.ndarray:
    """MountainCar's hills."""
    return 0.45 * np.sin(3 * x) + 0.55


class MountainCarWords:
    """What happened, from the observations after each step."""

    vocabulary = WORDS

    def read(self, rollout: Rollout) -> Events:
        env, step = np.nonzero((rollout.terminated & rollout.valid).T)  # only the flag ends an episode
        return Events(
            rollout.steps,
            rollout.envs,
            step.astype(np.int32),
            env.astype(np.int32),
            np.zeros(len(step), np.int16),
            np.zeros((len(step), 0), np.int32),
            height(position(rollout.after()))[..., None],  # [T, B, 1]
        )


# The expert: pushes the way the car rolls. It drives a copy, since what it returns are the actions of the whole episode.


def drive(env: gymnasium.Env) -> list[int]:
    car: Any = deepcopy(env.unwrapped)
    actions, reached = [], False
    while not reached and len(actions) < 200:
        actions.append(PUSH_RIGHT if car.state[1] >= 0 else PUSH_LEFT)
        _, _, reached, _, _ = car.step(actions[-1])
    return actions


def reaches_flag(trajectory: Trajectory) -> bool:
    return trajectory.terminated


MOUNTAIN_CAR = Task(
    name="mountain_car",
    meaning="swing up the hill to the flag",
    env_id="ScaledMountainCar-v0",
    vocabulary=WORDS,
    event_reader=MountainCarWords,
    machines=(),
    expert=drive,
    frames=500_000,
    success=reaches_flag,
)
