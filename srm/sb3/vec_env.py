"""A machine as the reward of a `VecEnv` of Stable-Baselines3.

    env = MachineVecEnv(make_vec_env("MountainCar-v0", 8), machine, event_reader)
    PPO("MlpPolicy", env).learn(100_000)

`infos` have what the wrappers of `srm.evaluate.wrappers` put there. The policy may see something else than the event reader reads
(`encode`), the machine's node and counters (`show_node`), and pay that is shaped along the machine (`shaping`).

    B envs
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from srm.domains.base import EventReader
from srm.domains.envs import numbers_of, stacked_info
from srm.domains.spaces import action_space_of, observation_space_of
from srm.errors import SettingError, TaskError
from srm.evaluate.ledger import Ledger
from srm.evaluate.show_node import NodeView, ShowNode
from srm.evaluate.step_payer import Seen, StepPayer
from srm.evaluate.wrappers import batch_of_one, last_seen, looking
from srm.machine.model import Machine

Infos = list[dict[str, Any]]
TIME_LIMIT = "TimeLimit.truncated"  # where Stable-Baselines3 says that time ran out


class MachineVecEnv(VecEnvWrapper):
    """Pays what the machine pays.

    Args:
        venv: Environments of Stable-Baselines3.
        machine: The machine.
        event_reader: Reads what happens in them; a machine in `words info` needs none.
        values: Of the holes, unless they are written in the machine.
        show_node: Adds the node to what the policy sees, one-hot; `"counters"` adds counters too.
        bounds: Up to where counters are told apart, where that is not what the machine itself says.
        shaping: The learner's discount. The pay is then shaped by a potential of the machine's nodes, which leaves optimal
            policies what they are.
        encode: From what the environments observe together to the array [B, ...] that the policy sees in its place.
        look: From what they observe together to the observations [B, ...] and poses [B, P] that the event reader reads.
        outside_constraint: Whether the values may break the machine's constraint.
    """

    def __init__(
        self,
        venv: VecEnv,
        machine: Machine,
        event_reader: EventReader | None = None,
        values: Mapping[str, float] | None = None,
        *,
        show_node: ShowNode = False,
        bounds: Mapping[str, int] | None = None,
        shaping: float | None = None,
        encode: Callable[[Any], np.ndarray] | None = None,
        look: Callable[[Any], Seen] | None = None,
        outside_constraint: bool = False,
    ) -> None:
        if not isinstance(venv, VecEnv):
            raise TaskError(
                f"{venv}: is no VecEnv of Stable-Baselines3; write make_vec_env(ID, count), or DummyVecEnv([lambda: env])"
            )
        self.payer = StepPayer(
            machine,
            event_reader,
            values,
            envs=venv.num_envs,
            outside_constraint=outside_constraint,
            action_space=action_space_of("these environments", venv.action_space),
            discount=shaping,
        )
        self._encode, self._watching, self._begun = encode, list[Ledger](), False
        self._look = look or looking(observation_space_of("these environments", venv.observation_space))
        self.view = NodeView.of(self.payer, show_node, bounds)
        seen = encoded_space(venv.observation_space, encode)
        super().__init__(venv, observation_space=seen if self.view is None else self.view.space(seen))

    def concretize(self, values: Mapping[str, float]) -> None:
        """Other values for the holes: a posterior has moved. Whoever watches re-pays what it holds."""
        self.payer.concretize(values, outside_constraint=True)

    def watch(self, steps: int) -> Ledger:
        """What happens from now on, at least the last so many steps of it."""
        self._watching.append(Ledger(self.payer.program, steps))
        return self._watching[-1]

    def reset(self) -> Any:
        seen = self.venv.reset()
        for ledger in self._watching:
            ledger.end_episodes()
        self.payer.begin(self._look(seen))
        self._begun = True
        return self._observation(seen)

    def step_async(self, actions: np.ndarray) -> None:
        if not self._begun:
            raise TaskError("a step before the first reset; call reset() first, as `learn` does")
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, Infos]:
        seen, task_reward, over, infos = self.venv.step_wait()
        payer, ended = self.payer, np.flatnonzero(over)
        current = self._look(seen)
        after = last_seen(current, ended, lambda env: self._look(batch_of_one(infos[env]["terminal_observation"])))
        truncated = np.array([bool(info.get(TIME_LIMIT, False)) for info in infos]) & over
        payer.step(self._actions, after, over & ~truncated, truncated, info=_numbers(infos))
        if self._watching:
            events, paid = payer.last_events(), payer.pay[None].copy()
            for ledger in self._watching:
                ledger.add(events, over[None].copy(), np.ones((1, len(over)), np.bool_), paid)
        infos = self._infos(infos, task_reward, ended, over)
        self.nodes_after = payer.nodes.copy()
        pay = payer.pay + payer.shaping(over & ~truncated)
        self._restart(over, current)
        return self._observation(seen), pay.astype(np.float32), over, infos

    # The parts of a step

    def _infos(self, infos: Infos, task_reward: np.ndarray, ended: np.ndarray, over: np.ndarray) -> Infos:
        payer = self.payer
        names, labels = payer.node_names[payer.nodes], payer.labels[payer.rule]
        pay = payer.pay.tolist()
        views = self.view.all() if self.view is not None and len(ended) else {}
        for env, info in enumerate(infos):
            info.update(node=names[env], rule=labels[env], task_reward=float(task_reward[env]), machine_reward=pay[env])
            if payer.repays and (over[env] or payer.repaying[payer.rule[env]]):
                info["corrected_pay"] = payer.corrected(env)
        for env in ended.tolist():
            last = self._seen_by_policy(batch_of_one(infos[env]["terminal_observation"]))
            last = {name: part[0] for name, part in last.items()} if isinstance(last, dict) else last[0]
            if self.view is not None:
                last = self.view.add(last, {name: part[env] for name, part in views.items()})
            infos[env]["terminal_observation"] = last
        return infos

    def _restart(self, over: np.ndarray, current: Seen) -> None:
        if over.any():
            self.payer.restart(over)
            self.payer.show(current)

    def _seen_by_policy(self, seen: Any) -> Any:
        return seen if self._encode is None else self._encode(seen)

    def _observation(self, seen: Any) -> Any:
        seen = self._seen_by_policy(seen)
        return seen if self.view is None else self.view.add(seen, self.view.all())


def machine_env(env: Any, whose: str) -> MachineVecEnv:
    """The one within other wrappers."""
    while isinstance(env, VecEnvWrapper):
        if isinstance(env, MachineVecEnv):
            return env
        env = env.venv
    raise SettingError(f"no machine pays {whose}; give a srm.sb3.MachineVecEnv")


def encoded_space(space: spaces.Space[Any], encode: Callable[[Any], np.ndarray] | None) -> spaces.Space[Any]:
    """Of what the policy sees."""
    if encode is None:
        return space
    sample = encode(create_empty_array(space, 1, np.zeros))
    return spaces.Box(-np.inf, np.inf, sample.shape[1:], np.float32)


def _numbers(infos: Infos) -> dict[str, np.ndarray]:
    """The numbers of all infos, [1, B] of each key."""
    rows = [{key: number for key, number in numbers_of(info).items() if key != TIME_LIMIT} for info in infos]
    return {key: row[None] for key, row in stacked_info(rows).items()} if any(rows) else {}
