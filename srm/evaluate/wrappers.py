"""A machine as the reward of any Gymnasium environment, in other people's loops.

    SymbolicReward(env, machine, event_reader)         one environment
    SymbolicRewardVector(envs, machine, event_reader)  a vector of them, in any autoreset mode

What happens at a step is read when the step is over, the last of an episode included: the machine's pay takes the place of the
reward, and `info` holds `node` (after the step), `rule` (the one that fired, or None), `task_reward` and `machine_reward`. Where
a vector resets within the step, these are in `final_info` for the environments whose episode ended, as Gymnasium has it.

The pay depends on the node as well as on the observation; `show_node` adds the node to the observation.

A wrapper hands out pay step by step, so hindsight comes too late for it: it pays what each step earns at once, and when an
episode of a machine with hindsight is over `info["corrected_pay"]` has what each of its steps should have been paid.

    B envs   N nodes
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from srm.domains.base import EventReader
from srm.domains.envs import numbers_of, pose_of, space_of, vector_numbers
from srm.domains.info import task_of
from srm.domains.reading import EventStream
from srm.domains.spaces import ActionSpace, ObservationSpace, action_space_of, observation_space_of
from srm.errors import TaskError
from srm.evaluate.batched import assignment_of
from srm.evaluate.reference import Judgement, Walk, happenings, signals_at
from srm.machine.fit import require_words
from srm.machine.model import Machine
from srm.trajectory import Mask, Numbers, Observations, Rollout

Seen = tuple[Observations, Numbers]  # observations [B, ...] and poses [B, P]
Info = dict[str, Any]


class HindsightWarning(UserWarning):
    """The machine re-pays earlier steps, which a wrapper has already handed out."""


class _Judges:
    """One walk through the machine for each of B envs, moved on by a step of all of them at once."""

    def __init__(
        self,
        machine: Machine,
        event_reader: EventReader | None,
        values: Mapping[str, float] | None,
        outside_constraint: bool,
        count: int,
    ) -> None:
        event_reader = event_reader or _own_reader(machine)
        require_words(machine, event_reader.vocabulary)
        assignment = assignment_of(machine, values, outside_constraint=outside_constraint)
        by_name = dict(zip(machine.hole_names, assignment.tolist(), strict=True))
        self.event_reader, self._stream = event_reader, EventStream(event_reader)
        self.walks = [Walk(machine, event_reader.vocabulary, by_name) for _ in range(count)]
        self.nodes = {node.name: index for index, node in enumerate(machine.nodes)}
        self.repays = any(rule.hindsight for _, rule, _ in machine.rules)
        if self.repays:
            warnings.warn(
                f"machine {machine.name} re-pays earlier steps, which this wrapper has already handed out; "
                'it pays what is earned at once, and info["corrected_pay"] has the rest when an episode is over',
                HindsightWarning,
                stacklevel=3,
            )

    def begin_episode(self, env: int) -> None:
        self.walks[env].begin_episode()
        self._stream.begin(env)

    def step(
        self,
        before: Seen,
        actions: npt.NDArray[Any],
        after: Seen,
        terminated: Mask,
        truncated: Mask,
        valid: Mask,
        numbers: Mapping[str, npt.NDArray[Any]],
    ) -> list[Judgement | None]:
        """What the machine says of each env's step; None of one that was not valid. `numbers` are those of `info`, [B] of each key."""
        rollout = Rollout(
            observations=np.stack([before[0], after[0]]),
            actions=actions[None],
            poses=np.stack([before[1], after[1]]),
            task_reward=np.zeros((1, len(valid)), np.float32),
            terminated=terminated[None],
            truncated=(truncated & ~terminated)[None],
            valid=valid[None],
            info={key: values[None] for key, values in numbers.items()},
        )
        events, vocabulary = self._stream.read(rollout), self.event_reader.vocabulary
        (happened,) = happenings(events, vocabulary)
        judgements: list[Judgement | None] = [None] * len(valid)
        for env in np.flatnonzero(valid).tolist():
            signals = signals_at(events, vocabulary, 0, env)
            judgements[env] = self.walks[env].step(happened[env], signals, f"a step of env {env}")
            if not self.repays:
                self.walks[env].forget()  # an episode may have any length
        return judgements

    def info(self, env: int, judgement: Judgement, task_reward: float, over: bool) -> Info:
        info: Info = {
            "node": judgement.target,
            "rule": judgement.rule,
            "task_reward": task_reward,
            "machine_reward": judgement.pay,
        }
        if over and self.repays:
            info["corrected_pay"] = tuple(self.walks[env].pay)
        return info

    def one_hot(self) -> npt.NDArray[np.float32]:
        """Where each machine stands, [B, N]."""
        standing = np.zeros((len(self.walks), len(self.nodes)), np.float32)
        standing[np.arange(len(self.walks)), [self.nodes[walk.node] for walk in self.walks]] = 1
        return standing


