"""B envs stepped together, behind one small interface, whoever simulates them.

    observations  [B, ...]   what the policy sees            poses [B, P] int16   MiniGrid: x, y, direction (P may be 0)
    actions       [B] or [B, A], as `srm.domains.spaces` has them
    terminated, truncated, valid  [B] bool, as in `srm.trajectory`

A domain may have compiled envs of its own. `GymnasiumEnvs` takes any other Gymnasium environment with spaces that `srm.domains.spaces` knows, in
either autoreset mode. `EnvPoolEnvs` are made on request only, since EnvPool's environments of an id need not be those of the package: its MultiRoom puts walls behind doors. Each says in `stepped_by` who steps it. Envs of
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
from srm.domains.spaces import ActionSpace, ObservationSpace, action_space_of, observation_space_of
from srm.errors import TaskError, near
from srm.extras import install, require
from srm.seeding import stream
from srm.trajectory import Mask, Numbers, Observations, Rollout, plain_arrays

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
    action_space: ActionSpace
    observation_space: ObservationSpace

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
    envs = GymnasiumEnvs(vector, seed, env_id=env_id, grid=_has_cells(domain))
    if wrappers:
        envs.stepped_by = f"Gymnasium, {why}"
    return envs


def make_environment(env_id: str, *, rendered: bool = True) -> gymnasium.Env:
    """One environment, to record or replay episodes in; where its domain has poses, it observes `image` and `pose`.
    `rendered`: it can draw itself, if it ever can."""
    register_environments(env_id)
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


def _has_cells(domain: Domain | None) -> bool:
    return domain is not None and domain.cells is not None


def space_of(env: gymnasium.Env, env_id: str | None = None) -> ObservationSpace:
    """What one environment observes."""
    name = env_id or (env.spec.id if env.spec else type(env.unwrapped).__name__)
    return observation_space_of(name, env.observation_space, grid=_has_cells(domain_of_env(env)))


EXTRA_OF = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}  # by where an environment is written


@contextmanager
def _refusals(env_id: str) -> Iterator[None]:
    """What Gymnasium says against making an environment: a version that is gone, a package that is missing."""
    try:
        yield
    except gymnasium.error.DependencyNotInstalled as error:
        entry = str(gymnasium.registry[env_id].entry_point)
        extra = next((extra for module, extra in EXTRA_OF.items() if entry.startswith(module)), None)
        remedy = f"; install it with: {install(extra)}" if extra else ""
        raise TaskError(f"{env_id}: Gymnasium cannot make it: {error}{remedy}") from None
    except (gymnasium.error.Error, ImportError, OSError) as error:  # a file or a module of its own may be missing too
        raise TaskError(f"{env_id}: Gymnasium cannot make it: {error}") from None


def gather(observations: Observations, poses: Numbers, actions: Sequence[np.ndarray], steps: Sequence[Step]) -> Rollout:
    """The rollout that begins at `observations` and `poses` and takes `actions`, T of [B] or [B, A], answered by `steps`."""
    return Rollout(
        observations=np.stack([observations, *(step.observations for step in steps)]),
        actions=np.stack(actions),
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
        self.action_space = action_space_of(env_id, self._pool.action_space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # EnvPool rounds some spaces' float64 bounds to float32
            space = self._pool.observation_space
            self.observation_space = observation_space_of(env_id, space, grid=_has_cells(domain_of_id(env_id)))
        self._over = np.zeros(count, np.bool_)  # envs whose next step will be spent on resetting

    def reset(self) -> tuple[Observations, Numbers]:
        seen, info = self._pool.reset()
        self._over[:] = False
        return self.observation_space.read(seen), self._poses(seen, info)

    def step(self, actions: np.ndarray) -> Step:
        seen, reward, terminated, truncated, info = self._pool.step(self.action_space.for_envs(actions))
        observations, poses = self.observation_space.read(seen), self._poses(seen, info)
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
            vector_numbers(info, np.zeros_like(terminated)),
        )

    def _poses(self, seen: Any, info: dict[str, Any]) -> Numbers:
        domain = domain_of_id(self.env_id)
        if domain is None or domain.pool_poses is None:
            return np.zeros((self.count, 0), np.int16)
        return domain.pool_poses(seen, info)

    def close(self) -> None:
        self._pool.close()


class GymnasiumEnvs:
    """Any Gymnasium vector environment. `grid`: its small pictures are grids of cells, as MiniGrid's are."""

    def __init__(self, vector: VectorEnv, seed: int, env_id: str | None = None, *, grid: bool | None = None) -> None:
        self._vector, self.stepped_by = vector, "Gymnasium"
        self.env_id = env_id or (vector.spec.id if vector.spec else type(vector).__name__)
        self.count = vector.num_envs
        self.action_space = action_space_of(self.env_id, vector.single_action_space)
        self._same_step = _resets_within_the_step(self.env_id, vector)
        grid = _has_cells(domain_of_id(self.env_id)) if grid is None else grid
        self.observation_space = observation_space_of(self.env_id, vector.single_observation_space, grid=grid)
        self._seed = first_seed(seed)
        self._over = np.zeros(self.count, np.bool_)

    def reset(self) -> tuple[Observations, Numbers]:
        seen, _ = self._vector.reset(seed=self._seed)
        self._over[:] = False
        return self._read(seen)

    def step(self, actions: np.ndarray) -> Step:
        seen, reward, terminated, truncated, info = self._vector.step(self.action_space.for_envs(actions))
        observations, poses = self._read(seen)
        terminated, over = np.array(terminated, np.bool_), np.logical_or(terminated, truncated)
        valid, finals = ~self._over, no_finals(observations, poses)
        if self._same_step and over.any():
            finals = self._finals(over, info)
        elif not self._same_step:
            self._over = over
        numbers = vector_numbers(info, over if self._same_step else np.zeros_like(over))
        reward = np.asarray(reward, np.float32)
        refuse_not_finite(self.env_id, "pays", reward)
        return Step(observations, poses, reward, terminated, over & ~terminated, valid, *finals, numbers)

    def _read(self, seen: Any) -> tuple[Observations, Numbers]:
        # Copies, because a vector environment may write the next observation into the same array.
        observations = self.observation_space.read(seen)
        for name, array in plain_arrays(observations):
            refuse_not_finite(self.env_id, f"observes {name}".rstrip(), array)
        return observations, self.observation_space.pose(seen)

    def _finals(self, over: Mask, info: dict[str, Any]) -> tuple[Numbers, Observations, Numbers]:
        envs = np.flatnonzero(over).astype(np.int32)
        last = [self._read(info["final_obs"][env]) for env in envs]
        return envs, np.stack([seen for seen, _ in last]), np.stack([pose for _, pose in last])

    def close(self) -> None:
        self._vector.close()


def refuse_not_finite(env_id: str, verb: str, numbers: np.ndarray) -> None:
    """What an environment returns must be finite: a policy that has seen a NaN is lost."""
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        first = numbers[~np.isfinite(numbers)][0]
        raise TaskError(
            f"{env_id}: {verb} {first}; mend it, or wrap it so that it does not "
            "(gymnasium.wrappers.TransformObservation and TransformReward do that)"
        )


def first_seed(seed: int) -> int:
    """Where the seeds of the envs begin. Neighbouring seeds of a run begin far apart; EnvPool takes 31 bits."""
    return int(stream(seed, "worlds").integers(2**31 - 2**20))


def pose_of(env: gymnasium.Env) -> Numbers:
    """[P] of an environment whose domain has poses; of any other, nothing."""
    domain = domain_of_env(env)
    return np.zeros(0, np.int16) if domain is None or domain.pose is None else domain.pose(env.unwrapped)


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
