"""Play the environments with a policy, and keep what the policy computed while it played.

    T steps, B envs, L frames seen at once, M numbers of memory; one more row for the observation after the last step

`Player.collect` returns a `Batch`: a rollout that anybody may read, and beside it the frames, memory and outputs of the policy
that played it, which `update` of a learner reads. Acting costs one forward pass of B samples a step; values come with it, so that
nothing is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from srm.domains.envs import Envs, Step, gather
from srm.domains.spaces import Spaces
from srm.rl.distributions import Distribution
from srm.rl.nn.frames import ages, episode_starts, mask_old, newest_rows
from srm.rl.nn.nets import Net, NetInput
from srm.seeding import stream
from srm.trajectory import Mask, Rollout


@dataclass(frozen=True, eq=False)
class Batch:
    """A rollout as the policy saw it."""

    rollout: Rollout
    frames: np.ndarray  # [R, D], laid out as in `nn/frames.py`
    rows: np.ndarray  # [T+1, B, L]
    episode_start: Mask  # [T+1, B]
    memory: np.ndarray  # [T+1, B, M] before each step, and before it was forgotten where an episode begins
    outputs: dict[str, np.ndarray]  # [T+1, B, ...] of the net that played, by name
    policy: Distribution  # what those are read as
    repeats: bool  # whether many frames are equal
    visits: np.ndarray | None = None  # [T, B] of the state after each step, where the learner counts them

    @property
    def values(self) -> np.ndarray:
        """[T, B] the critic's, before each step."""
        return self.outputs["value"][:-1]

    @cached_property
    def log_prob(self) -> np.ndarray:
        """log pi(a|s) [T, B] of the policy that played; 0 where a step is not valid."""
        outputs = {name: output[:-1] for name, output in self.outputs.items()}
        return self.policy.log_prob(outputs, self.rollout.actions) * self.rollout.valid


class Player:
    """B envs, and where in them and in its memory the policy is."""

    def __init__(self, envs: Envs, net: Net, num_steps: int, seed: int) -> None:
        self.envs, self.net, self.num_steps = envs, net, num_steps
        self.seed, self._round = seed, 0
        self._newest = newest_rows(num_steps, envs.count, net.lags)
        self._observations, self._poses = envs.reset()
        self._episode_start = np.ones(envs.count, np.bool_)
        self._age = np.zeros(envs.count, np.int64)  # one step before `_observations`; unread where `_episode_start`
        self._memory = np.zeros((envs.count, net.memory), np.float32)
        self._before = np.tile(net.blank(), ((net.lags - 1) * envs.count, 1))  # [(L - 1) * B, D]

    @property
    def spaces(self) -> Spaces:
        return Spaces(self.envs.observation_space, self.envs.action_space)

    def start_at(self, round: int) -> None:
        """Draw actions as in this round and those after it, as a resumed run must."""
        self._round = round

    def collect(self, greedy: bool = False) -> Batch:
        """T steps of every env, which continue those of the batch before."""
        with self.net.fixed():
            return self._collect(greedy)

    def _collect(self, greedy: bool) -> Batch:
        # Room for T steps
        count, num_steps, lags = self.envs.count, self.num_steps, self.net.lags
        frames = np.empty(((lags + num_steps) * count + 1, self._before.shape[-1]), self._before.dtype)
        frames[: (lags - 1) * count] = self._before
        frames[-1] = self.net.blank()
        rows = np.empty((num_steps + 1, count, lags), np.uint32)
        episode_start = np.empty((num_steps + 1, count), np.bool_)
        memory = np.empty((num_steps + 1, count, self.net.memory), np.float32)
        noise = self._noise(greedy)
        outputs: dict[str, np.ndarray] = {}
        actions, answers = [], []
        observations, poses = self._observations, self._poses

        for t in range(num_steps + 1):
            # See
            newest = (lags - 1 + t) * count
            frames[newest : newest + count] = self.net.encode(self._observations)
            episode_start[t], memory[t] = self._episode_start, self._memory
            age = np.where(self._episode_start, 0, self._age + 1)
            rows[t] = mask_old(self._newest[t], age, len(frames) - 1)

            # Think
            computed, memory_after = self.net(
                NetInput(frames, rows[t], torch.from_numpy(memory[t]), torch.from_numpy(episode_start[t : t + 1]))
            )
            for name, output in computed.items():
                if t == 0:
                    outputs[name] = np.empty((num_steps + 1, *output.shape), np.float32)
                outputs[name][t] = output.numpy()
            if t == num_steps:
                break

            # Act
            self._memory, self._age = memory_after.numpy(), age
            actions.append(self.net.policy.act({name: output[t] for name, output in outputs.items()}, noise[t]))
            answers.append(self.envs.step(actions[-1]))
            self._observe(answers[-1])

        # What the next batch continues
        self._before = frames[num_steps * count : (num_steps + lags - 1) * count].copy()
        self._round += 1
        rollout = gather(observations, poses, actions, answers)
        return Batch(rollout, frames, rows, episode_start, memory, outputs, self.net.policy, self.net.encoder.repeats)

    def _observe(self, step: Step) -> None:
        self._observations, self._poses = step.observations, step.poses
        self._episode_start = ~step.valid
        self._episode_start[step.final_env] = True

    def _noise(self, greedy: bool) -> np.ndarray:
        """[T, B, ...] of which the policy makes draws."""
        # One stream a round, so that a resumed run needs no generator's state.
        rng = None if greedy else stream(self.seed, f"actions {self._round}")
        return self.net.policy.noise(rng, (self.num_steps, self.envs.count))