def _own_reader(machine: Machine) -> EventReader:
    """Of a machine that brings its words along; every other needs an event reader."""
    if machine.info is None:
        raise TaskError(
            f"machine {machine.name} has words that somebody must read: give the event reader of its task, task.event_reader()"
        )
    return task_of(machine).event_reader()


class SymbolicReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays what the machine pays.

    `values` are those of the holes, unless they are written in the machine. A machine in `words info` needs no event reader. `look` is a function from what the environment
    observes to the array that the event reader reads, and the pose. Unless given, the array is the observation itself or its `image`, and the
    pose its `pose`, or that of MiniGrid's agent.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        machine: Machine,
        event_reader: EventReader | None = None,
        values: Mapping[str, float] | None = None,
        *,
        show_node: bool = False,
        outside_constraint: bool = False,
        look: Callable[[Any], tuple[Observations, Numbers]] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            machine=machine,
            event_reader=event_reader,
            values=values,
            show_node=show_node,
            outside_constraint=outside_constraint,
            look=look,
        )
        gymnasium.Wrapper.__init__(self, env)
        self._actions: ActionSpace = action_space_of(str(env), env.action_space)
        self._space: ObservationSpace | None = space_of(env) if look is None else None
        self.machine, self._show_node, self._look = machine, show_node, look
        self._judges = _Judges(machine, event_reader, values, outside_constraint, 1)
        if show_node:
            self.observation_space = _with_node(env.observation_space, len(machine.nodes))

    @property
    def repays(self) -> bool:
        """Whether the machine has hindsight, so that `corrected_pay` differs from what was handed out."""
        return self._judges.repays

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        seen, info = self.env.reset(seed=seed, options=options)
        self._judges.begin_episode(0)
        self._before = self._see(seen)
        return self._observation(seen), {**info, "node": self.machine.start}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        seen, task_reward, terminated, truncated, info = self.env.step(action)
        after, numbers = self._see(seen), {key: np.array([number]) for key, number in numbers_of(info).items()}
        ends = np.array([terminated]), np.array([truncated]), np.ones(1, np.bool_)
        chosen = _actions(self._actions, action, 1)
        (judgement,) = self._judges.step(self._before, chosen, after, *ends, numbers)
        assert judgement is not None
        self._before = after
        info = {**info, **self._judges.info(0, judgement, float(task_reward), bool(terminated or truncated))}
        return self._observation(seen), judgement.pay, terminated, truncated, info

    def _see(self, seen: Any) -> Seen:
        if self._look is not None:
            observation, pose = self._look(seen)
        else:
            assert self._space is not None
            observation = self._space.read(seen)
            pose = self._space.pose(seen) if self._space.has_pose else pose_of(self.env)
        return np.array(observation)[None], np.array(pose)[None]

    def _observation(self, seen: Any) -> Any:
        return _add_node(seen, self._judges.one_hot()[0]) if self._show_node else seen


