from __future__ import annotations

import numpy as np
import pytest

from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import Kind, NetConfig
from srm.rl.ppo import PpoConfig
from tests.infer.play import demonstrations

TASK = find_task("DoorKey-5x5")
SMALL = PpoConfig(num_envs=4, num_steps=16, minibatches=2, learning_rate=3e-3)


@pytest.mark.parametrize("net", ["cnn", "lstm"])
def test_demonstrated_actions_become_likely_whatever_is_paid(net: Kind) -> None:
    shown = demonstrations("DoorKey-5x5").as_rollout()
    config = LearnerConfig(learner="bc", net=net, network=NetConfig(width=32), ppo=SMALL)
    envs = TASK.make_envs(4, 0)
    learner = config.make(envs, 0, shown)
    before = learner.log_probs(shown)[shown.valid].mean()
    for _ in range(6):
        batch = learner.collect()
        losses = learner.update(batch, np.full(batch.rollout.actions.shape, np.nan))
    envs.close()
    after = learner.log_probs(shown)[shown.valid].mean()
    assert before == pytest.approx(-np.log(7), abs=0.1)
    assert after > before + 1
    assert set(losses) == {"loss_clone", "entropy", "gradient_norm"}


def test_cloning_needs_demonstrations() -> None:
    envs = TASK.make_envs(4, 0)
    with pytest.raises(RunError, match="--learner bc reads no pay"):
        LearnerConfig(learner="bc", ppo=SMALL).make(envs, 0)
    envs.close()
