"""A model of Stable-Baselines3 whose buffer is paid by a machine: hindsight, other values and counterfactual experience reach it."""

from __future__ import annotations

from typing import Any, TypeVar

from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from srm.errors import SettingError
from srm.sb3.replay import MachineDictReplayBuffer, MachineReplayBuffer
from srm.sb3.rollouts import repay_rollouts
from srm.sb3.vec_env import MachineVecEnv, machine_env

AnyModel = TypeVar("AnyModel", bound=BaseAlgorithm)


def paid(model: AnyModel, *, counterfactual: bool = False) -> AnyModel:
    """The same model, before it has learnt anything, with a buffer that the machine of its `MachineVecEnv` pays.

    Args:
        model: PPO, A2C or RecurrentPPO; or DQN, SAC, TD3 or another learner with a replay buffer.
        counterfactual: Learn from what each step would have paid at every node of the machine, too. It needs a replay buffer, and
            `show_node` of the environments.
    """
    env = machine_env(model.env, f"the environments of this {type(model).__name__}")
    if isinstance(model, OnPolicyAlgorithm):
        if counterfactual:
            raise SettingError(
                f"{type(model).__name__} learns from its own play alone, so counterfactual experience needs DQN, SAC or TD3"
            )
        repay_rollouts(model, env)
    elif isinstance(model, OffPolicyAlgorithm):
        _replay(model, env, counterfactual)
    else:
        raise SettingError(f"{type(model).__name__} has no buffer that a machine could pay")
    return model


def _replay(model: OffPolicyAlgorithm, env: MachineVecEnv, counterfactual: bool) -> None:
    if model.n_steps > 1 or model.optimize_memory_usage:
        raise SettingError(
            "a machine pays single steps that are stored whole; leave n_steps and optimize_memory_usage out"
        )
    buffer: Any = model.replay_buffer
    name = type(model).__name__
    if isinstance(buffer, MachineReplayBuffer):
        raise SettingError(f"this {name} is paid already; give it to srm.sb3.paid once")
    if type(buffer) not in (ReplayBuffer, DictReplayBuffer):
        raise SettingError(
            f"this {name} has a {type(buffer).__name__}, which a machine cannot pay again; leave replay_buffer_class out"
        )
    if buffer.size():
        raise SettingError(f"this {name} has played already; give it to srm.sb3.paid before learn")
    seen: Any = model.observation_space
    kind = MachineDictReplayBuffer if isinstance(seen, spaces.Dict) else MachineReplayBuffer
    # `replay_buffer_class` stays: a saved model is loaded with the buffer of its kind, and then paid again
    model.replay_buffer = kind(
        model.buffer_size,
        seen,
        model.action_space,
        device=model.device,
        n_envs=model.n_envs,
        env=env,
        counterfactual=counterfactual,
        **model.replay_buffer_kwargs,
    )
