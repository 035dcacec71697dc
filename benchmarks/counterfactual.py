"""Counterfactual experience and shaping against `pyrewardmachines`, on its Letter World: `python -m benchmarks.counterfactual`.

3 x 7 cells: A stands on the left and turns, with probability 0.5 at each visit, into B; then C stands on the right. Wanted: as many Cs
as there were As, and one more. One tabular Q-learner, with one budget, learns from what each tool makes of a step:

    alone             the step itself
    counterfactual    the same step at every state of the machine and every count up to 5
    shaping           the step, shaped by the machine's potential (ours alone has it)

What counts is the number of steps until 50 episodes in a row have a mean return of 0.9, for five seeds. The tool is no dependency of ours:

    pip install --no-deps pyrewardmachines
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import srm
from srm.evaluate.wrappers import SymbolicReward
from srm.machine.language.parse import parse

ROWS, COLUMNS, START, LEFT_CELL, RIGHT_CELL = 3, 7, (1, 3), (1, 1), (1, 5)
MOST_COUNT, LONGEST, BUDGET, WINDOW, GOAL = 5, 100, 200_000, 50, 0.9
RATE, DISCOUNT, CURIOSITY = 0.1, 0.99, 0.1
SEEDS = range(100, 105)

State = tuple[int, ...]
Lesson = tuple[State, float, State, bool]  # where, reward, whereto, over


class Letters(gymnasium.Env[Any, Any]):
    """Observes whether B has come, and the cell."""

    action_space = spaces.Discrete(4)
    observation_space = spaces.Box(0, COLUMNS, (3,), np.int64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.turned, self.cell = 0, START
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        down, right = ((0, 1), (0, -1), (-1, 0), (1, 0))[action]
        row, column = self.cell
        self.cell = min(max(row + down, 0), ROWS - 1), min(max(column + right, 0), COLUMNS - 1)
        if not self.turned and self.cell == LEFT_CELL:
            self.turned = int(self.np_random.random() < 0.5)
        return self._seen(), 0.0, False, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.turned, *self.cell])


# Ours

words = srm.Vocabulary("letters")


@words.event
def see_a(after: Any) -> Any:
    return (after[..., 0] == 0) & (after[..., 1] == LEFT_CELL[0]) & (after[..., 2] == LEFT_CELL[1])


@words.event
def see_b(after: Any) -> Any:
    return (after[..., 0] == 1) & (after[..., 1] == LEFT_CELL[0]) & (after[..., 2] == LEFT_CELL[1])


@words.event
def see_c(after: Any) -> Any:
    return (after[..., 0] == 1) & (after[..., 1] == RIGHT_CELL[0]) & (after[..., 2] == RIGHT_CELL[1])


MACHINE = """
machine letters
words letters
counters
    #as  counts see_a at before
    #cs  counts see_c at after
start before
    see_b                   // 0  -> after
node after
    see_c and #cs >= #as    // 1  -> done
