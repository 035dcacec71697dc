"""PPO on control tasks, with the defaults that follow from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from srm.domains.envs import make_environment, make_envs
from srm.errors import TaskError
from srm.rl.episodes import EpisodeBook, Recent
from srm.rl.loop import task_pay, train
from srm.rl.make import LearnerConfig
from srm.rl.ppo import PpoConfig

torch.set_num_threads(1)


@pytest.mark.slow
def test_ppo_swings_the_pendulum_up() -> None:
    config = LearnerConfig(ppo=PpoConfig(discount=0.9, learning_rate=1e-3)).settle(make_envs("Pendulum-v1", 1, 0))
    envs, recent = make_envs("Pendulum-v1", config.ppo.num_envs, 100), Recent()
    book = EpisodeBook(envs.count)
    for round in train(config.make(envs, 100), task_pay, 60_000):
        recent.add(book.read(round.rollout))
    assert recent.means()["return"] > -500, "a policy that has learnt nothing earns -1200"


@pytest.mark.parametrize(("env_id", "module"), [("LunarLander-v3", "Box2D"), ("HalfCheetah-v5", "mujoco")])
def test_environments_of_extras_are_played_and_named_by_them_where_they_are_missing(
    env_id: str, module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)  # MuJoCo keeps a log of its warnings where it is used
    envs = make_envs(env_id, 2, 0)
    learner = LearnerConfig(ppo=PpoConfig(num_envs=2, num_steps=16, epochs=1)).make(envs, 0)
    batch = learner.collect()
    assert np.isfinite(list(learner.update(batch, task_pay(batch)).values())).all()
    envs.close()

    def missing(**settings: Any) -> gymnasium.Env[Any, Any]:
        raise gymnasium.error.DependencyNotInstalled(f"{module} is not installed")

    extra = module.lower()
    spec = gymnasium.envs.registration.EnvSpec("Missing-v0", entry_point=f"gymnasium.envs.{extra}:Missing")
    monkeypatch.setitem(gymnasium.registry, "Missing-v0", spec)
    monkeypatch.setattr(sys.modules[f"gymnasium.envs.{extra}"], "Missing", missing, raising=False)
    with pytest.raises(TaskError, match=rf"{module} is not installed; install it with: pip install .*\[{extra}\]"):
        make_environment("Missing-v0")
