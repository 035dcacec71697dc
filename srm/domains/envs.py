"""B envs stepped together, behind one small interface, whoever simulates them.

    observations  [B, ...]   what the policy sees            poses [B, P] int16   MiniGrid: x, y, direction (P may be 0)
    terminated, truncated, valid  [B] bool, as in `srm.trajectory`

`GridEnvs` are MiniGrid's rules compiled, for every environment that keeps them: up to five million steps a second on one core.
`GymnasiumEnvs` takes any other Gymnasium environment with discrete actions, in either autoreset mode. `EnvPoolEnvs` are made on request only, since EnvPool's
environments of an id need not be those of the package: its MultiRoom puts walls behind doors. Each says in `stepped_by` who steps it. Envs of
the same seed are the same envs; envs of neighbouring seeds share none.

An env cannot be put back to an earlier moment: a run that is resumed begins new episodes from a new seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from srm.domains.minigrid import grid
from srm.domains.minigrid.layouts import GridStart, LayoutSource, rules_of
from srm.errors import TaskError, near
from srm.extension import extension
from srm.extras import require
from srm.seeding import stream
from srm.trajectory import Mask, Numbers, Observations, Rollout

if TYPE_CHECKING:
    from srm.domains.tasks import Stepping

COMPILED, OWN_LAYOUTS = (
    "MiniGrid's rules and layouts, compiled",
    "MiniGrid's rules compiled, layouts by the environment itself",
)


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
    """Compiled where the environment keeps MiniGrid's rules, else Gymnasium's; EnvPool's only on request."""
    if count < 1:
        raise TaskError(f"{count} envs of {env_id}: at least one is needed")
    if stepping == "envpool":
        return EnvPoolEnvs(env_id, count, seed)
    env = make_environment(env_id, rendered=False)
    why = "as asked"
    if stepping == "auto":
        with _refusals(env_id):
            rules = rules_of(env)
        if isinstance(rules, grid.Rules):
            layout = grid.layout_of(env.unwrapped, rules)
            source = LayoutSource(env, rules) if layout.kind == grid.DRAWN_BEFORE else None
            return GridEnvs(env_id, layout, count, seed, source)
        why = rules
    wrappers = [ShowPose] if isinstance(env, ShowPose) else []
    env.close()
    with warnings.catch_warnings(), _refusals(env_id):
        warnings.simplefilter("ignore", DeprecationWarning)  # a v0 beside a v1 is asked for knowingly
        vector = gymnasium.make_vec(env_id, count, vectorization_mode="sync", wrappers=wrappers)
    envs = GymnasiumEnvs(vector, seed, env_id=env_id)
    if wrappers:
        envs.stepped_by = f"Gymnasium, {why}"
    return envs


def make_environment(env_id: str, *, rendered: bool = True) -> gymnasium.Env:
    """One environment, to record or replay episodes in; MiniGrid's observes `image` and `pose`. `rendered`: it can draw itself, if it ever can."""
    from minigrid.minigrid_env import MiniGridEnv  # its import registers its environments

    if env_id not in gymnasium.registry:
        raise TaskError(f"Gymnasium has no environment {env_id}{_near(env_id, gymnasium.registry)}")
    with warnings.catch_warnings(), _refusals(env_id):
        warnings.simplefilter("ignore", DeprecationWarning)  # a v0 beside a v1 is asked for knowingly
        env = gymnasium.make(env_id)
        if rendered and "rgb_array" in env.metadata.get("render_modes", ()):
            env = gymnasium.make(env_id, render_mode="rgb_array")
    seen = env.observation_space
    parts = seen.spaces if isinstance(seen, gymnasium.spaces.Dict) else {}
    shows_place = isinstance(env.unwrapped, MiniGridEnv) and "image" in parts and "pose" not in parts
    return ShowPose(env) if shows_place else env


def stepper_of(env: gymnasium.Env) -> str:
    """Who steps an environment of `make_environment`."""
    return "MiniGrid itself" if isinstance(env, ShowPose) else "Gymnasium"


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
    )


