"""B envs stepped together, behind one small interface, whoever simulates them.

    observations  [B, ...]   what the policy sees            poses [B, P] int16   MiniGrid: x, y, direction (P may be 0)
    terminated, truncated, valid  [B] bool, as in `srm.trajectory`

A domain may have compiled envs of its own. `GymnasiumEnvs` takes any other Gymnasium environment with discrete actions, in either
autoreset mode. `EnvPoolEnvs` are made on request only, since EnvPool's environments of an id need not be those of the package: its MultiRoom puts walls behind doors. Each says in `stepped_by` who steps it. Envs of
the same seed are the same envs; envs of neighbouring seeds share none.

An environment cannot be put back to an earlier moment: a run that is resumed begins new episodes from a new seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from srm.domains.registry import domain_of_env, domain_of_id, register_environments
from srm.errors import TaskError, near
from srm.extras import require
from srm.seeding import stream
from srm.trajectory import Mask, Numbers, Observations, Rollout

if TYPE_CHECKING:
    from srm.domains.base import Domain, Stepping


NUMBER = bool | int | float | np.bool_ | np.integer | np.floating


@dataclass(frozen=True, eq=False)
class Step:
    """What B envs answered to B actions."""

    observations: Observations  # [B, ...]
    poses: Numbers  # [B, P]
    task_reward: np.ndarray  # [B] float32
    terminated: Mask  # [B]
    truncated: Mask  # [B]
    valid: Mask  # [B]  False: the env ignored the action and began a new episode
    final_env: Numbers  # [F]  envs that ended an episode and already show the next
    final_observations: Observations  # [F, ...]
    final_poses: Numbers  # [F, P]
    info: Mapping[str, np.ndarray] = field(default_factory=dict)  # the numbers of `info`, [B] float64 of each key


class Envs(Protocol):
    """Reset once, then step; an env whose episode ended begins the next by itself."""

    env_id: str
    stepped_by: str  # whose rules and layouts these are, for a reader
    count: int  # B
    actions: int  # how many there are to choose from
    observation_shape: tuple[int, ...]
    observation_dtype: np.dtype

    def reset(self) -> tuple[Observations, Numbers]: ...

    def step(self, actions: np.ndarray) -> Step: ...

    def close(self) -> None: ...


def make_envs(env_id: str, count: int, seed: int, stepping: Stepping = "auto") -> Envs:
    """Compiled where its domain can, else Gymnasium's; EnvPool's only on request."""
    if count < 1:
        raise TaskError(f"{count} environments of {env_id}: at least one is needed")
    if stepping == "envpool":
        return EnvPoolEnvs(env_id, count, seed)
    env = make_environment(env_id, rendered=False)
    domain, why = domain_of_env(env), "as asked"
    if stepping == "auto" and domain is not None and domain.compile_envs is not None:
        with _refusals(env_id):
            compiled = domain.compile_envs(env, env_id, count, seed)
        if not isinstance(compiled, str):
            return compiled
        why = compiled
    wrappers = _observer_of(env, domain)
    env.close()
    with warnings.catch_warnings(), _refusals(env_id):
        warnings.simplefilter("ignore", DeprecationWarning)  # a v0 beside a v1 is asked for knowingly
        vector = gymnasium.make_vec(env_id, count, vectorization_mode="sync", wrappers=wrappers)
    envs = GymnasiumEnvs(vector, seed, env_id=env_id)
    if wrappers:
        envs.stepped_by = f"Gymnasium, {why}"
    return envs


def make_environment(env_id: str, *, rendered: bool = True) -> gymnasium.Env:
    """One environment, to record or replay episodes in; where its domain has poses, it observes `image` and `pose`.
    `rendered`: it can draw itself, if it ever can."""
    register_environments()
    if env_id not in gymnasium.registry:
        raise TaskError(f"Gymnasium has no environment {env_id}{_near(env_id, gymnasium.registry)}")
    with warnings.catch_warnings(), _refusals(env_id):
        warnings.simplefilter("ignore", DeprecationWarning)  # a v0 beside a v1 is asked for knowingly
        env = gymnasium.make(env_id)
        if rendered and "rgb_array" in env.metadata.get("render_modes", ()):
            env = gymnasium.make(env_id, render_mode="rgb_array")
    seen = env.observation_space
    parts = seen.spaces if isinstance(seen, gymnasium.spaces.Dict) else {}
    domain = domain_of_env(env)
    if domain is None or domain.observer is None or "image" not in parts or "pose" in parts:
        return env
    return domain.observer()(env)


def stepper_of(env: gymnasium.Env) -> str:
    """Who steps an environment of `make_environment`."""
    domain = domain_of_env(env)
    return f"{domain.title} itself" if domain is not None and _observer_of(env, domain) else "Gymnasium"


def _observer_of(env: gymnasium.Env, domain: Domain | None) -> list[type[gymnasium.ObservationWrapper]]:
    """What `make_environment` has wrapped it in, if it has."""
    observer = domain.observer() if domain is not None and domain.observer is not None else None
    return [observer] if observer is not None and isinstance(env, observer) else []


@contextmanager
def _refusals(env_id: str) -> Iterator[None]:
    """What Gymnasium says against making an environment: a version that is gone, a package that is missing."""
    try:
        yield
    except gymnasium.error.Error as error:
        raise TaskError(f"{env_id}: Gymnasium cannot make it: {error}") from None


def gather(observations: Observations, poses: Numbers, actions: Sequence[np.ndarray], steps: Sequence[Step]) -> Rollout:
    """The rollout that begins at `observations` and `poses` and takes `actions`, T of [B], answered by `steps`."""
    return Rollout(
        observations=np.stack([observations, *(step.observations for step in steps)]),
        actions=np.stack(actions).astype(np.int64),
        poses=np.stack([poses, *(step.poses for step in steps)]),
        task_reward=np.stack([step.task_reward for step in steps]),
        terminated=np.stack([step.terminated for step in steps]),
        truncated=np.stack([step.truncated for step in steps]),
        valid=np.stack([step.valid for step in steps]),
        final_step=np.repeat(np.arange(len(steps)), [len(step.final_env) for step in steps]).astype(np.int32),
        final_env=np.concatenate([step.final_env for step in steps]),
        final_observations=np.concatenate([step.final_observations for step in steps]),
        final_poses=np.concatenate([step.final_poses for step in steps]),
        info=stacked_info([step.info for step in steps], observations.shape[:1]),
    )


def stacked_info(infos: Sequence[Mapping[str, Any]], shape: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """[T, *shape] of every key that any of T steps has, NaN at those that have it not."""
    absent = np.full(shape, np.nan)
    keys = dict.fromkeys(key for info in infos for key in info)
    return {key: np.stack([np.asarray(info.get(key, absent), np.float64) for info in infos]) for key in keys}


def numbers_of(info: Mapping[str, Any]) -> dict[str, float]:
    """The entries of one environment's `info` that are numbers, or yes or no."""
    return {key: float(value) for key, value in info.items() if isinstance(value, NUMBER) and not key.startswith("_")}