accept done
"""


class Ours:
    def __init__(self, seed: int, counterfactual: bool, shaping: bool) -> None:
        self.env = SymbolicReward(
            Letters(),
            parse(MACHINE, {"letters": words.vocabulary}),
            words.reader(),
            show_node="counters",
            bounds={"as": MOST_COUNT, "cs": MOST_COUNT},
            shaping=DISCOUNT if shaping else None,
        )
        self.counterfactual, self._seed = counterfactual, seed

    def reset(self) -> State:
        self._cell = tuple(self.env.reset(seed=self._seed)[0]["observation"].tolist())
        self._seed = None  # type: ignore[assignment]
        return self._state(self._cell)

    def _state(self, cell: tuple[int, ...]) -> State:
        payer = self.env._payer
        count = payer.counts[0]
        return (*cell, int(payer.nodes[0]), int(max(count[0] - count[1], 0)))

    def step(self, action: int, before: State) -> tuple[float, State, bool, Iterator[Lesson]]:
        cell = self._cell
        seen, reward, *_, info = self.env.step(action)
        self._cell = tuple(seen["observation"].tolist())
        after, done = self._state(self._cell), info["node"] == "done"
        lessons = self._elsewhere(cell) if self.counterfactual else iter([(before, float(reward), after, done)])
        return info["machine_reward"], after, done, lessons

    def _elsewhere(self, cell: tuple[int, ...]) -> Iterator[Lesson]:
        other, met = self.env.elsewhere(), set()
        left, next_left = (np.maximum(c[0, :, 0] - c[0, :, 1], 0) for c in (other.counts, other.next_counts))
        possible = other.counts[0, :, 1] <= other.counts[0, :, 0]
        for place in np.flatnonzero(possible).tolist():
            state = (*cell, int(other.nodes[0, place]), int(left[place]))
            if state not in met:  # as many As more than Cs, in whatever way
                met.add(state)
                after = (*self._cell, int(other.next_nodes[0, place]), int(next_left[place]))
                yield state, float(other.pay[0, place]), after, bool(other.silent[0, place])


# Theirs


class Symbol(Enum):
    A = auto()
    B = auto()
    C = auto()


class Theirs:
    def __init__(self, seed: int, counterfactual: bool, shaping: bool = False) -> None:
        self.counterfactual, self._seed = counterfactual, seed
        self.env = _their_product(seed)

    def reset(self) -> State:
        return tuple(self.env.reset()[0].tolist())

    def step(self, action: int, before: State) -> tuple[float, State, bool, Iterator[Lesson]]:
        seen, reward, done, _, _ = self.env.step(action)
        after = tuple(seen.tolist())
        if not self.counterfactual:
            return reward, after, done, iter([(before, reward, after, done)])
        lessons = self.env.generate_counterfactual_experience(np.array(before[:3]), action, np.array(after[:3]))
        rows = zip(*lessons, strict=True)
        return reward, after, done, ((tuple(o.tolist()), r, tuple(n.tolist()), d) for o, _, n, r, d, _ in rows)


def _their_product(seed: int) -> Any:
    from pycrm.automaton import CountingRewardMachine
    from pycrm.crossproduct import CrossProduct
    from pycrm.label import LabellingFunction

    rules = {
        0: {"A / (-)": (0, 1, 0), "B / (-)": (1, 0, 0), "C / (-)": (0, 0, 0), "/ (-)": (0, 0, 0)},
        1: {
            "A / (-)": (1, 0, 0),
            "B / (-)": (1, 0, 0),
            "C / (NZ)": (1, -1, 0),
            "C / (Z)": (-1, 0, 1),
            "/ (-)": (1, 0, 0),
        },
    }

    class Machine(CountingRewardMachine):
        u_0, c_0 = 0, (0,)

        def _get_state_transition_function(self) -> dict:
            return {u: {guard: rule[0] for guard, rule in row.items()} for u, row in rules.items()}

        def _get_counter_transition_function(self) -> dict:
            return {u: {guard: (rule[1],) for guard, rule in row.items()} for u, row in rules.items()}

        def _get_reward_transition_function(self) -> dict:
            return {u: {guard: rule[2] for guard, rule in row.items()} for u, row in rules.items()}

        def sample_counter_configurations(self) -> list[tuple[int, ...]]:
            return [(count,) for count in range(MOST_COUNT + 1)]

    class Labels(LabellingFunction):
        @LabellingFunction.event
        def left(self, obs: Any, action: Any, next_obs: Any) -> Symbol | None:
            here = tuple(next_obs[1:3]) == LEFT_CELL
            return (Symbol.B if next_obs[0] else Symbol.A) if here else None

        @LabellingFunction.event
        def right(self, obs: Any, action: Any, next_obs: Any) -> Symbol | None:
            return Symbol.C if next_obs[0] and tuple(next_obs[1:3]) == RIGHT_CELL else None

    class Product(CrossProduct):
        def _get_obs(self, ground_obs: Any, u: int, c: tuple[int, ...]) -> np.ndarray:
            return np.array([*ground_obs, u, c[0]])

        def to_ground_obs(self, obs: Any) -> Any:
            return obs[:3]

    letters = Letters()
    letters.reset(seed=seed)
    product = Product(letters, Machine(Symbol), Labels(), LONGEST)
    product.ground_env.reset = lambda **_: Letters.reset(letters)
    return product


# The learner


def steps_to_goal(make: Callable[[], Any], seed: int) -> tuple[int, float]:
    """Steps until the goal (the budget, if it is not reached), and microseconds of processor time a step."""
    world, rng, steps = make(), np.random.default_rng(seed), 0
    table: defaultdict[State, np.ndarray] = defaultdict(lambda: np.zeros(4))
    returns: deque[float] = deque(maxlen=WINDOW)
    begun = process_time()
    while steps < BUDGET and not (len(returns) == WINDOW and sum(returns) / WINDOW >= GOAL):
        state, total, done = world.reset(), 0.0, False
        for _ in range(LONGEST):
            known = table[state]
            curious = rng.random() < CURIOSITY or not known.any()
            action = int(rng.integers(4)) if curious else int(known.argmax())
            reward, state, done, lessons = world.step(action, state)
            for place, paid, after, over in lessons:
                row = table[place]
                row[action] += RATE * (paid + (0.0 if over else DISCOUNT * table[after].max()) - row[action])
            total, steps = total + reward, steps + 1
            if done:
                break
        returns.append(total)
    return steps, (process_time() - begun) / steps * 1e6


def main() -> None:
    print(
        f"steps until {WINDOW} episodes have a mean return of {GOAL} ({BUDGET:,} at most), seeds {SEEDS[0]} to {SEEDS[-1]}"
    )
    for name, kind, counterfactual, shaping in (
        ("pyrewardmachines, alone", Theirs, False, False),
        ("pyrewardmachines, counterfactual", Theirs, True, False),
        ("srm, alone", Ours, False, False),
        ("srm, shaping", Ours, False, True),
        ("srm, counterfactual", Ours, True, False),
    ):
        rows = [steps_to_goal(partial(kind, seed, counterfactual, shaping), seed) for seed in SEEDS]
        counts = [count for count, _ in rows]
        took = median(time for _, time in rows)
        print(f"{name:34} {counts}  median {median(counts):,.0f}; {took:.0f} microseconds a step", flush=True)


if __name__ == "__main__":
    main()
