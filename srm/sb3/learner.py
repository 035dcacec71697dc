"""A learner of Stable-Baselines3 in the policy's place: it plays and learns by its own code, and is paid by ours.

    collect   its `collect_rollouts` fills its buffer, with no reward in it, while the steps are noted as a `Rollout`
    update    the pay is written into the buffer; then its `train`

PPO, A2C and RecurrentPPO compute returns anew from the pay. DQN, SAC, TD3 and others with a replay buffer are re-paid whenever
the values of the holes have moved (`repay`). Log-probabilities are known of all but those whose policy is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.type_aliases import TrainFreq, TrainFrequencyUnit
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper
from torch import Tensor

from srm.domains.envs import Envs, Step, gather, numbers_of, stacked_info
from srm.domains.play import OpenEnvs
from srm.domains.spaces import ActionSpace, ObservationSpace, action_space_of, observation_space_of
from srm.errors import RunError, SrmError
from srm.evaluate.wrappers import batch_of_one
from srm.rl.evaluation import WHOLE_STEPS
from srm.rl.foreign import PlayedBatch
from srm.sb3.algorithms import find_algorithm, has_memory, log_probs_of
from srm.sb3.encode import flat
from srm.sb3.state import read_state, write_state
from srm.sb3.vec_env import TIME_LIMIT, encoded_space
from srm.trajectory import Observations, Rollout

FOREVER = 10**12  # steps: how long a run lasts is not the learner's business


class NotedVecEnv(VecEnvWrapper):
    """Environments whose steps are noted, and which pay nothing."""

    def __init__(self, venv: VecEnv, env_id: str) -> None:
        self.count = venv.num_envs
        self.taken_actions = action_space_of(env_id, venv.action_space)
        self.seen_space = observation_space_of(env_id, venv.observation_space, grid=True)
        super().__init__(venv, observation_space=encoded_space(venv.observation_space, flat))

    def reset(self) -> np.ndarray:
        seen = self.venv.reset()
        self._now = self._read(seen)
        self._begin()
        return flat(seen)

    def _begin(self) -> None:
        self._first, self._actions, self._steps = self._now, list[np.ndarray](), list[Step]()

    def step_async(self, actions: np.ndarray) -> None:
        space = self.taken_actions
        self._actions.append(np.asarray(actions, space.dtype).reshape(self.count, *space.shape))
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        seen, reward, over, infos = self.venv.step_wait()
        ended = np.flatnonzero(over).astype(np.int32)
        last = [self._read(infos[env]["terminal_observation"]) for env in ended]
        truncated = np.array([bool(info.get(TIME_LIMIT, False)) for info in infos]) & over
        self._now = self._read(seen)
        finals = [np.stack(part) for part in zip(*last, strict=True)] if last else [part[:0] for part in self._now]
        numbers = stacked_info([{k: n for k, n in numbers_of(info).items() if k != TIME_LIMIT} for info in infos])
        ends = over & ~truncated, truncated, np.ones_like(over)
        observations, poses = self._now
        final_observations, final_poses = finals
        self._steps.append(
            Step(
                observations,
                poses,
                reward.astype(np.float32),
                *ends,
                ended,
                final_observations,
                final_poses,
                numbers,
            )
        )
        for env in ended:
            infos[env]["terminal_observation"] = flat(batch_of_one(infos[env]["terminal_observation"]))[0]
        return flat(seen), np.zeros(self.count, np.float32), over, infos

    def take(self) -> Rollout:
        """What was played since it was last taken."""
        rollout = gather(*self._first, self._actions, self._steps)
        self._begin()
        return rollout

    def _read(self, seen: Any) -> tuple[Observations, np.ndarray]:
        return self.seen_space.read(seen), self.seen_space.pose(seen)


@dataclass(frozen=True, eq=False)
class NotedEnvs:
    """The same as a run knows environments. Only the learner steps them."""

    vector: NotedVecEnv
    env_id: str
    stepped_by: str = "Gymnasium, for Stable-Baselines3"

    @property
    def count(self) -> int:
        return self.vector.count

    @property
    def action_space(self) -> ActionSpace:
        return self.vector.taken_actions

    @property
    def observation_space(self) -> ObservationSpace:
        return self.vector.seen_space

    def close(self) -> None:
        self.vector.close()


class PaidLater(RolloutBuffer):
    """Mixed into the class of a rollout buffer: keeps what returns are computed from until the pay is known."""

    def compute_returns_and_advantage(self, last_values: Tensor, dones: np.ndarray) -> None:
        self.last = last_values, dones

    def pay(self, pay: np.ndarray) -> None:
        """`rewards` has what a time-out was worth, and nothing else."""
        self.rewards += pay
        super().compute_returns_and_advantage(*self.last)


class Sb3Learner:
    """PPO, A2C, RecurrentPPO, DQN, SAC, TD3 or any other of their kind, by the protocol of `srm.rl.foreign`."""

    def __init__(
        self,
        name: str,
        make: Callable[[], gymnasium.Env],
        env_id: str,
        *,
        num_envs: int,
        num_steps: int | None,
        arguments: Mapping[str, Any],
        seed: int,
    ) -> None:
        self.name, self.frames, self.seed = name, 0, seed
        venv = DummyVecEnv([make] * num_envs)
        venv.seed(seed)
        self._vector = NotedVecEnv(venv, env_id)
        self.envs = NotedEnvs(self._vector, env_id)
        model: Any = make_model(name, self._vector, arguments, num_steps, seed)
        self.model, self._on_policy = model, isinstance(model, OnPolicyAlgorithm)
        self._failure = f"sb3:{name} fails with these environments or arguments"
        with foreign(self._failure):
            _, self._callback = self.model._setup_learn(FOREVER, None)
        if self._on_policy:
            self.num_steps = int(self.model.n_steps)
            buffer: Any = self.model.rollout_buffer
            buffer.__class__ = type(f"PaidLater{type(buffer).__name__}", (PaidLater, type(buffer)), {})
        else:
            self.num_steps = num_steps or 32
            self.remembers = int(self.model.replay_buffer.buffer_size)

    # The four

    def collect(self) -> PlayedBatch:
        model, begun = self.model, self.model.num_timesteps
        with foreign(self._failure):
            if self._on_policy:
                model.collect_rollouts(model.env, self._callback, model.rollout_buffer, model.n_steps)
            else:
                model.collect_rollouts(
                    model.env,
                    self._callback,
                    TrainFreq(self.num_steps, TrainFrequencyUnit.STEP),
                    model.replay_buffer,
                    action_noise=model.action_noise,
                    learning_starts=model.learning_starts,
                )
        rollout = self._vector.take()
        self.frames += int(rollout.valid.sum())
        if self._on_policy or begun >= model.learning_starts:
            return PlayedBatch(rollout, self.log_probs(rollout))
        uniform = np.full(rollout.valid.shape, self.envs.action_space.log_uniform)
        return PlayedBatch(rollout, None if self.log_probs(rollout) is None else uniform)

    def update(self, batch: PlayedBatch, pay: np.ndarray) -> dict[str, float]:
        model = self.model
        model.logger.name_to_value.clear()
        with foreign(self._failure):
            if self._on_policy:
                model.rollout_buffer.pay(pay.astype(np.float32))
                model.train()
            else:
                self._write(pay)
                self._train_from_replay(batch.rollout.steps)
        losses = model.logger.name_to_value
        return {name.removeprefix("train/"): float(loss) for name, loss in losses.items() if name.startswith("train/")}

    def _train_from_replay(self, steps: int) -> None:
        """As often as it would have while so many steps were played."""
        model = self.model
        if model.num_timesteps > model.learning_starts:
            each = model.gradient_steps if model.gradient_steps >= 0 else model.train_freq.frequency
            model.train(max(1, steps * each // model.train_freq.frequency), model.batch_size)

    def log_probs(self, rollout: Rollout) -> np.ndarray | None:
        return log_probs_of(self.model, rollout, self.envs.action_space)

    # Memory

    def repay(self, pay: np.ndarray) -> None:
        """All that the replay buffer holds, [N, B], the latest last."""
        self._write(pay[-self.model.replay_buffer.size() :])

    def _write(self, pay: np.ndarray) -> None:
        buffer = self.model.replay_buffer
        rows = (buffer.pos - len(pay) + np.arange(len(pay))) % buffer.buffer_size
        buffer.rewards[rows] = pay

    # Play

    def player(self, envs: Envs, seed: int) -> ModelPlayer:
        return ModelPlayer(self.model, envs)

    def actor(self, seed: int) -> ModelActor:
        return ModelActor(self.model)

    # Files

    def tensors(self) -> dict[str, Tensor]:
        return write_state(self.model)

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        read_state(self.model, tensors)


def make_model(name: str, env: VecEnv, arguments: Mapping[str, Any], num_steps: int | None, seed: int) -> BaseAlgorithm:
    """The algorithm with the network that fits it; `arguments` are its constructor's."""
    kind = find_algorithm(name)
    given = dict(arguments)
    policy = given.pop("policy", "MlpLstmPolicy" if has_memory(kind) else "MlpPolicy")
    if issubclass(kind, OnPolicyAlgorithm) and num_steps:
        given.setdefault("n_steps", num_steps)
    with foreign(f"sb3:{name} does not take these environments or arguments"):
        return kind(policy, env, seed=seed, device="cpu", **given)


