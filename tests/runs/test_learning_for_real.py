"""Things learnt for real, small enough to wait for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from srm.domains.demonstrations import save
from srm.domains.record import record
from srm.domains.tasks import find_task
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.runs.run import Run
from srm.runs.training import Training

pytestmark = pytest.mark.slow
torch.set_num_threads(1)

CORRIDOR = "examples.corridor:TASK"
TINY = LearnerConfig(
    net="mlp", network=NetConfig(width=64), ppo=PpoConfig(num_envs=16, num_steps=64, learning_rate=1e-3)
)


def reached(folder: Path, task: str, **settings: Any) -> float:
    """The return at which a run stopped."""
    run = Run.begin(Training(task, **settings), folder / "run")
    for _ in run.rounds():
        pass
    return float(run.finish()["return"])


@pytest.mark.parametrize("learner", ["ppo", "agac", "ride"])
def test_doorkey_5x5_is_learnt_from_its_own_reward(tmp_path: Path, learner: Any) -> None:
    learning = LearnerConfig(learner=learner, ppo=PpoConfig())
    assert reached(tmp_path, "DoorKey-5x5", learning=learning, frames=150_000, stop_at=0.9, seed=2) >= 0.9


@pytest.mark.parametrize(
    "settings", [{"reward": "gail"}, {"reward": "gan_gcl"}, {"learning": replace(TINY, learner="bc")}]
)
def test_a_corridor_is_learnt_from_demonstrations_alone(tmp_path: Path, settings: dict[str, Any]) -> None:
    """They return 0.81; acting at random, 0.07."""
    save(record(find_task(CORRIDOR), 10, seed=0), tmp_path / "shown.npz")
    asked = {"learning": TINY, "demos": tmp_path / "shown.npz", "frames": 60_000, "stop_at": 0.7, **settings}
    assert reached(tmp_path, CORRIDOR, **asked) >= 0.7