class GridEnvs:
    """Envs of `grid.py`, which spend the step after an episode's end on resetting. `source`: who lays them out, if it is not grid.c."""

    actions = grid.ACTIONS
    observation_shape: tuple[int, ...] = (grid.VIEW, grid.VIEW, 3)
    observation_dtype = np.dtype(np.uint8)

    def __init__(
        self, env_id: str, layout: grid.Layout, count: int, seed: int, source: LayoutSource | None = None
    ) -> None:
        assert (source is None) != (layout.kind == grid.DRAWN_BEFORE), "somebody has to lay them out"
        self.env_id, self.count, self._source = env_id, count, source
        self.stepped_by = COMPILED if source is None else OWN_LAYOUTS
        self._step = extension("srm.domains.minigrid._grid").step
        self._layout, self._seed = layout.numbers, seed
        self._rng = stream(seed, "worlds").integers(2**64, size=count, dtype=np.uint64)
        self.cells = np.zeros((count, layout.rules.width, layout.rules.height, 3), np.uint8)
        self.agent, self.carried = np.zeros((count, 3), np.int16), np.zeros((count, 4), np.uint8)
        self._inside, self._steps = np.zeros(self.cells.shape[:3], np.uint8), np.zeros(count, np.int32)
        self._state = (self.cells, self._inside, self.agent, self.carried, self._steps)

    def begin_as(self, starts: Sequence[GridStart]) -> None:
        """Every env begins an episode there."""
        self._lay_out(np.arange(self.count), starts)
        self.carried[:], self._steps[:] = 0, 0
        self._over = np.zeros(self.count, np.bool_)

    def _lay_out(self, envs: np.ndarray, starts: Iterable[GridStart]) -> None:
        for b, start in zip(envs, starts, strict=True):
            self.cells[b], self._inside[b], self.agent[b] = start.cells, start.inside, start.agent

    def reset(self) -> tuple[Observations, Numbers]:
        self._rng = stream(self._seed, "worlds").integers(2**64, size=self.count, dtype=np.uint64)
        if self._source is not None:
            self._source.seed(_seed(self._seed))
        self._over = np.ones(self.count, np.bool_)
        begun = self.step(np.zeros(self.count, np.int64))
        return begun.observations, begun.poses

    def step(self, actions: np.ndarray) -> Step:
        over, reward = self._over, np.empty(self.count, np.float32)
        terminated, truncated = np.empty(self.count, np.bool_), np.empty(self.count, np.bool_)
        observations = np.empty((self.count, *self.observation_shape), np.uint8)
        taken = np.ascontiguousarray(actions, np.int64)
        if taken.shape != (self.count,):
            raise TaskError(f"actions {list(taken.shape)}: {self.count} envs take one each, [{self.count}]")
        if self._source is not None and over.any():
            envs = np.flatnonzero(over)
            self._lay_out(envs, [self._source.draw() for _ in envs])
        self._step(*self._state, self._rng, over, taken, self._layout, reward, terminated, truncated, observations)
        self._over, poses = terminated | truncated, self.agent.copy()
        return Step(observations, poses, reward, terminated, truncated, ~over, *_no_finals(observations, poses))

    def close(self) -> None:
        if self._source is not None:
            self._source.env.close()


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
        self._pool = envpool.make_gymnasium(env_id, num_envs=count, num_threads=threads, seed=_seed(seed))
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
            *_no_finals(observations, poses),
        )

    def _poses(self, seen: Any, info: dict[str, Any]) -> Numbers:
        if "agent_pos" not in info:
            return np.zeros((self.count, 0), np.int16)
        return np.concatenate([info["agent_pos"], seen["direction"][:, None]], axis=1).astype(np.int16)

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
        self._seed = _seed(seed)
        self._over = np.zeros(self.count, np.bool_)

    def reset(self) -> tuple[Observations, Numbers]:
        seen, _ = self._vector.reset(seed=self._seed)
        self._over[:] = False
        return self._read(seen)

    def step(self, actions: np.ndarray) -> Step:
        seen, reward, terminated, truncated, info = self._vector.step(actions)
        observations, poses = self._read(seen)
        terminated, over = np.array(terminated, np.bool_), np.logical_or(terminated, truncated)
        valid, finals = ~self._over, _no_finals(observations, poses)
        if self._same_step and over.any():
            finals = self._finals(over, info)
        elif not self._same_step:
            self._over = over
        return Step(observations, poses, np.asarray(reward, np.float32), terminated, over & ~terminated, valid, *finals)

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


class ShowPose(gymnasium.ObservationWrapper):
    """MiniGrid's observation as `image` and `pose`: x, y and direction of the agent."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        image = env.observation_space["image"]  # type: ignore[index]
        pose = gymnasium.spaces.Box(0, np.iinfo(np.int16).max, (3,), np.int16)
        self.observation_space = gymnasium.spaces.Dict({"image": image, "pose": pose})

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {"image": observation["image"], "pose": pose_of(self.unwrapped)}


def _seed(seed: int) -> int:
    """Where the seeds of the envs begin. Neighbouring seeds of a run begin far apart; EnvPool takes 31 bits."""
    return int(stream(seed, "worlds").integers(2**31 - 2**20))


def _observation_space(env_id: str, space: Any) -> gymnasium.spaces.Box:
    observation = space["image"] if isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces else space
    if isinstance(observation, gymnasium.spaces.Box):
        return observation
    raise TaskError(f"{env_id}: observes {space}; wrap it so that it observes one array, or a dictionary with `image`")


def observation_of(seen: Any) -> Observations:
    """The observation in an observation of one env or of many."""
    observation: Observations = seen["image"] if isinstance(seen, dict) else seen
    return observation


def pose_of(env: Any) -> Numbers:
    """x, y and direction of the agent of a MiniGrid env; of any other, nothing."""
    return np.array([*env.agent_pos, env.agent_dir] if hasattr(env, "agent_pos") else [], np.int16)


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


def _no_finals(observations: Observations, poses: Numbers) -> tuple[Numbers, Observations, Numbers]:
    return np.zeros(0, np.int32), observations[:0], poses[:0]