@contextmanager
def foreign(failure: str) -> Iterator[None]:
    """Code of Stable-Baselines3. It says in any way that it was given what it does not take, and often only when that is used."""
    try:
        yield
    except Exception as problem:
        if isinstance(problem, SrmError):
            raise
        reason = str(problem).strip().partition("\n")[0]
        raise RunError(f"{failure}: {type(problem).__name__}: {reason}") from problem


class ModelPlayer:
    """Plays envs of ours by a model, with its memory."""

    def __init__(self, model: BaseAlgorithm, envs: Envs) -> None:
        self.envs, self._model = envs, model
        self._state: Any = None
        self._open = OpenEnvs(envs)

    def collect(self, greedy: bool = False) -> PlayedBatch:
        rollout = self._open.rollout(lambda seen: self._act(seen, greedy), WHOLE_STEPS)
        return PlayedBatch(rollout, log_probs_of(self._model, rollout, self.envs.action_space))

    def _act(self, seen: Observations, greedy: bool) -> np.ndarray:
        actions, self._state = self._model.predict(
            flat(seen), self._state, self._open.episode_start, deterministic=greedy
        )
        return actions.reshape(len(seen), *self.envs.action_space.shape)


class ModelActor:
    """Plays one environment by a model."""

    def __init__(self, model: BaseAlgorithm, *, greedy: bool = False) -> None:
        self._model, self._greedy = model, greedy
        self._state: Any = None

    def __call__(self, observations: Sequence[Observations]) -> Any:
        start = np.array([len(observations) == 1])
        seen = flat(np.asarray(observations[-1])[None])
        actions, self._state = self._model.predict(seen, self._state, start, deterministic=self._greedy)
        return actions[0]
