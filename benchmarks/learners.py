"""The curves of docs/learners.md: learners of Stable-Baselines3 that a machine pays.

    python -m benchmarks.learners dqn --seed 100 -o results/learners/dqn-100.csv
    python -m benchmarks.learners dqn --seed 100 --counterfactual -o results/learners/dqn-counterfactual-100.csv
    python -m benchmarks.learners sac-pendulum --seed 100 --steps 12000 -o results/learners/sac-pendulum-100.csv
    python -m benchmarks.learners sac-lander --seed 100 --steps 60000 -o results/learners/sac-lander-100.csv

Each writes a row for every finished episode, as it goes: steps so far, the task's own return, and the episode's length.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
import torch
import tyro
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import srm
import srm.sb3
from examples import landing, patrol, pendulum
from srm.domains.tasks import find_task
from srm.machine.model import Machine


class Curve(BaseCallback):
    """Writes what each episode's return was."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("x", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerow(["steps", "return", "length", "paid"])
        self._task: dict[int, list[float]] = {}

    def _on_step(self) -> bool:
        for env, info in enumerate(self.locals["infos"]):
            so_far = self._task.setdefault(env, [])
            so_far.append(info["task_reward"])
            if "episode" in info:
                row = [self.num_timesteps, f"{sum(so_far):.4f}", len(so_far), f"{info['episode']['r']:.4f}"]
                self._writer.writerow(row)
                self._file.flush()
                so_far.clear()
        return True


def with_pose(seen: dict[str, np.ndarray]) -> np.ndarray:
    """The view, and where the agent stands and looks: a greedy policy that sees the view alone turns in circles."""
    x, y, direction = seen["pose"].T
    return np.concatenate([srm.sb3.flat(seen), np.eye(5)[x], np.eye(5)[y], np.eye(4)[direction]], axis=1).astype(
        np.float32
    )


@dataclass(frozen=True)
class Run:
    """one curve"""

    learner: Annotated[Literal["dqn", "patrol", "sac-pendulum", "sac-lander"], tyro.conf.Positional]
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    seed: int = 100
    steps: int = 100_000
    counterfactual: bool = False
    shaping: bool = False

    def run(self) -> None:
        torch.set_num_threads(1)
        makes = {
            "dqn": self._door_key,
            "patrol": self._patrol,
            "sac-pendulum": self._pendulum,
            "sac-lander": self._lander,
        }
        model, env = makes[self.learner]()
        model.learn(self.steps, callback=CallbackList([Curve(self.out), srm.sb3.PayCallback(env, every=10_000)]))

    def _pendulum(self) -> tuple[Any, srm.sb3.MachineVecEnv]:
        """Pendulum-v1 by examples/pendulum.srm."""
        vector = DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")])
        return self._sac(vector, pendulum.TASK, "examples/pendulum.srm", [64, 64], learning_starts=500)

    def _lander(self) -> tuple[Any, srm.sb3.MachineVecEnv]:
        """LunarLander-v3 with continuous engines, by examples/landing.srm."""
        vector = DummyVecEnv([lambda: gymnasium.make("LunarLander-v3", continuous=True)])
        return self._sac(vector, landing.TASK, "examples/landing.srm", [128, 128], learning_starts=2_000)

    def _sac(
        self, vector: DummyVecEnv, task: srm.Task, machine: str, units: list[int], learning_starts: int
    ) -> tuple[Any, srm.sb3.MachineVecEnv]:
        vector.seed(self.seed)
        env = srm.sb3.MachineVecEnv(vector, srm.load(machine, task), task.event_reader(), show_node=True)
        model = SAC(
            "MultiInputPolicy",
            VecMonitor(env),
            learning_rate=1e-3,
            buffer_size=100_000,
            learning_starts=learning_starts,
            batch_size=128,
            policy_kwargs={"net_arch": units},
            seed=self.seed,
            device="cpu",
        )
        return srm.sb3.paid(model, counterfactual=self.counterfactual), env

    def _patrol(self) -> tuple[Any, srm.sb3.MachineVecEnv]:
        """Patrol-v0 by examples/patrol.srm, whose nodes no observation tells apart."""
        vector = DummyVecEnv([lambda: gymnasium.make("Patrol-v0")] * 4)
        return self._dqn(
            vector,
            patrol.TASK,
            srm.load("examples/patrol.srm", patrol.TASK),
            srm.sb3.flat,
            gradient_steps=8,
            target_update_interval=200,
        )

    def _door_key(self) -> tuple[Any, srm.sb3.MachineVecEnv]:
        """DoorKey-5x5 by the machine of the library, with the node in sight."""
        task = find_task("DoorKey-5x5")
        vector = DummyVecEnv([lambda: task.environment(task.env_id)] * 4)
        return self._dqn(
            vector, task, srm.load("doorkey_handset"), with_pose, gradient_steps=4, target_update_interval=500
        )

    def _dqn(
        self,
        vector: DummyVecEnv,
        task: srm.Task,
        machine: Machine,
        encode: Callable[[Any], np.ndarray],
        **settings: Any,
    ) -> tuple[Any, srm.sb3.MachineVecEnv]:
        vector.seed(self.seed)
        env = srm.sb3.MachineVecEnv(
            vector,
            machine,
            task.event_reader(),
            show_node=True,
            encode=encode,
            shaping=0.95 if self.shaping else None,
        )
        model = DQN(
            "MultiInputPolicy",
            VecMonitor(env),
            learning_rate=1e-3,
            gamma=0.95,
            buffer_size=50_000,
            learning_starts=2_000,
            batch_size=64,
            train_freq=4,
            exploration_fraction=0.5,
            exploration_final_eps=0.1,
            seed=self.seed,
            device="cpu",
            **settings,
        )
        return srm.sb3.paid(model, counterfactual=self.counterfactual), env


if __name__ == "__main__":
    tyro.cli(Run).run()
