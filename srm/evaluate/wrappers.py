"""A machine as the reward of any Gymnasium environment, in other people's loops.

    SymbolicReward(env, machine, event_reader)         one environment
    SymbolicRewardVector(envs, machine, event_reader)  a vector of them, in any autoreset mode

What happens at a step is read when the step is over, the last of an episode included: the machine's pay takes the place of the
reward, and `info` holds `node` (after the step), `rule` (the one that fired, or None), `task_reward` and `machine_reward`. Where
a vector resets within the step, these are in `final_info` for the environments whose episode ended, as Gymnasium has it.

The pay depends on the node, and on counters, as well as on the observation; `show_node` adds them to the observation.

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
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from srm.domains.base import EventReader
from srm.domains.envs import numbers_of, space_of, vector_numbers
from srm.domains.registry import domain_of_env
from srm.domains.spaces import ObservationSpace, action_space_of, observation_space_of
from srm.errors import MachineError, TaskError
from srm.evaluate.counterfactual import Counterfactual, Elsewhere
from srm.evaluate.show_node import NodeView, ShowNode
from srm.evaluate.step_payer import Seen, StepPayer
from srm.machine.model import Machine
from srm.trajectory import Mask, Numbers, Observations

Info = dict[str, Any]


class HindsightWarning(UserWarning):
    """The machine re-pays earlier steps, which a wrapper has already handed out."""


def warn_of_hindsight(payer: StepPayer, stacklevel: int = 3) -> None:
    if payer.repays:
        warnings.warn(
            f"machine {payer.program.machine.name} re-pays earlier steps, which this wrapper has already handed out; "
            'it pays what is earned at once, and info["corrected_pay"] has the rest when an episode is over',
            HindsightWarning,
            stacklevel=stacklevel + 1,
        )


class SymbolicReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays what the machine pays.

    `values` are those of the holes, unless they are written in the machine. A machine in `words info` needs no event reader. `show_node` adds the node to the observation, one-hot;
    `"counters"` adds the counters as well, bounded ones one-hot and others scaled, and `bounds` says up to where counters are told apart
    where that is not what the machine itself says. `shaping` is the learner's discount: the reward is then shaped by a potential of the nodes,
    which leaves optimal policies what they are. `look` is a function from what the environment
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
        show_node: ShowNode = False,
        bounds: Mapping[str, int] | None = None,
        shaping: float | None = None,
        outside_constraint: bool = False,
        look: Callable[[Any], tuple[Observations, Numbers]] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            machine=machine,
            event_reader=event_reader,
            values=values,
            show_node=show_node,
            bounds=bounds,
            shaping=shaping,
            outside_constraint=outside_constraint,
            look=look,
        )
        gymnasium.Wrapper.__init__(self, env)
        self.machine, self._look = machine, look
        self._payer = StepPayer(
            machine,
            event_reader,
            values,
            envs=1,
            outside_constraint=outside_constraint,
            action_space=action_space_of(str(env), env.action_space),
            discount=shaping,
        )
        warn_of_hindsight(self._payer)
        self._view = NodeView.of(self._payer, show_node, bounds)
        if self._view is not None:
            self.observation_space = self._view.space(env.observation_space)
        self._places: Counterfactual | None = None
        self._over = True  # no episode is under way
        self._space = space_of(env) if look is None else None
        domain = domain_of_env(env)
        self._pose = None if domain is None else domain.pose

    @property
    def repays(self) -> bool:
        """Whether the machine has hindsight, so that `corrected_pay` differs from what was handed out."""
        return self._payer.repays

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        seen, info = self.env.reset(seed=seed, options=options)
        observation, pose = self._see(seen)
        self._payer.begin((observation[None], pose[None]))
        self._over = False
        return self._observation(seen), {**info, "node": self.machine.start}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        if self._over:
            raise TaskError(
                f"{self.env}: a step without an episode; call reset() first, and again after an episode's end"
            )
        seen, task_reward, terminated, truncated, info = self.env.step(action)
        payer = self._payer
        numbers = {key: np.array([[number]]) for key, number in numbers_of(info).items()} if info else None
        payer.step(action, self._see(seen), terminated, truncated and not terminated, info=numbers)
        self._over = over = bool(terminated or truncated)
        pay = payer.pay.item()
        info = {
            **info,
            "node": payer.node_names[payer.nodes.item()],
            "rule": payer.labels[payer.rule.item()],
            "task_reward": float(task_reward),
            "machine_reward": pay,
        }
        if over and payer.repays:
            info["corrected_pay"] = tuple(payer.corrected(0).tolist())
        if payer.potential is not None:
            pay += float(payer.shaping(terminated)[0])  # type: ignore[index]
        return self._observation(seen), pay, terminated, truncated, info

    def elsewhere(self) -> Elsewhere:
        """What the last step would have paid at every node, and where it would have led: arrays of B = 1. `view_of` shows such places."""
        return _places_of(self).last_step()

    def view_of(
        self, nodes: npt.NDArray[np.int32], counts: npt.NDArray[np.int32]
    ) -> dict[str, npt.NDArray[np.float32]]:
        """What `show_node` shows of machines at nodes [n] with counts [n, C]."""
        assert self._view is not None
        return self._view.at(nodes, counts)

    def _see(self, seen: Any) -> Seen:
        if self._space is None:
            assert self._look is not None
            observation, pose = self._look(seen)
            return np.asarray(observation), np.asarray(pose)
        observation = self._space.read(seen)
        if self._space.has_pose:
            return observation, self._space.pose(seen)
        return observation, NO_POSE if self._pose is None else self._pose(self.env.unwrapped)

    def _observation(self, seen: Any) -> Any:
        return seen if self._view is None else self._view.add(seen, self._view.one(0))


NO_POSE = np.zeros(0, np.int16)


def _places_of(env: SymbolicReward) -> Counterfactual:
    if env._view is None:
        raise MachineError(
            "a learner that does not see the node cannot learn what happens elsewhere; give show_node=True"
        )
    if env._places is None:
        env._places = env._view.counterfactual()
    return env._places


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
        show_node: ShowNode = False,
        bounds: Mapping[str, int] | None = None,
        shaping: float | None = None,
        outside_constraint: bool = False,
        look: Callable[[Any], Seen] | None = None,
    ) -> None:
        super().__init__(env)
        if not isinstance(env.metadata.get("autoreset_mode"), AutoresetMode):
            raise TaskError(f"{env}: does not say its autoreset mode; set metadata['autoreset_mode']")
        self.machine = machine
        self._look = look or looking(observation_space_of(str(env), env.single_observation_space))
        self._mode: AutoresetMode = env.metadata["autoreset_mode"]
        self._payer = StepPayer(
            machine,
            event_reader,
            values,
            envs=env.num_envs,
            outside_constraint=outside_constraint,
            action_space=action_space_of(str(env), env.single_action_space),
            discount=shaping,
        )
        warn_of_hindsight(self._payer)
        self._over = np.ones(env.num_envs, np.bool_)  # envs whose episode is over
        self._view = NodeView.of(self._payer, show_node, bounds)
        if self._view is not None:
            self.single_observation_space = self._view.space(env.single_observation_space)
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    @property
    def repays(self) -> bool:
        """Whether the machine has hindsight, so that `corrected_pay` differs from what was handed out."""
        return self._payer.repays

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        begun = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))  # the vector takes it out
        seen, info = self.env.reset(seed=seed, options=options)
        self._payer.begin(self._look(seen), begun)
        self._over[begun] = False
        start = np.full(self.num_envs, self.machine.start, object)
        return self._observation(seen), {**info, **_masked({"node": start}, begun)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        waiting = self._over.copy()
        if waiting.any() and self._mode is not AutoresetMode.NEXT_STEP:
            raise TaskError(
                f"{self.env}: a step of env {int(waiting.argmax())} without an episode; call reset() first, and again after an episode's end"
            )
        seen, task_reward, terminated, truncated, info = self.env.step(actions)
        over = np.logical_or(terminated, truncated)
        within = over if self._mode is AutoresetMode.SAME_STEP else np.zeros_like(over)
        current = self._look(seen)
        after = last_seen(current, np.flatnonzero(within), lambda env: self._look(batch_of_one(info["final_obs"][env])))
        self._pay(actions, after, np.asarray(terminated), over, ~waiting, info)
        pay = self._payer.pay + self._payer.shaping(np.asarray(terminated))
        info = self._add_info_of(info, np.array(task_reward, np.float64), over, within, waiting)
        if after is not current:
            self._payer.show(current)
        self._over = over if self._mode is not AutoresetMode.SAME_STEP else self._over
        return self._observation(seen), pay, terminated, truncated, info

    def _pay(self, actions: Any, after: Seen, terminated: Mask, over: Mask, valid: Mask, info: Info) -> None:
        if info:
            within = over & (self._mode is AutoresetMode.SAME_STEP)
            numbers = {key: row[None] for key, row in vector_numbers(info, within).items()}
        else:
            numbers = {}
        truncated = over & ~terminated
        self._payer.step(actions, after, terminated, truncated, valid=valid, info=numbers)

    def _add_info_of(self, info: Info, task_reward: npt.NDArray[Any], over: Mask, within: Mask, waiting: Mask) -> Info:
        """Adds what the machine says of the step, and begins the next episode where that is shown."""
        payer, valid = self._payer, ~waiting
        verdict: dict[str, npt.NDArray[Any]] = {
            "rule": payer.labels[payer.rule],
            "task_reward": task_reward,
            "machine_reward": payer.pay.copy(),
        }
        if payer.repays and over.any():
            verdict["corrected_pay"] = np.full(self.num_envs, None)
            for env in np.flatnonzero(over).tolist():
                verdict["corrected_pay"][env] = tuple(payer.corrected(env).tolist())
        if waiting.any():  # the step was spent on resetting
            payer.restart(waiting)
        if not within.any():
            ended = {"corrected_pay": over & valid}
            masks = {name: ended.get(name, valid) for name in verdict}
            every = np.ones(self.num_envs, np.bool_)
            return {**info, **_masked({"node": payer.node_names[payer.nodes]}, every), **_masked(verdict, masks)}
        final = {"node": payer.node_names[payer.nodes], **verdict}
        if self._view is not None:
            views = self._view.all()
            for env in np.flatnonzero(within).tolist():
                info["final_obs"][env] = self._view.add(info["final_obs"][env], {k: v[env] for k, v in views.items()})
        payer.restart(within)
        last = {**info.get("final_info", {}), **_masked(final, within)}
        verdict.pop("corrected_pay", None)
        every = np.ones(self.num_envs, np.bool_)
        return {
            **info,
            "final_info": last,
            "_final_info": within,
            **_masked({"node": payer.node_names[payer.nodes]}, every),
            **_masked(verdict, valid & ~within),
        }

    def _observation(self, seen: Any) -> Any:
        return seen if self._view is None else self._view.add(seen, self._view.all())


def _masked(arrays: Mapping[str, npt.NDArray[Any]], mask: Mask | Mapping[str, Mask]) -> Info:
    """As Gymnasium has the infos of a vector: [B] of each key, and in `_key` of which envs."""
    masks = mask if isinstance(mask, Mapping) else dict.fromkeys(arrays, mask)
    return {**arrays, **{f"_{name}": masks[name] for name in arrays}}


def looking(space: ObservationSpace) -> Callable[[Any], Seen]:
    """The arrays in what B envs observe together."""
    return lambda seen: (space.read(seen), space.pose(seen))


def last_seen(current: Seen, envs: npt.NDArray[np.intp], look: Callable[[int], Seen]) -> Seen:
    """What was truly seen after the step, where `envs` show a new episode already."""
    if len(envs) == 0:
        return current
    observations, poses = np.array(current[0]), np.array(current[1])
    for env in envs.tolist():
        (observations[env],), (poses[env],) = look(env)
    return observations, poses


def batch_of_one(seen: Any) -> Any:
    """What one env observes, as a vector of one would."""
    if isinstance(seen, dict):
        return {name: batch_of_one(part) for name, part in seen.items()}
    return tuple(map(batch_of_one, seen)) if isinstance(seen, tuple) else np.asarray(seen)[None]
