"""PPO, A2C and RecurrentPPO paid before returns are computed: hindsight re-pays what the rollout buffer holds.

Stable-Baselines3 fills a buffer with what each step was paid at once and then computes returns from it. A buffer of the class below
first adds what hindsight has changed since. What else is in a reward (a bootstrapped value after a time-out, shaping) stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from srm.errors import SettingError
from srm.evaluate.ledger import Ledger
from srm.evaluate.step_payer import StepPayer
from srm.sb3.vec_env import MachineVecEnv


class RepaidRollout(RolloutBuffer):
    """Mixed into the class of a rollout buffer."""

    payer: StepPayer
    ledger: Ledger
    normalize: VecNormalize | None  # where it scales pay, it scales what is paid in hindsight too

    def reset(self) -> None:
        self.ledger.clear()
        super().reset()

    def compute_returns_and_advantage(self, last_values: Any, dones: np.ndarray) -> None:
        before, now = self.ledger.paid(), self.ledger.pay(self.payer.assignment)
        if self.normalize is not None:
            before, now = self.normalize.normalize_reward(before), self.normalize.normalize_reward(now)
        self.rewards += now - before
        super().compute_returns_and_advantage(last_values, dones)


def repay_rollouts(model: OnPolicyAlgorithm, env: MachineVecEnv) -> None:
    """From now on the model learns from rollouts that hindsight has re-paid."""
    if isinstance(model.rollout_buffer, RepaidRollout):
        raise SettingError(f"this {type(model).__name__} is paid already; give it to srm.sb3.paid once")
    buffer: Any = model.rollout_buffer  # RecurrentPPO takes no class of buffer, so the buffer it has made gets another
    buffer.__class__ = type(f"Repaid{type(buffer).__name__}", (RepaidRollout, type(buffer)), {})
    buffer.payer, buffer.ledger = env.payer, env.watch(buffer.buffer_size)
    buffer.normalize = model.get_vec_normalize_env()
