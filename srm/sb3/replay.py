"""Replay buffers for DQN, SAC and TD3 that are paid again, and that know what a step would have paid elsewhere in the machine.

*Paid again*: when a rule with hindsight fires, the episode's earlier steps are re-paid at once; when the holes have other values
(`MachineVecEnv.concretize`), all steps are, before the next batch is drawn.

*Shaping* is added when a batch is drawn, by the potential as it is then.

*Counterfactual experience* (Toro Icarte et al. 2022): the same step, had the machine stood elsewhere. What it would have paid at each
of S places, and where it would have led, is kept beside the step; a batch is drawn from all places alike, as if each had been stored.

    R rows of the buffer   B envs   S places   C counters   n samples
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
from stable_baselines3.common.vec_env import VecNormalize

from srm.errors import MachineError, SettingError
from srm.evaluate.counterfactual import Elsewhere
from srm.evaluate.ledger import Ledger
from srm.evaluate.potential import shaping
from srm.sb3.vec_env import MachineVecEnv


class MachineReplayBuffer(ReplayBuffer):
    """For observations that are one array."""

    def __init__(self, *arguments: Any, env: MachineVecEnv, counterfactual: bool = False, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.env, self.ledger = env, env.watch(self.buffer_size)
        self._numbers = np.zeros(self.buffer_size, np.int64)  # of each row's step, as the ledger counts them
        self._values = env.payer.values
        self._nodes = np.zeros((2, self.buffer_size, self.n_envs), np.int16)  # before and after each step
        self._elsewhere = PlaceMemory(env, self.buffer_size) if counterfactual else None

    def add(
        self, obs: Any, next_obs: Any, action: np.ndarray, reward: np.ndarray, done: np.ndarray, infos: Any
    ) -> None:
        row = self.pos
        super().add(obs, next_obs, action, reward, done, infos)
        self.rewards[row] = [info["machine_reward"] for info in infos]
        self._nodes[:, row] = self.env.payer.nodes_before, self.env.nodes_after
        for env, info in enumerate(infos):
            if "corrected_pay" in info:
                self._correct(row, env, info["corrected_pay"])
        if self._elsewhere is not None:
            self._elsewhere.add(row)
        # Steps that are in no row, such as an evaluation in these environments, may stand between.
        self._numbers[row] = self.ledger.count - 1
        self.ledger.needed = int(self._numbers[self.pos if self.full else 0])

    def _correct(self, row: int, env: int, pay: np.ndarray) -> None:
        """The pay of the env's episode, whose last step is in `row`."""
        kept = min(len(pay), self.buffer_size)
        self.rewards[(row - kept + 1 + np.arange(kept)) % self.buffer_size, env] = pay[-kept:]

    def repay(self) -> None:
        """Everything, by the values as they are."""
        payer = self.env.payer
        self._values = payer.values
        rows = slice(self.size())
        steps = self._numbers[rows] - self.ledger.count  # counted from the end
        self.rewards[rows] = self.ledger.pay(payer.assignment)[steps]
        if self._elsewhere is not None:
            self._elsewhere.repay(self.ledger, rows, steps)

    def __getstate__(self) -> Any:
        raise SettingError(
            "a replay buffer that a machine pays is not saved; a model that is loaded fills a new one once it is paid again"
        )

    # A batch

    def sample(self, batch_size: int, env: VecNormalize | None = None) -> Any:
        if self._values is not self.env.payer.values:
            self.repay()
        return super().sample(batch_size, env)

    def _get_samples(self, batch_inds: np.ndarray, env: VecNormalize | None = None) -> Any:
        at = batch_inds, np.random.randint(self.n_envs, size=len(batch_inds))  # noqa: NPY002  (as its base class draws)
        before, after = self._nodes[0][at], self._nodes[1][at]
        rewards, dones = self.rewards[at], self.dones[at] * (1 - self.timeouts[at])
        seen, next_seen = self._pick(self.observations, at), self._pick(self.next_observations, at)
        terminated = dones > 0
        if self._elsewhere is not None:
            drawn = self._elsewhere.draw(*at)
            before, after, rewards = drawn.nodes, drawn.next_nodes, drawn.pay
            seen, next_seen = {**seen, **drawn.view}, {**next_seen, **drawn.next_view}
            dones = np.maximum(dones, drawn.silent)
        payer = self.env.payer
        if payer.potential is not None and payer.discount is not None:
            rewards = rewards + shaping(payer.potential, payer.discount, before, after, terminated)
        return self._samples(
            self._normalize_obs(seen, env),
            self.actions[at],
            self._normalize_obs(next_seen, env),
            dones.astype(np.float32).reshape(-1, 1),
            self._normalize_reward(rewards.astype(np.float32).reshape(-1, 1), env),
        )

    def _pick(self, array: Any, at: tuple[np.ndarray, np.ndarray]) -> Any:
        return array[at]

    def _samples(self, *parts: Any) -> Any:
        return ReplayBufferSamples(*map(self.to_torch, parts))


