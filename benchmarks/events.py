"""What reading the events of a rollout costs, against stepping it: `python benchmarks/events.py`.

Both are measured in turn, in one process on one core, as the median of several rounds, so that the ratio holds whatever
the machine. The aim is a ratio under 1/10.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from srm.domains.envs import Envs, gather, make_envs
from srm.domains.minigrid.events import MiniGrid
from srm.seeding import stream
from srm.trajectory import Rollout

STEPS, WORLDS, ROUNDS = 128, 64, 15
CASES = (
    ("MiniGrid-DoorKey-8x8-v0", None),
    ("MiniGrid-KeyCorridorS3R3-v0", "ball"),
    ("MiniGrid-ObstructedMaze-2Dlhb-v1", "blue ball"),
)


def play(envs: Envs, actions: np.ndarray) -> Rollout:
    observations, poses = envs.reset()
    return gather(observations, poses, actions, [envs.step(row) for row in actions])


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def measure(env_id: str, target: str | None) -> tuple[float, float]:
    """Seconds of stepping a rollout, and of reading its events."""
    envs, event_reader = make_envs(env_id, WORLDS, seed=0), MiniGrid(target)
    actions = stream(0, "actions").integers(7, size=(STEPS, WORLDS))
    rollout = play(envs, actions)
    event_reader.read(rollout)  # compiles, once per machine
    stepping, reading = [], []
    for _ in range(ROUNDS):
        stepping.append(seconds(lambda: play(envs, actions)))
        reading.append(seconds(lambda: event_reader.read(rollout)))
    return median(stepping), median(reading)


def main() -> None:
    print(f"{STEPS} steps x {WORLDS} envs, median of {ROUNDS} rounds")
    print(f"{'environment':34}{'stepping':>12}{'reading':>12}{'ratio':>9}")
    for env_id, target in CASES:
        stepping, reading = measure(env_id, target)
        print(f"{env_id:34}{stepping * 1e3:9.2f} ms{reading * 1e3:9.2f} ms{reading / stepping:9.4f}")


if __name__ == "__main__":
    main()
