"""Learners of Stable-Baselines3, paid by a machine.

env = srm.sb3.MachineVecEnv(make_vec_env("MountainCar-v0", 8), machine, event_reader)
model = srm.sb3.paid(PPO("MlpPolicy", env))              hindsight re-pays what it learns from
model = srm.sb3.paid(DQN(...), counterfactual=True)      the same step at every node, beside it
model.learn(100_000, callback=srm.sb3.PayCallback(env))  pay by rule and by hole in its log
"""

from __future__ import annotations

from srm.extras import require

require("sb3", "srm.sb3")

from srm.sb3.callback import PayCallback  # noqa: E402
from srm.sb3.encode import flat  # noqa: E402
from srm.sb3.paid import paid  # noqa: E402
from srm.sb3.vec_env import MachineVecEnv  # noqa: E402

__all__ = ["MachineVecEnv", "PayCallback", "flat", "paid"]
