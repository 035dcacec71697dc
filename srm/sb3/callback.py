"""What a machine paid, in the log of Stable-Baselines3, and so in TensorBoard and Weights & Biases.

pay/rule/LABEL    what each rule paid, a step
pay/hole/NAME     what each hole paid, a step; `pay/constant` is what no hole did
pay/all           all of it
node/NAME         how often the machine stood there
"""

from __future__ import annotations

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from srm.evaluate.ledger import Ledger
from srm.sb3.vec_env import machine_env


class PayCallback(BaseCallback):
    """Logs the pay of a machine, every `every` steps of the environments, which may be wrapped further."""

    def __init__(self, env: VecEnv, every: int = 1000, verbose: int = 0) -> None:
        super().__init__(verbose)
        self._env = machine_env(env, "these environments")
        self._every = max(1, every // env.num_envs)
        self._ledger: Ledger = self._env.watch(self._every)
        self._standing = np.zeros(len(self._env.payer.node_names), np.int64)

    def _on_step(self) -> bool:
        self._standing += np.bincount(self._env.nodes_after, minlength=len(self._standing))
        if len(self._ledger) >= self._every:
            self._log()
        return True

    def _log(self) -> None:
        payer, steps = self._env.payer, len(self._ledger) * self._env.num_envs
        shares = self._ledger.shares(payer.assignment)
        for label, amount in shares.rules.items():
            self.logger.record(f"pay/rule/{label}", amount / steps)
        for name, amount in shares.holes.items():
            self.logger.record(f"pay/hole/{name}", amount / steps)
        self.logger.record("pay/constant", shares.constant / steps)
        self.logger.record("pay/all", sum(shares.rules.values()) / steps)
        for name, often in zip(payer.node_names, self._standing / self._standing.sum(), strict=True):
            self.logger.record(f"node/{name}", float(often))
        self._ledger.clear()
        self._standing[:] = 0