class MachineDictReplayBuffer(MachineReplayBuffer, DictReplayBuffer):
    """For observations that are dictionaries, as those that show the node are."""

    def _pick(self, array: Any, at: tuple[np.ndarray, np.ndarray]) -> Any:
        return {name: part[at] for name, part in array.items()}

    def _samples(self, seen: Any, actions: Any, next_seen: Any, dones: Any, rewards: Any) -> Any:
        seen, next_seen = ({name: self.to_torch(part) for name, part in parts.items()} for parts in (seen, next_seen))
        return DictReplayBufferSamples(
            seen, self.to_torch(actions), next_seen, self.to_torch(dones), self.to_torch(rewards)
        )


@dataclass(frozen=True, eq=False)
class PlaceSamples:
    """Steps as they would have been at n places."""

    nodes: np.ndarray  # [n]
    next_nodes: np.ndarray  # [n]
    pay: np.ndarray  # [n]
    silent: np.ndarray  # [n] bool
    view: dict[str, np.ndarray]  # what the policy sees of the place
    next_view: dict[str, np.ndarray]


class PlaceMemory:
    """What each step of a buffer would have paid at every place, and where it would have led."""

    def __init__(self, env: MachineVecEnv, rows: int) -> None:
        if env.view is None:
            raise MachineError("counterfactual experience needs a policy that sees the node; give show_node=True")
        self._payer, self._view, self._places = env.payer, env.view, env.view.counterfactual()
        counters = len(env.payer.program.machine.counters)
        shape = rows, env.payer.envs, len(self._places.nodes)
        self._pay, self._silent = np.zeros(shape, np.float32), np.zeros(shape, np.bool_)
        self._next_nodes, self._next_counts = np.zeros(shape, np.int16), np.zeros((*shape, counters), np.int32)
        self._counts = np.zeros((rows, env.payer.envs, counters), np.int32)  # before each step

    def add(self, row: int) -> None:
        """The step that was just made."""
        self._counts[row] = self._payer.counts_before
        self._keep(row, self._places.last_step())

    def repay(self, ledger: Ledger, rows: slice, steps: np.ndarray) -> None:
        """The steps of these rows, by the values as they are."""
        counts = np.zeros((len(ledger), *self._counts.shape[1:]), np.int32)
        counts[steps] = self._counts[rows]
        self._keep(rows, self._places.steps(ledger.side_by_side(), np.concatenate(counts)), steps)

    def _keep(self, rows: int | slice, elsewhere: Elsewhere, steps: Any = 0) -> None:
        for kept, computed in (
            (self._pay, elsewhere.pay),
            (self._silent, elsewhere.silent),
            (self._next_nodes, elsewhere.next_nodes),
            (self._next_counts, elsewhere.next_counts),
        ):
            envs_places = kept.shape[1:3]
            kept[rows] = computed.reshape(len(computed) // envs_places[0], *kept.shape[1:])[steps]

    def draw(self, rows: np.ndarray, envs: np.ndarray) -> PlaceSamples:
        """A place for each of n steps, any as likely as any other."""
        place = np.random.randint(len(self._places.nodes), size=len(rows))  # noqa: NPY002  (as the buffer draws)
        at = rows, envs, place
        nodes, counts = self._places.nodes[place], self._places.counts_at(place, self._counts[rows, envs])
        view, next_view = self._view.at(nodes, counts), self._view.at(self._next_nodes[at], self._next_counts[at])
        return PlaceSamples(nodes, self._next_nodes[at], self._pay[at], self._silent[at], view, next_view)
