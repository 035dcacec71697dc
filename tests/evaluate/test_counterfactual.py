"""Counterfactual experience and shaping leave optimal policies what they are: checked in a world small enough to be solved exactly.

The world is a corridor of 5 cells. The machine wants the bell at the right end rung twice, then the door at the left end, and pays a
little for every ring. Product states are (cell, node, count); value iteration over them is the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from srm.domains.words import WrittenVocabulary
from srm.errors import MachineError
from srm.evaluate.potential import potential
from srm.evaluate.wrappers import SymbolicReward, SymbolicRewardVector
from srm.machine.language.parse import parse

CELLS, DISCOUNT = 5, 0.9
words = WrittenVocabulary("corridor")


@words.event
def ring(before: Any, action: Any) -> Any:
    return (before[..., 0] == CELLS - 1) & (action == 1)


@words.event
def leave(before: Any, action: Any) -> Any:
    return (before[..., 0] == 0) & (action == 0)


MACHINE = parse(
    """
machine bells
holes ?ring = 0.25 ?door = 1 ?early = -0.5
counters
    #rings  counts ring
start ringing
    ring and #rings < 1   // ?ring
    ring and #rings >= 1  // ?ring  -> leaving
    leave                 // ?early
node leaving
    leave                 // ?door  -> over
    ring                  // ?early
accept over
""",
    {"corridor": words.vocabulary},
)


class Corridor(gymnasium.Env[Any, Any]):
    """Left and right; it goes on for ever."""

    observation_space = spaces.Box(0, CELLS - 1, (1,), np.int64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(CELLS))
        return np.array([self.cell]), {}

    def step(self, action: Any) -> Any:
        self.cell = int(np.clip(self.cell + (1 if action == 1 else -1), 0, CELLS - 1))
        return np.array([self.cell]), 0.0, False, False, {}


def paid(**options: Any) -> SymbolicReward:
    return SymbolicReward(Corridor(), MACHINE, words.reader(), show_node="counters", bounds={"rings": 2}, **options)


def place(seen: Any) -> tuple[int, int, int]:
    return int(seen["observation"][0]), int(seen["node"].argmax()), int(seen["counters"].argmax())


def true_values() -> dict[tuple[int, int, int], np.ndarray]:
    """Q of every product state, by value iteration over single steps of a fresh machine."""
    env = paid()
    steps: dict[Any, list[tuple[float, Any]]] = {}
    for cell, node, count in product(range(CELLS), range(2), range(3)):
        steps[cell, node, count] = []
        for action in range(2):
            env.reset()
            env.unwrapped.cell = cell
            env._payer.show((np.array([[cell]]), np.zeros((1, 0), np.int16)))
            env._payer.nodes[:], env._payer.counts[:] = node, count
            seen, pay, *_ = env.step(action)
            steps[cell, node, count].append((float(pay), place(seen)))
    values = {state: np.zeros(2) for state in steps}
    for _ in range(300):
        values = {
            state: np.array(
                [pay + DISCOUNT * (values[after].max() if after in values else 0.0) for pay, after in moves]
            )
            for state, moves in steps.items()
        }
    return values


TRUE = true_values()


def learn(env: SymbolicReward, counterfactual: bool, steps: int) -> dict[Any, np.ndarray]:
    """Q-learning by random play."""
    rng, table = np.random.default_rng(0), {state: np.zeros(2) for state in TRUE}
    seen, _ = env.reset(seed=0)
    for step in range(steps):
        cell, before, action = int(seen["observation"][0]), place(seen), int(rng.integers(2))
        seen, pay, *_ = env.step(action)
        here = int(seen["observation"][0])
        lessons = [(before, pay, place(seen))]
        if counterfactual:
            other = env.elsewhere()
            lessons = [
                ((cell, int(n), int(c[0])), float(p), (here, int(m), int(d[0])))
                for n, c, p, m, d in zip(
                    other.nodes[0],
                    other.counts[0],
                    other.pay[0],
                    other.next_nodes[0],
                    other.next_counts[0],
                    strict=True,
                )
            ]
        for state, reward, after in lessons:
            if state in table:
                later = table[after].max() if after in table else 0.0
                table[state][action] += 0.5 * (reward + DISCOUNT * later - table[state][action])
        if step % 50 == 49:
            seen, _ = env.reset()
    return table


def test_counterfactual_experience_finds_the_true_values() -> None:
    table = learn(paid(), True, 3000)
    for state, values in TRUE.items():
        np.testing.assert_allclose(table[state], values, atol=1e-3, err_msg=str(state))


def test_it_finds_them_in_fewer_steps_than_experience_alone() -> None:
    def error(table: dict[Any, np.ndarray]) -> float:
        return max(np.abs(table[state] - values).max() for state, values in TRUE.items())

    assert error(learn(paid(), True, 600)) < 0.1 * error(learn(paid(), False, 600))


def test_shaping_moves_values_by_the_potential_alone_and_no_optimal_action() -> None:
    values = potential(MACHINE, words.vocabulary, MACHINE.values(), DISCOUNT)
    assert values[0] > 0
    table = learn(paid(shaping=DISCOUNT), False, 20_000)
    reachable = [state for state in TRUE if table[state].all()]
    assert len(reachable) >= 12  # of the 15 that play can reach
    for state in reachable:
        np.testing.assert_allclose(table[state] + values[state[1]], TRUE[state], atol=2e-2, err_msg=str(state))
        gap = TRUE[state][0] - TRUE[state][1]
        if abs(gap) > 0.05:
            assert table[state].argmax() == TRUE[state].argmax()


class Leaving(Corridor):
    """Walking out at the left end ends the episode, whatever the machine wants."""

    def step(self, action: Any) -> Any:
        out = self.cell == 0 and action == 0
        return *super().step(action)[:2], out, False, {}


ENDS = {"single": None} | {str(mode.value): mode for mode in AutoresetMode}


@pytest.mark.parametrize("kind", ENDS)
def test_over_an_episode_shaping_adds_what_no_policy_can_change(kind: str) -> None:
    """Less the potential at the start; and, where time ran out, the discounted potential that the learner's own value stands on."""
    values = potential(MACHINE, words.vocabulary, MACHINE.values(), DISCOUNT)
    value = {node.name: float(v) for node, v in zip(MACHINE.nodes, values, strict=True)}
    assert value["leaving"] > 0
    ends = {True: 0, False: 0}
    for shaped, plain, terminated, node in shaped_episodes(kind):
        added = sum(DISCOUNT**t * (s - p) for t, (s, p) in enumerate(zip(shaped, plain, strict=True)))
        rest = 0.0 if terminated else DISCOUNT ** len(shaped) * value[node]
        assert added == pytest.approx(rest - value["ringing"])
        ends[terminated] += terminated or node == "leaving"
    assert min(ends.values()) >= 3


