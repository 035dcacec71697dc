"""What paying by a machine adds to a step of MountainCar-v0: `OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.wrappers`.

The bare environment and the wrapped one take turns in short rounds, and of each the least processor time of a step counts, so that the
difference holds on a busy machine too, where others empty the caches now and then. The aims are 25 microseconds above the bare step for one environment, and 3 for each of 64 in a vector.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from examples.mountain_car import TASK
from srm.evaluate.wrappers import SymbolicReward, SymbolicRewardVector
from srm.machine.language.parse import find_machine

ENV, MANY = "MountainCar-v0", 64
ROUNDS, ONE_STEPS, VECTOR_STEPS = 60, 500, 20
VALUES = {"flag": 1.0, "enough": 0.5, "progress": 0.0, "time": -0.01}


def one(env: Any, actions: np.ndarray) -> float:
    """Microseconds a step."""
    env.reset(seed=0)
    begun = process_time()
    for action in actions[:ONE_STEPS].tolist():
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return (process_time() - begun) / ONE_STEPS * 1e6


def vector(envs: Any, actions: np.ndarray) -> float:
    """Microseconds a step of one of them."""
    envs.reset(seed=0)
    begun = process_time()
    for row in actions[: VECTOR_STEPS * MANY].reshape(VECTOR_STEPS, MANY):
        envs.step(row)
    return (process_time() - begun) / (VECTOR_STEPS * MANY) * 1e6


def main() -> None:
    machine = find_machine("examples/mountain_car.srm", {TASK.vocabulary.name: TASK.vocabulary})
    actions = np.random.default_rng(0).integers(3, size=max(ONE_STEPS, VECTOR_STEPS * MANY))

    def bare() -> Any:
        return gymnasium.make(ENV)

    single = bare(), SymbolicReward(bare(), machine, TASK.event_reader(), VALUES)
    vectors = [SyncVectorEnv([bare] * MANY) for _ in range(2)]
    many = vectors[0], SymbolicRewardVector(vectors[1], machine, TASK.event_reader(), VALUES)
    for name, envs, take, aim in (("one environment", single, one, 25), (f"each of {MANY}", many, vector, 3)):
        rounds = [(take(envs[0], actions), take(envs[1], actions)) for _ in range(ROUNDS)]
        without, paid = (min(column) for column in zip(*rounds, strict=True))
        print(f"{name}: {without:.1f} -> {paid:.1f} microseconds a step, {paid - without:.1f} above (aim: {aim})")


if __name__ == "__main__":
    main()
