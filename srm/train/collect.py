"""Play the worlds with a policy, and keep what the policy thought while it played.

    T steps, B worlds, L frames seen at once, M numbers of memory; one more row for the view after the last step

`Player.collect` returns a rollout that anybody may read; `Played` is for the learner alone. Acting costs one forward pass of B
samples a step; values come with it, so that nothing is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from srm.chance import stream
from srm.task.worlds import Step, Worlds, gather
from srm.train.frames import ages, begins_of, mask_old, newest_rows
from srm.train.nets import Net, Seen
from srm.trajectory import Mask, Rollout


@dataclass(frozen=True, eq=False)
class Played:
    """A rollout as the policy saw it."""

    rollout: Rollout
    frames: np.ndarray  # [R, D], laid out as in `frames.py`
    rows: np.ndarray  # [T+1, B, L]
    begins: Mask  # [T+1, B]
    memory: np.ndarray  # [T+1, B, M] before each step, and before it was forgotten where an episode begins
    outputs: dict[str, np.ndarray]  # [T+1, B, ...] of the net, by name


class Player:
    """B worlds, and where in them and in its memory the policy is."""

    def __init__(self, worlds: Worlds, net: Net, steps: int, seed: int) -> None:
        self.worlds, self.net, self.steps = worlds, net, steps
        self.seed, self._round = seed, 0
        self._newest = newest_rows(steps, worlds.count, net.lags)
        self._views, self._places = worlds.reset()
        self._begins = np.ones(worlds.count, np.bool_)
        self._age = np.zeros(worlds.count, np.int64)  # of the view before `_views`; unread where `_begins`
        self._memory = np.zeros((worlds.count, net.memory), np.float32)
        self._before = np.tile(net.blank(), ((net.lags - 1) * worlds.count, 1))  # [(L - 1) * B, D]

    def start_at(self, round: int) -> None:
        """Draw actions as in this round and those after it, as a resumed run must."""
        self._round = round

    def collect(self, greedy: bool = False) -> Played:
        """T steps of every world."""
        with self.net.fixed():
            return self._collect(greedy)

    def _collect(self, greedy: bool) -> Played:
        count, steps, lags = self.worlds.count, self.steps, self.net.lags
        frames = np.empty(((lags + steps) * count + 1, self._before.shape[-1]), self._before.dtype)
        frames[: (lags - 1) * count] = self._before
        frames[-1] = self.net.blank()
        rows = np.empty((steps + 1, count, lags), np.uint32)
        begins = np.empty((steps + 1, count), np.bool_)
        memory = np.empty((steps + 1, count, self.net.memory), np.float32)
        noise = self._noise(greedy)
        outputs: dict[str, np.ndarray] = {}
        actions, answers = [], []
        views, places = self._views, self._places

        for t in range(steps + 1):
            # See
            newest = (lags - 1 + t) * count
            frames[newest : newest + count] = self.net.encode(self._views)
            begins[t], memory[t] = self._begins, self._memory
            age = np.where(self._begins, 0, self._age + 1)
            rows[t] = mask_old(self._newest[t], age, len(frames) - 1)

            # Think
            said, remembered = self.net(
                Seen(frames, rows[t], torch.from_numpy(memory[t]), torch.from_numpy(begins[t : t + 1]))
            )
            for name, output in said.items():
                if t == 0:
                    outputs[name] = np.empty((steps + 1, *output.shape), np.float32)
                outputs[name][t] = output.numpy()
            if t == steps:
                break

            # Act
            self._memory, self._age = remembered.numpy(), age
            actions.append((outputs["logits"][t] + noise[t]).argmax(axis=1))
            answers.append(self.worlds.step(actions[-1]))
            self._see(answers[-1])

        self._before = frames[steps * count : (steps + lags - 1) * count].copy()
        self._round += 1
        return Played(gather(views, places, actions, answers), frames, rows, begins, memory, outputs)

    def _see(self, step: Step) -> None:
        self._views, self._places = step.views, step.places
        self._begins = ~step.real
        self._begins[step.final_world] = True

    def _noise(self, greedy: bool) -> np.ndarray:
        """[T, B, A] Gumbel noise: the largest of logits + noise is a draw from the policy."""
        shape = (self.steps, self.worlds.count, self.worlds.actions)
        if greedy:
            return np.zeros(shape, np.float32)
        # One stream a round, so that a resumed run needs no generator's state.
        return stream(self.seed, f"actions {self._round}").gumbel(size=shape).astype(np.float32)


def foreign(net: Net, rollout: Rollout) -> Played:
    """A rollout that this policy need not have played, as if it had: every world's first view begins an episode."""
    steps, worlds, lags = rollout.steps, rollout.worlds, net.lags
    blank = net.blank()
    seen = net.encode(rollout.views).reshape((steps + 1) * worlds, -1)
    frames = np.concatenate([np.tile(blank, ((lags - 1) * worlds, 1)), seen, blank[None]])
    begins = begins_of(rollout, np.ones(worlds, np.bool_))
    age = ages(begins, np.zeros(worlds, np.int64))
    rows = mask_old(newest_rows(steps, worlds, lags), age, len(frames) - 1)
    memory = np.zeros((steps + 1, worlds, net.memory), np.float32)
    return Played(rollout, frames, rows, begins, memory, {})


def think_again(net: Net, played: Played) -> dict[str, np.ndarray]:
    """The net's outputs [T, B, ...] along a rollout, with the weights it has now; memory runs from the first step's."""
    steps, worlds = played.rollout.actions.shape
    memory = torch.from_numpy(played.memory[0])
    if net.memory:
        chunks = [slice(t, t + 1) for t in range(steps)]
    else:  # no step needs the one before it: as many at once as fit the cache
        size = max(1, 1024 // worlds)
        chunks = [slice(t, min(t + size, steps)) for t in range(0, steps, size)]
    parts: list[dict[str, np.ndarray]] = []
    with net.fixed():
        for chunk in chunks:
            rows = played.rows[chunk].reshape(-1, net.lags)
            said, memory = net(Seen(played.frames, rows, memory, torch.from_numpy(played.begins[chunk])))
            parts.append({name: output.numpy().reshape(-1, worlds, *output.shape[1:]) for name, output in said.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@torch.no_grad()
def values_after(net: Net, played: Played) -> np.ndarray:
    """[T, B] the critic's value of the true view after each step."""
    rollout, worlds = played.rollout, played.rollout.worlds
    after = played.outputs["value"][1:].copy()
    if len(rollout.final_step) == 0:
        return after
    step, world = rollout.final_step, rollout.final_world
    frames = np.concatenate([played.frames, net.encode(rollout.final_views)])
    own = np.arange(len(played.frames), len(frames), dtype=np.uint32)[:, None]
    rows = np.concatenate([own, played.rows[step, world, :-1]], axis=1)
    memory = torch.from_numpy(played.memory[step + 1, world])
    said, _ = net(Seen(frames, rows, memory, torch.zeros(1, len(step), dtype=torch.bool)))
    after[step, world] = said["value"].numpy()
    assert after.shape == (rollout.steps, worlds)
    return after


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_prob_of(logits: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """log pi(a|s) [...] of logits [..., A] and actions [...]."""
    return np.take_along_axis(log_softmax(logits), actions[..., None], axis=-1)[..., 0]