def shaped_episodes(kind: str) -> Iterator[tuple[list[float], list[float], bool, str]]:
    """Pay as it is shaped and as it is, whether the episode terminated, and the node at its end."""

    def make() -> Any:
        return gymnasium.wrappers.TimeLimit(Leaving(), 9)

    rng, count = np.random.default_rng(0), 1 if kind == "single" else 3
    options: Any = {"show_node": "counters", "bounds": {"rings": 2}, "shaping": DISCOUNT}
    mode = ENDS[kind]
    if mode is None:
        env: Any = SymbolicReward(make(), MACHINE, words.reader(), **options)
    else:
        env = SymbolicRewardVector(SyncVectorEnv([make] * 3, autoreset_mode=mode), MACHINE, words.reader(), **options)
    env.reset(seed=0)
    rows = [(list[float](), list[float]()) for _ in range(count)]
    waiting = np.zeros(count, np.bool_)
    for _ in range(400):
        actions = (rng.random(count) < 0.8).astype(np.int64)
        _, *numbers, info = env.step(int(actions[0]) if mode is None else actions)
        pay, terminated, truncated = (np.atleast_1d(number) for number in numbers)
        over = terminated | truncated
        for index in range(count):
            if waiting[index]:
                assert pay[index] == 0
                continue
            last = info["final_info"] if over[index] and mode is AutoresetMode.SAME_STEP else info
            node, plain = (np.atleast_1d(last[key])[index] for key in ("node", "machine_reward"))
            shaped_row, plain_row = rows[index]
            shaped_row.append(float(pay[index]))
            plain_row.append(float(plain))
            if over[index]:
                yield shaped_row, plain_row, bool(terminated[index]), str(node)
                rows[index] = [], []
        waiting = over if mode is AutoresetMode.NEXT_STEP else waiting
        if mode in (None, AutoresetMode.DISABLED) and over.any():
            env.reset(options=None if mode is None else {"reset_mask": over})


def test_who_cannot_see_the_node_cannot_learn_what_happens_elsewhere() -> None:
    env = SymbolicReward(Corridor(), MACHINE, words.reader())
    env.reset()
    env.step(0)
    with pytest.raises(MachineError, match="show_node=True"):
        env.elsewhere()


def test_a_bound_of_no_counter_is_refused() -> None:
    with pytest.raises(MachineError, match="has no counter #ring"):
        SymbolicReward(Corridor(), MACHINE, words.reader(), show_node="counters", bounds={"ring": 2})
