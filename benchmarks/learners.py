"""The curves of docs/learners.md: learners of Stable-Baselines3 that a machine pays.

    python -m benchmarks.learners dqn --seed 100 -o results/learners/dqn-100.csv
    python -m benchmarks.learners dqn --seed 100 --counterfactual -o results/learners/dqn-counterfactual-100.csv

Each writes a row for every finished episode, as it goes: steps so far, the task's own return, and the episode's length.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import srm
import srm.sb3
from srm.domains.tasks import find_task


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


@dataclass(frozen=True)
class Run:
    """one curve"""

    learner: Annotated[Literal["dqn"], tyro.conf.Positional]
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    seed: int = 100
    steps: int = 100_000
    counterfactual: bool = False
    shaping: bool = False

    def run(self) -> None:
        torch.set_num_threads(1)
        model, env = self._dqn()
        model.learn(self.steps, callback=CallbackList([Curve(self.out), srm.sb3.PayCallback(env, every=10_000)]))

    def _dqn(self) -> tuple[Any, srm.sb3.MachineVecEnv]:
        """DoorKey-5x5 by the machine of the library, with the node in sight."""
        task = find_task("DoorKey-5x5")
        vector = DummyVecEnv([lambda: task.environment(task.env_id)] * 4)
        vector.seed(self.seed)
        env = srm.sb3.MachineVecEnv(
            vector,
            srm.load("doorkey_handset"),
            task.event_reader(),
            show_node=True,
            encode=srm.sb3.flat,
            shaping=0.99 if self.shaping else None,
        )
        model = DQN(
            "MultiInputPolicy",
            VecMonitor(env),
            learning_rate=5e-4,
            buffer_size=50_000,
            learning_starts=2_000,
            batch_size=64,
            train_freq=4,
            gradient_steps=4,
            target_update_interval=1_000,
            exploration_fraction=0.5,
            exploration_final_eps=0.05,
            seed=self.seed,
            device="cpu",
        )
        return srm.sb3.paid(model, counterfactual=self.counterfactual), env


if __name__ == "__main__":
    tyro.cli(Run).run()
