"""One thread, as in every run: the other process of `Beside` has one too, and sums of floats depend on how they are split."""

from __future__ import annotations

import pytest
import torch

from srm.domains.tasks import find_task
from srm.trajectory import Rollout
from tests.infer.play import random_rollouts

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def rollouts() -> list[Rollout]:
    return random_rollouts(find_task("DoorKey-5x5"), rollouts=12, steps=32, envs=16)