class SymbolicRewardVector(VectorWrapper[Any, Any, Any, Any, Any]):
    """`SymbolicReward` for many envs at once. `look` is given their observations together and tells observations [B, ...] and
    poses [B, P]; unless given, MiniGrid's envs must show their pose (`srm.domains.minigrid.envs.ShowPose`)."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        machine: Machine,
        event_reader: EventReader | None = None,
        values: Mapping[str, float] | None = None,
        *,
        show_node: bool = False,
        outside_constraint: bool = False,
        look: Callable[[Any], Seen] | None = None,
    ) -> None:
        super().__init__(env)
        self._actions: ActionSpace = action_space_of(str(env), env.single_action_space)
        if not isinstance(env.metadata.get("autoreset_mode"), AutoresetMode):
            raise TaskError(f"{env}: does not say its autoreset mode; set metadata['autoreset_mode']")
        self.machine, self._show_node = machine, show_node
        self._look = look or _looking(observation_space_of(str(env), env.single_observation_space))
        self._mode: AutoresetMode = env.metadata["autoreset_mode"]
        self._judges = _Judges(machine, event_reader, values, outside_constraint, env.num_envs)
        self._resetting = np.zeros(env.num_envs, np.bool_)  # envs whose next step is spent on resetting
        if show_node:
            self.single_observation_space = _with_node(env.single_observation_space, len(machine.nodes))
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    @property
    def repays(self) -> bool:
        """Whether the machine has hindsight, so that `corrected_pay` differs from what was handed out."""
        return self._judges.repays

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        begun = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))  # the vector takes it out
        seen, info = self.env.reset(seed=seed, options=options)
        for env in np.flatnonzero(begun):
            self._judges.begin_episode(int(env))
            info = self._add_info(info, {"node": self.machine.start}, int(env))
        self._resetting[begun] = False
        self._before = _copied(self._look(seen))
        return self._observation(seen), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        seen, task_reward, terminated, truncated, info = self.env.step(actions)
        over, valid = np.logical_or(terminated, truncated), ~self._resetting
        current = _copied(self._look(seen))
        after = self._last_seen(current, over, info)
        ends = np.array(terminated), np.array(truncated), valid
        numbers = vector_numbers(info, over if self._mode is AutoresetMode.SAME_STEP else np.zeros_like(over))
        chosen = _actions(self._actions, actions, self.num_envs)
        judgements = self._judges.step(self._before, chosen, after, *ends, numbers)
        self._before = current
        pay = np.array([judgement.pay if judgement else 0.0 for judgement in judgements])
        for env, judgement in enumerate(judgements):
            info = self._add_step_info(info, env, judgement, float(task_reward[env]), bool(over[env]))
        if self._mode is AutoresetMode.NEXT_STEP:
            self._resetting = over
        return self._observation(seen), pay, terminated, truncated, info

    def _last_seen(self, current: Seen, over: Mask, info: Info) -> Seen:
        """What was truly seen after the step, where a new episode is shown already."""
        if self._mode is not AutoresetMode.SAME_STEP or not over.any():
            return current
        observations, poses = _copied(current)
        for env in np.flatnonzero(over):
            (observations[env],), (poses[env],) = self._look(_batch_of_one(info["final_obs"][env]))
        return observations, poses

    def _add_step_info(self, info: Info, env: int, judgement: Judgement | None, task_reward: float, over: bool) -> Info:
        """Adds what the machine says of the env's step, and begins its next episode where that is shown."""
        walk = self._judges.walks[env]
        if judgement is None:  # the step was spent on resetting
            self._judges.begin_episode(env)
        step_info = self._judges.info(env, judgement, task_reward, over) if judgement else {"node": walk.node}
        within = over and self._mode is AutoresetMode.SAME_STEP
        if within and self._show_node:
            final: Any = info["final_obs"]
            final[env] = _add_node(final[env], self._judges.one_hot()[env])
        if within:
            self._judges.begin_episode(env)
            info = self._add_info(info, {"final_info": step_info}, env)
            step_info = {"node": walk.node}
        return self._add_info(info, step_info, env)

    def _observation(self, seen: Any) -> Any:
        return _add_node(seen, self._judges.one_hot()) if self._show_node else seen


def _looking(space: ObservationSpace) -> Callable[[Any], Seen]:
    return lambda seen: (space.read(seen), space.pose(seen))


def _actions(space: ActionSpace, actions: Any, count: int) -> npt.NDArray[Any]:
    """[B] or [B, A], as event readers know them."""
    return np.asarray(actions, space.dtype).reshape(count, *space.shape)


def _copied(seen: Seen) -> Seen:
    """A vector environment may write the next observation into the same arrays."""
    return np.array(seen[0]), np.array(seen[1])


def _batch_of_one(seen: Any) -> Any:
    if isinstance(seen, dict):
        return {name: _batch_of_one(part) for name, part in seen.items()}
    return tuple(map(_batch_of_one, seen)) if isinstance(seen, tuple) else np.asarray(seen)[None]


def _with_node(space: spaces.Space[Any], nodes: int) -> spaces.Dict:
    node = spaces.Box(0, 1, (nodes,), np.float32)
    if isinstance(space, spaces.Dict):
        return spaces.Dict({**space.spaces, "node": node})
    return spaces.Dict({"observation": space, "node": node})


def _add_node(seen: Any, node: npt.NDArray[np.float32]) -> dict[str, Any]:
    return {**seen, "node": node} if isinstance(seen, dict) else {"observation": seen, "node": node}
