"""Worlds in which the truth is known: small grids, a machine with four holes, and an expert that is exactly soft-optimal for them.

    S = 100 states (cell, coin taken, door passed)   A = 4 moves   T steps   K assignments   B episodes

An apple and a berry pay whenever their cell is entered, a coin pays once because a counter says so, a door pays once because the
machine moves on. The expert draws each trajectory with probability exp(pay) / Z, where Z is the sum over all trajectories from
where it starts: a recursion over states and time, and linear in exp(pay).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from srm.infer.posterior.evidence import Play
from srm.infer.posterior.prior import Floats
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Event, Vocabulary
from srm.trajectory import Events, Rollout

SIDE, ACTIONS, KINDS = 5, 4, 4
STEPS = 30  # of an episode, unless asked otherwise
CELLS, STATES = SIDE * SIDE, SIDE * SIDE * 4
NOTHING = KINDS  # the hole of a step that pays nothing
PLAYED = 64  # episodes of random play

WORDS = Vocabulary(
    "tabular",
    events=(
        Event("apple", "the cell with the apple is entered"),
        Event("berry", "the cell with the berry is entered"),
        Event("coin", "the cell with the coin is entered"),
        Event("door", "the cell with the door is entered"),
    ),
)
TEXT = """
machine tabular
words tabular

holes
    ?apple in -3 .. 3
    ?berry in -3 .. 3
    ?coin  in -3 .. 3
    ?door  in -3 .. 3

counters
    #coins counts coin

start outside
    apple                 // ?apple
    berry                 // ?berry
    coin and #coins < 1   // ?coin
    door                  // ?door   -> inside

node inside
    apple                 // ?apple
    berry                 // ?berry
    coin and #coins < 1   // ?coin
"""


@cache
def machine() -> Machine:
    return parse(TEXT, {WORDS.name: WORDS})


class TabularWords:
    """A view is the kind of the agent's cell: 0 nothing, 1 apple, 2 berry, 3 coin, 4 door."""

    vocabulary = WORDS

    def read(self, rollout: Rollout) -> Events:
        kind = rollout.after()  # [T, B]
        world, step = np.nonzero((kind > 0).T & rollout.valid.T)
        return Events(
            rollout.steps,
            rollout.envs,
            step.astype(np.int32),
            world.astype(np.int32),
            (kind[step, world] - 1).astype(np.int16),
            np.zeros((len(step), 0), np.int32),
            np.zeros((rollout.steps, rollout.envs, 0)),
        )


