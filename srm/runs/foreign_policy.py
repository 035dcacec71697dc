"""A policy that is not ours, in a run of `srm learn`: a learner of Stable-Baselines3 by name, or one that Python hands over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srm.domains.base import Task
from srm.domains.envs import Envs
from srm.domains.play import OpenEnvs
from srm.errors import SettingError
from srm.extras import require
from srm.files import parse_json
from srm.rl.foreign import ForeignLearner, MakeLearner
from srm.runs.sb3_arguments import refuse_other_arguments
from srm.settings import AT_MOST_A_MILLION, ONE_OR_MORE, ZERO_OR_MORE

if TYPE_CHECKING:
    from srm.sb3.learner import ModelActor, ModelPlayer

SB3 = "sb3:"
OWN = "own"  # what the config of a run says whose learner Python handed over


@dataclass(frozen=True)
class Sb3Config:
    """How a learner of Stable-Baselines3 plays; what it is not told it has by default."""

    num_envs: int = 8
    """environments played side by side"""
    num_steps: int = 0
    """steps of each environment in a round; 0: the learner's own n_steps, or 32 with a replay buffer"""
    arguments: str = "{}"
    """of the learner's constructor, as JSON: numbers and switches, as in '{"learning_rate": 0.001, "gamma": 0.98}'"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--sb3.", "num_envs")
        ZERO_OR_MORE.refuse_outside(self, "--sb3.", "num_steps")
        AT_MOST_A_MILLION.refuse_outside(self, "--sb3.", "num_envs", "num_steps")
        self.given_arguments()

    def given_arguments(self) -> dict[str, Any]:
        try:
            arguments = parse_json(self.arguments.encode())
        except (ValueError, RecursionError) as problem:
            raise SettingError(f"--sb3.arguments {self.arguments!r} is not JSON: {problem}") from None
        if not isinstance(arguments, dict):
            raise SettingError(
                f"--sb3.arguments {self.arguments!r}: give names and values, as in '{{\"gamma\": 0.98}}'"
            )
        refuse_other_arguments(arguments)
        return arguments


def refuse_unfit_policy(policy: str, by_algorithm1: bool) -> None:
    """What is no learner, or one that Algorithm 1 cannot use."""
    if not policy.startswith(SB3):
        raise SettingError(f"--policy {policy}: write sb3:NAME, as in sb3:SAC; ours are chosen by --learner")
    require("sb3", f"--policy {policy}")
    from srm.sb3.algorithms import find_algorithm, knows_log_probs

    name = policy.removeprefix(SB3)
    find_algorithm(name)
    if by_algorithm1 and not knows_log_probs(name):
        raise SettingError(
            f"--policy {policy} knows no log-probabilities, of which Algorithm 1's discriminator is made; leave --infer algorithm1 out"
        )


def make_foreign(policy: str, config: Sb3Config, task: Task, seed: int) -> ForeignLearner:
    from srm.sb3.learner import Sb3Learner

    learner = Sb3Learner(
        policy.removeprefix(SB3),
        lambda: task.environment(task.env_id),
        task.env_id,
        num_envs=config.num_envs,
        num_steps=config.num_steps or None,
        arguments=config.given_arguments(),
        seed=seed,
    )
    return ForeignLearner(learner, learner.envs, num_steps=learner.num_steps)


def make_own(policy: MakeLearner, envs: Envs, seed: int) -> ForeignLearner:
    return ForeignLearner(policy(OpenEnvs(envs), seed), envs)


def _model(policy: str, config: Sb3Config, task: Task, tensors: Any) -> Any:
    from stable_baselines3.common.vec_env import DummyVecEnv

    from srm.sb3.learner import NotedVecEnv, make_model
    from srm.sb3.state import read_policy

    vector = NotedVecEnv(DummyVecEnv([lambda: task.environment(task.env_id)]), task.env_id)
    model = make_model(policy.removeprefix(SB3), vector, config.given_arguments(), None, 0)
    read_policy(model, tensors)
    vector.close()
    return model


def trained_player(policy: str, config: Sb3Config, task: Task, tensors: Any, envs: Envs) -> ModelPlayer:
    from srm.sb3.learner import ModelPlayer

    return ModelPlayer(_model(policy, config, task, tensors), envs)


def trained_actor(policy: str, config: Sb3Config, task: Task, tensors: Any, greedy: bool) -> ModelActor:
    from srm.sb3.learner import ModelActor

    return ModelActor(_model(policy, config, task, tensors), greedy=greedy)