def vector_numbers(info: Mapping[str, Any], ended: Mask) -> dict[str, np.ndarray]:
    """The same of a vector's: arrays [B], with a mask `_key` of the envs that have it. Of envs that have ended an episode and shown the next
    within the step, `final_info` has them."""
    numbers = _own_numbers(info, len(ended))
    if not ended.any():
        return numbers
    last = _own_numbers(info.get("final_info", {}), len(ended))
    return {key: np.where(ended, last.get(key, np.nan), numbers.get(key, np.nan)) for key in {**numbers, **last}}


def _own_numbers(info: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    numbers: dict[str, np.ndarray] = {}
    for key, value in info.items():
        if isinstance(value, np.ndarray) and value.shape == (count,) and value.dtype.kind in "biuf" and key[0] != "_":
            numbers[key] = np.where(info.get(f"_{key}", True), value.astype(np.float64), np.nan)
    return numbers


class EnvPoolEnvs:
    """Envs simulated by EnvPool, which spends the step after an episode's end on resetting."""

    def __init__(self, env_id: str, count: int, seed: int, threads: int = 1) -> None:
        envpool = require("envpool", f"{env_id}, stepped by EnvPool,")
        known = envpool.list_all_envs()
        if env_id not in known:
            raise TaskError(
                f"EnvPool has no environment {env_id}{_near(env_id, known) or '; leave --envs envpool out'}"
            )
        self.stepped_by = f"EnvPool {version('envpool')}, whose rules and layouts are its own"
        self._pool = envpool.make_gymnasium(env_id, num_envs=count, num_threads=threads, seed=first_seed(seed))
        self.env_id, self.count = env_id, count
        self.actions = _number_of_actions(env_id, self._pool.action_space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # EnvPool rounds some spaces' float64 bounds to float32
            observation = _observation_space(env_id, self._pool.observation_space)
        self.observation_shape, self.observation_dtype = observation.shape, observation.dtype
        self._over = np.zeros(count, np.bool_)  # envs whose next step will be spent on resetting

    def reset(self) -> tuple[Observations, Numbers]:
        seen, info = self._pool.reset()
        self._over[:] = False
        return observation_of(seen), self._poses(seen, info)

    def step(self, actions: np.ndarray) -> Step:
        seen, reward, terminated, truncated, info = self._pool.step(actions)
        observations, poses = observation_of(seen), self._poses(seen, info)
        valid = ~self._over
        self._over = terminated | truncated
        return Step(
            observations,
            poses,
            reward.astype(np.float32),
            terminated,
            truncated & ~terminated,
            valid,
            *no_finals(observations, poses),
        )

    def _poses(self, seen: Any, info: dict[str, Any]) -> Numbers:
        domain = domain_of_id(self.env_id)
        if domain is None or domain.pool_poses is None:
            return np.zeros((self.count, 0), np.int16)
        return domain.pool_poses(seen, info)

    def close(self) -> None:
        self._pool.close()


class GymnasiumEnvs:
    """Any Gymnasium vector environment with discrete actions.

    Its observation is one array, or a dictionary whose `image` is the observation and whose `pose`, if there, is the pose.
    """

    def __init__(self, vector: VectorEnv, seed: int, env_id: str | None = None) -> None:
        self._vector, self.stepped_by = vector, "Gymnasium"
        self.env_id = env_id or (vector.spec.id if vector.spec else type(vector).__name__)
        self.count = vector.num_envs
        self.actions = _number_of_actions(self.env_id, vector.single_action_space)
        self._same_step = _resets_within_the_step(self.env_id, vector)
        observation = _observation_space(self.env_id, vector.single_observation_space)
        self.observation_shape, self.observation_dtype = observation.shape, observation.dtype
        self._seed = first_seed(seed)
        self._over = np.zeros(self.count, np.bool_)

    def reset(self) -> tuple[Observations, Numbers]:
        seen, _ = self._vector.reset(seed=self._seed)
        self._over[:] = False
        return self._read(seen)

    def step(self, actions: np.ndarray) -> Step:
        seen, reward, terminated, truncated, info = self._vector.step(actions)
        observations, poses = self._read(seen)
        terminated, over = np.array(terminated, np.bool_), np.logical_or(terminated, truncated)
        valid, finals = ~self._over, no_finals(observations, poses)
        if self._same_step and over.any():
            finals = self._finals(over, info)
        elif not self._same_step:
            self._over = over
        numbers = vector_numbers(info, over if self._same_step else np.zeros_like(over))
        reward = np.asarray(reward, np.float32)
        return Step(observations, poses, reward, terminated, over & ~terminated, valid, *finals, numbers)

    def _read(self, seen: Any) -> tuple[Observations, Numbers]:
        # Copies, because a vector environment may write the next observation into the same array.
        observations = np.array(observation_of(seen))
        poses = seen["pose"] if isinstance(seen, dict) and "pose" in seen else np.zeros((len(observations), 0))
        return observations, np.array(poses, np.int16)

    def _finals(self, over: Mask, info: dict[str, Any]) -> tuple[Numbers, Observations, Numbers]:
        envs = np.flatnonzero(over).astype(np.int32)
        last = [info["final_obs"][env] for env in envs]
        if isinstance(last[0], dict):
            return envs, *self._read({name: np.stack([seen[name] for seen in last]) for name in last[0]})
        return envs, *self._read(np.stack(last))

    def close(self) -> None:
        self._vector.close()


def first_seed(seed: int) -> int:
    """Where the seeds of the envs begin. Neighbouring seeds of a run begin far apart; EnvPool takes 31 bits."""
    return int(stream(seed, "worlds").integers(2**31 - 2**20))


def _observation_space(env_id: str, space: Any) -> gymnasium.spaces.Box:
    observation = space["image"] if isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces else space
    if isinstance(observation, gymnasium.spaces.Box):
        return observation
    raise TaskError(f"{env_id}: observes {space}; wrap it so that it observes one array, or a dictionary with `image`")


def observation_of(seen: Any) -> Observations:
    """The array in what one environment or many observe."""
    observation: Observations = seen["image"] if isinstance(seen, dict) else seen
    return observation


def pose_of(env: gymnasium.Env) -> Numbers:
    """[P] of an environment whose domain has poses; of any other, nothing."""
    domain = domain_of_env(env)
    return np.zeros(0, np.int16) if domain is None or domain.pose is None else domain.pose(env.unwrapped)


def _number_of_actions(env_id: str, space: Any) -> int:
    if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
        raise TaskError(f"{env_id}: has actions {space}; wrap it so that they are Discrete, beginning at 0")
    return int(space.n)


def _resets_within_the_step(env_id: str, vector: VectorEnv) -> bool:
    mode = vector.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise TaskError(
            f"{env_id}: its autoreset mode is {mode}; make it with "
            "vector_kwargs={'autoreset_mode': AutoresetMode.NEXT_STEP} or SAME_STEP"
        )
    return mode is AutoresetMode.SAME_STEP


def _near(env_id: str, known: Iterable[str]) -> str:
    """A hint among the thousands of environments: only those that begin alike are compared."""
    return near(env_id, sorted(name for name in known if name[:3] == env_id[:3]))


def no_finals(observations: Observations, poses: Numbers) -> tuple[Numbers, Observations, Numbers]:
    return np.zeros(0, np.int32), observations[:0], poses[:0]