@dataclass(frozen=True, eq=False)
class Grid:
    """Where the four kinds lie, and what follows from it."""

    kind: np.ndarray  # [cells] 0 nothing, 1 + index of the event
    after: np.ndarray  # [S, A] the next state
    paid: np.ndarray  # [S, A] the hole that pays, or NOTHING
    steps: int  # T

    @staticmethod
    def of(cells: np.ndarray, steps: int = STEPS) -> Grid:
        kind = np.zeros(CELLS, np.uint8)
        kind[cells] = np.arange(1, KINDS + 1)
        state = np.arange(STATES)
        cell, coin, door = state % CELLS, state // CELLS % 2, state // CELLS // 2
        x, y = cell % SIDE, cell // SIDE
        moves = ((-1, 0), (1, 0), (0, -1), (0, 1))
        columns = [np.clip(x + dx, 0, SIDE - 1) + SIDE * np.clip(y + dy, 0, SIDE - 1) for dx, dy in moves]
        entered = np.stack(columns, axis=1)  # [S, A]
        event = kind[entered].astype(np.intp) - 1
        spent = ((event == 2) & (coin[:, None] == 1)) | ((event == 3) & (door[:, None] == 1))
        paid = np.where((event < 0) | spent, NOTHING, event)
        after = entered + CELLS * (coin[:, None] | (event == 2)) + 2 * CELLS * (door[:, None] | (event == 3))
        return Grid(kind, after, paid, steps)

    def partition(self, holes: Floats) -> Floats:
        """Z of the trajectories from each state before each step, [T + 1, S, K], under holes [K, H]."""
        weight = np.exp(np.pad(holes, ((0, 0), (0, 1)))).T[self.paid]  # [S, A, K]
        z = np.ones((self.steps + 1, STATES, len(holes)))
        for t in reversed(range(self.steps)):
            z[t] = (weight * z[t + 1][self.after]).sum(axis=1)
        return z

    def soft_policy(self, holes: Floats) -> Floats:
        """Of the expert for holes [H], [T, S, A]."""
        z = self.partition(holes[None])[..., 0]
        weight = np.exp(np.append(holes, 0.0))[self.paid]
        policy: Floats = weight * z[1:][:, self.after] / z[:-1, :, None]
        return policy

    def best_policy(self, holes: Floats) -> Floats:
        """The one that earns most under holes [H], [T, S, A]; ties go to the first move."""
        pay, value = np.append(holes, 0.0)[self.paid], np.zeros(STATES)
        policy = np.zeros((self.steps, STATES, ACTIONS))
        for t in reversed(range(self.steps)):
            gain = pay + value[self.after]
            policy[t, np.arange(STATES), gain.argmax(axis=1)] = 1.0
            value = gain.max(axis=1)
        return policy

    def earned(self, policy: Floats, holes: Floats) -> float:
        """What a policy [T, S, A] earns under holes [H] from a random cell, on average."""
        pay, value = np.append(holes, 0.0)[self.paid], np.zeros(STATES)
        for chosen in policy[::-1]:
            value = (chosen * (pay + value[self.after])).sum(axis=1)
        return float(value[:CELLS].mean())

    def play(self, policy: Floats, episodes: int, rng: np.random.Generator) -> tuple[Rollout, np.ndarray]:
        """Episodes of a policy [T, S, A], and the cells in which they begin, [B]."""
        begun = rng.integers(CELLS, size=episodes)
        state, states, actions = begun, [begun], []
        for chosen in policy:
            action = (rng.random((episodes, 1)) > chosen[state].cumsum(axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
            state = self.after[state, action]
            states.append(state)
            actions.append(action)
        shape = (self.steps, episodes)
        truncated = np.zeros(shape, np.bool_)
        truncated[-1] = True
        rollout = Rollout(
            self.kind[np.array(states) % CELLS],
            np.array(actions, np.int64),
            np.zeros((self.steps + 1, episodes, 0), np.int16),
            np.zeros(shape, np.float32),
            np.zeros(shape, np.bool_),
            truncated,
            np.ones(shape, np.bool_),
        )
        return rollout, begun


@dataclass(frozen=True, eq=False)
class Problem:
    """Holes that are to be inferred, the demonstrations of an expert that is soft-optimal for them, and random play."""

    grid: Grid
    holes: Floats  # [H]
    demonstrated: Rollout  # [T, M]
    begun: np.ndarray  # [M] cells in which the demonstrations begin
    play: Play

    @staticmethod
    def draw(rng: np.random.Generator, demonstrations: int, steps: int = STEPS) -> Problem:
        grid = Grid.of(rng.choice(CELLS, KINDS, replace=False), steps)
        holes = rng.uniform(-3.0, 3.0, KINDS)
        demonstrated, begun = grid.play(grid.soft_policy(holes), demonstrations, rng)
        uniform = np.full((steps, STATES, ACTIONS), 1 / ACTIONS)
        played, _ = grid.play(uniform, PLAYED, rng)
        log_prob = -np.log(ACTIONS)
        return Problem(
            grid,
            holes,
            demonstrated,
            begun,
            Play(played, np.full(played.actions.shape, log_prob), np.full(demonstrated.actions.shape, log_prob)),
        )

    def first(self, demonstrations: int) -> Problem:
        """The same with fewer demonstrations."""
        shown, chosen = self.demonstrated, slice(demonstrations)
        fewer = Rollout(
            shown.observations[:, chosen],
            shown.actions[:, chosen],
            shown.poses[:, chosen],
            shown.task_reward[:, chosen],
            shown.terminated[:, chosen],
            shown.truncated[:, chosen],
            shown.valid[:, chosen],
        )
        play = Play(self.play.rollout, self.play.log_prob, self.play.demonstrated_log_prob[:, chosen])
        return Problem(self.grid, self.holes, fewer, self.begun[chosen], play)
