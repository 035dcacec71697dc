"""What highway-env's own reward pays for driving that nobody wants, beside what the machine that ships pays for it.

    python -m benchmarks.driving_hacks --episodes 10

Scripted drivers, each in the environment where it was reported: with the five actions some dawdle or zigzag between lanes, with a throttle and a wheel some park
(highway-env's issue 312), weave across the road (268) or spin (647). These decide five times a second; "return" counts all as if they did once. "Before" is the same reward with the speed of the car in
place of its speed along the road, as it was before 268. `srm check examples/highway_reward.srm --horizon 30` is what can be said before anybody drives.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import highway_env
import numpy as np

from srm.domains.base import Task
from srm.domains.control.highway.expert import STYLES
from srm.domains.control.highway.vocabulary import LANE_LEFT, LANE_RIGHT, SLOWER
from srm.domains.envs import numbers_of, stacked_info
from srm.domains.tasks import find_task
from srm.evaluate.trace import trace
from srm.machine.language.parse import find_machine
from srm.trajectory import Trajectory

Act = Callable[
    [gymnasium.Env, np.ndarray, int], Any
]  # of the environment, what is observed, and the number of the action
WHEEL = {"action": {"type": "ContinuousAction"}, "duration": 10, "policy_frequency": 5, "simulation_frequency": 15}
ANGLE = 0.7  # radians off the road's direction
VALUES = {
    "highway": {"survive": 1.0, "crash": -40.0, "slow": -0.05, "change": -0.2, "close": -0.5, "safe": 15.0},
    "merge": {"arrive": 1.0, "crash": -40.0, "slow": -0.05, "change": -0.2, "danger": -0.5, "soon": 3.0},
}  # one assignment that the constraints allow


@dataclass(frozen=True)
class Hack:
    name: str
    task: str
    act: Act
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Drive:
    """One episode: its steps, and what only the environment knows."""

    trajectory: Trajectory
    metres: float  # along the road
    seconds: float
    before: float  # the reward before 268


def by_style(style: str, task: str, env: gymnasium.Env, seen: np.ndarray, number: int) -> int:
    return STYLES[task][style](seen)


def dawdle(env: gymnasium.Env, seen: np.ndarray, number: int) -> int:
    return SLOWER


def zigzag(env: gymnasium.Env, seen: np.ndarray, number: int) -> int:
    """Slows down first, so that it meets nobody."""
    return SLOWER if number < 2 else (LANE_LEFT, LANE_RIGHT)[number % 2]


def park(env: gymnasium.Env, seen: np.ndarray, number: int) -> np.ndarray:
    """Brakes until it stands, in its lane."""
    return np.array([np.clip(-env.unwrapped.vehicle.speed / 2, -1, 1), _steer(env, 0.0)], np.float32)


def weave(env: gymnasium.Env, seen: np.ndarray, number: int) -> np.ndarray:
    """Drives with 25 m/s at an angle to the road, and turns at its edges."""
    car = env.unwrapped.vehicle
    side = np.sign(car.heading) or 1.0
    across = car.position[1] / 4  # lanes from the leftmost
    aim = -ANGLE if across > 1.3 else ANGLE if across < 0.7 else side * ANGLE
    return np.array([np.clip((25 - car.speed) / 2, -1, 1), _steer(env, aim)], np.float32)


def spin(env: gymnasium.Env, seen: np.ndarray, number: int) -> np.ndarray:
    """Turns the wheel all the way, and speeds up."""
    return np.array([np.clip((25 - env.unwrapped.vehicle.speed) / 2, -1, 1), 1.0], np.float32)


def _steer(env: gymnasium.Env, heading: float) -> float:
    return float(np.clip(2 * (heading - env.unwrapped.vehicle.heading), -1, 1))


HACKS = (
    Hack("brisk, for comparison", "highway", partial(by_style, "brisk", "highway"), {}),
    Hack("dawdles", "highway", dawdle, {}),
    Hack("zigzags between lanes", "highway", zigzag, {}),
    Hack("parks", "highway", park, WHEEL),
    Hack("weaves", "highway", weave, WHEEL),
    Hack("spins", "highway", spin, WHEEL),
    Hack("brisk, for comparison", "merge", partial(by_style, "brisk", "merge"), {}),
    Hack("dawdles", "merge", dawdle, {}),
    Hack("zigzags between lanes", "merge", zigzag, {}),
)


def drive(task: Task, hack: Hack, seed: int) -> Drive:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a merge-v1 is there too
        env = gymnasium.make(task.env_id, config=dict(hack.config))
    seen, _ = env.reset(seed=seed)
    inner, begin, over = env.unwrapped, env.unwrapped.vehicle.position[0], False
    observations, actions, rewards, infos, before = [seen], [], [], [], 0.0
    while not over:
        actions.append(hack.act(env, seen, len(actions)))
        seen, reward, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
        observations.append(seen)
        rewards.append(float(reward))
        infos.append(numbers_of({key: value for key, value in info.items() if key != "action"}))
        before += _before(inner, reward, info)
    env.close()
    played = np.array(actions, np.float32 if np.ndim(actions[0]) else np.int64)
    trajectory = Trajectory(
        observations=np.stack(observations).astype(np.float32),
        actions=played,
        poses=np.zeros((len(observations), 0), np.int16),
        task_reward=np.array(rewards, np.float32),
        terminated=bool(terminated),
        info=stacked_info(infos),
    )
    seconds = len(rewards) / inner.config["policy_frequency"]
    return Drive(trajectory, float(inner.vehicle.position[0] - begin), seconds, before)


def _before(env: Any, reward: float, info: Mapping[str, Any]) -> float:
    """The same reward with the car's speed in place of its speed along the road."""
    if not env.config.get("normalize_reward", False):  # merge reads the car's speed to this day
        return float(reward)
    speed = np.clip((info["speed"] - 20) / 10, 0, 1) - info["rewards"]["high_speed_reward"]
    return float(reward + info["rewards"]["on_road_reward"] * env.config["high_speed_reward"] * speed / 1.5)


def show(task: Task, hack: Hack, seed: int, episodes: int) -> None:
    drives = [drive(task, hack, number) for number in range(seed, seed + episodes)]
    machine, reader = find_machine(task.name), task.event_reader()
    paid = sum(trace(machine, reader, each.trajectory, VALUES[task.name]).pay for each in drives)
    steps, seconds = sum(each.trajectory.steps for each in drives), sum(each.seconds for each in drives)
    reward = sum(each.trajectory.total_reward for each in drives) / steps
    numbers = (
        f"{sum(each.trajectory.info['crashed'][-1] > 0 for each in drives)} of {episodes}",
        f"{seconds / episodes:.1f}",
        f"{sum(each.metres for each in drives) / seconds:.1f}",
        f"{reward * seconds / episodes:.1f}",
        f"{reward:.2f}",
        f"{sum(each.before for each in drives) / steps:.2f}",
        f"{paid / steps:.2f}",
    )
    print(f"| {task.name} | {hack.name} | {' | '.join(numbers)} |", flush=True)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=10)
    given = parser.parse_args(arguments)
    gymnasium.register_envs(highway_env)
    print("| task | driver | crashes | seconds | m/s along | return | reward a step | before | machine a step |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for hack in HACKS:
        show(find_task(hack.task), hack, given.seed, given.episodes)


if __name__ == "__main__":
    main(sys.argv[1:])
