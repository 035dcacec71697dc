"""The learners of Stable-Baselines3 by name, and how likely each finds what was done."""

from __future__ import annotations

from typing import Any

import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from srm.domains.spaces import ActionSpace, Bounds
from srm.errors import SettingError, near
from srm.sb3.encode import flat
from srm.trajectory import Rollout

NAMES = ("PPO", "A2C", "RecurrentPPO", "DQN", "SAC", "TD3", "DDPG", "QRDQN", "TQC")
INSIDE = 1 - 1e-6  # where a squashed action's log-probability is still a number


def find_algorithm(name: str) -> type[BaseAlgorithm]:
    if name not in NAMES:
        raise SettingError(f"sb3:{name}: there is no such learner; there are {', '.join(NAMES)}{near(name, NAMES)}")
    module = stable_baselines3 if hasattr(stable_baselines3, name) else sb3_contrib
    kind: type[BaseAlgorithm] = getattr(module, name)
    return kind


def has_memory(kind: type[BaseAlgorithm]) -> bool:
    return kind.__name__ == "RecurrentPPO"


def knows_log_probs(name: str) -> bool:
    """Whether its policy draws actions: TD3's and DDPG's does not, and noise is added to what it says."""
    return name not in ("TD3", "DDPG", "QRDQN")


@torch.no_grad()
def log_probs_of(model: BaseAlgorithm, rollout: Rollout, space: ActionSpace) -> np.ndarray | None:
    """log pi(a|s) [T, B] of the policy as it is, 0 where a step is not valid; a density is measured against the uniform one. None:
    it draws no actions. Every env's first observation is taken to begin an episode."""
    if not knows_log_probs(type(model).__name__):
        return None
    policy: Any = model.policy
    policy.set_training_mode(False)
    steps, envs = rollout.valid.shape
    rows = [flat(rollout.observations[:-1][:, env]) for env in range(envs)]
    seen = torch.as_tensor(np.concatenate(rows))  # [B * T, D], one env after another
    actions = torch.as_tensor(np.swapaxes(rollout.actions, 0, 1).reshape(envs * steps, *rollout.actions.shape[2:]))
    if isinstance(policy, RecurrentActorCriticPolicy):
        known = _recurrent(policy, seen, actions, rollout)
    elif isinstance(model, OnPolicyAlgorithm):
        known = policy.evaluate_actions(seen, actions)[1]
    elif isinstance(model, DQN):
        greedy = model.q_net(seen).argmax(dim=1) == actions
        rate, count = float(model.exploration_rate), int(model.action_space.n)  # type: ignore[attr-defined]
        known = torch.log(rate / count + (1 - rate) * greedy.float())
    else:
        known = _squashed(model, seen, actions)
    if isinstance(space, Bounds):
        widths = 2 * (space.half if isinstance(model, OnPolicyAlgorithm) else np.ones_like(space.half))
        known = known + float(np.log(widths).sum())
    log_prob: np.ndarray = known.reshape(envs, steps).T.numpy().astype(np.float64) * rollout.valid
    return np.nan_to_num(log_prob, neginf=-1e3)


def _recurrent(policy: Any, seen: torch.Tensor, actions: torch.Tensor, rollout: Rollout) -> torch.Tensor:
    from sb3_contrib.common.recurrent.type_aliases import RNNStates

    shape = policy.lstm_actor.num_layers, rollout.envs, policy.lstm_actor.hidden_size
    zeros = torch.zeros(shape), torch.zeros(shape)
    starts = rollout.fresh()[:-1].copy()
    starts[0] = True
    known: torch.Tensor = policy.evaluate_actions(
        seen, actions, RNNStates(zeros, zeros), torch.as_tensor(starts.T.reshape(-1), dtype=torch.float32)
    )[1]
    return known


def _squashed(model: Any, seen: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Of SAC and its like: in actions that are scaled to -1..1."""
    assert isinstance(model, SAC) or hasattr(model, "actor")
    mean, log_std, extra = model.actor.get_action_dist_params(seen)
    scaled = torch.as_tensor(model.policy.scale_action(actions.numpy())).clamp(-INSIDE, INSIDE)
    known: torch.Tensor = model.actor.action_dist.proba_distribution(mean, log_std, **extra).log_prob(scaled)
    return known