def batch_of(net: Net, rollout: Rollout) -> Batch:
    """A rollout that this policy need not have played, as it sees it: every env's first observation begins an episode.

    It has no outputs: `recompute` makes them.
    """
    num_steps, count, lags = rollout.steps, rollout.envs, net.lags
    blank = net.blank()
    encoded = net.encode(rollout.observations).reshape((num_steps + 1) * count, -1)
    frames = np.concatenate([np.tile(blank, ((lags - 1) * count, 1)), encoded, blank[None]])
    episode_start = episode_starts(rollout, np.ones(count, np.bool_))
    age = ages(episode_start, np.zeros(count, np.int64))
    rows = mask_old(newest_rows(num_steps, count, lags), age, len(frames) - 1)
    memory = np.zeros((num_steps + 1, count, net.memory), np.float32)
    return Batch(rollout, frames, rows, episode_start, memory, {}, net.policy, net.encoder.repeats)


def recompute(net: Net, batch: Batch) -> dict[str, np.ndarray]:
    """The net's outputs [T, B, ...] along a rollout, with the weights it has now; memory runs from the first step's."""
    num_steps, count = batch.rollout.valid.shape
    memory = torch.from_numpy(batch.memory[0])
    if net.memory:
        chunks = [slice(t, t + 1) for t in range(num_steps)]
    else:  # no step needs the one before it: as many at once as fit the cache
        size = max(1, 1024 // count)
        chunks = [slice(t, min(t + size, num_steps)) for t in range(0, num_steps, size)]
    parts: list[dict[str, np.ndarray]] = []
    with net.fixed():
        for chunk in chunks:
            rows = batch.rows[chunk].reshape(-1, net.lags)
            outputs, memory = net(NetInput(batch.frames, rows, memory, torch.from_numpy(batch.episode_start[chunk])))
            parts.append(
                {name: output.numpy().reshape(-1, count, *output.shape[1:]) for name, output in outputs.items()}
            )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def log_probs_along(net: Net, rollout: Rollout) -> np.ndarray:
    """log pi(a|s) [T, B] of a policy as it is, along any rollout; 0 where a step is not valid."""
    outputs = recompute(net, batch_of(net, rollout))
    return net.policy.log_prob(outputs, rollout.actions) * rollout.valid


@torch.no_grad()
def next_values(net: Net, batch: Batch) -> np.ndarray:
    """[T, B] the critic's value of the true observation after each step."""
    rollout = batch.rollout
    values = batch.outputs["value"][1:].copy()
    if len(rollout.final_step) == 0:
        return values
    # Where an env already shows the next episode, the last observation of the old one was kept aside.
    step, env = rollout.final_step, rollout.final_env
    frames = np.concatenate([batch.frames, net.encode(rollout.final_observations)])
    own = np.arange(len(batch.frames), len(frames), dtype=np.uint32)[:, None]
    rows = np.concatenate([own, batch.rows[step, env, :-1]], axis=1)
    memory = torch.from_numpy(batch.memory[step + 1, env])
    outputs, _ = net(NetInput(frames, rows, memory, torch.zeros(1, len(step), dtype=torch.bool)))
    values[step, env] = outputs["value"].numpy()
    return values
