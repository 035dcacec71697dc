"""Rollouts held against what a vocabulary declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import srm
from srm.domains.reading import EventStream, read_events, running_sum
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary
from srm.trajectory import Events, Rollout
from tests.domains.climbing import climber, rollout_of

LAMPS = Vocabulary(
    "lamps",
    (Event("on", ""), Event("off", ""), Event("dark", "", act=False)),
    signals=(Signal("power", "", 0, 1),),
    balances=(Balance(("on",), ("off",), most=2),),
)


class Lamps:
    """A class of one's own: it reads what it was given."""

    vocabulary = LAMPS

    def __init__(self, happened: list[tuple[int, int]], power: list[float]) -> None:
        self.happened, self.power = happened, power

    def read(self, rollout: Rollout) -> Events:
        step, event = np.array(self.happened, np.int32).reshape(-1, 2).T
        signals = np.array(self.power, np.float64)[:, None, None]
        nothing = np.zeros((len(step), 0), np.int32)
        return Events(rollout.steps, 1, step, np.zeros(len(step), np.int32), event.astype(np.int16), nothing, signals)


@pytest.mark.parametrize(
    ("happened", "power", "message"),
    [
        ([(0, 0), (1, 0), (1, 1)], [0, 0, 0], "step 1 of env 0: on and off happen together.*`act=False`"),
        ([(0, 1)], [0, 0, 0], "step 0 of env 0: the balance of on less off leaves 0..2"),
        ([(0, 0), (1, 0), (2, 0)], [0, 0, 0], "step 2 of env 0: the balance of on less off leaves 0..2"),
        ([], [0, 0, 1.1], r"step 2 of env 0: signal power reads 1.1, outside its range 0\.\.1"),
    ],
)
def test_what_a_class_reads_is_held_to_its_vocabulary_too(happened: Any, power: Any, message: str) -> None:
    with pytest.raises(srm.TrajectoryError, match=message):
        read_events(Lamps(happened, power), rollout_of([0, 0, 0, 0]))


def test_facts_may_happen_beside_acts_and_rounding_is_put_back_on_the_bound() -> None:
    events = read_events(Lamps([(0, 0), (0, 2)], [1 + 1e-9, 0, 0]), rollout_of([0, 0, 0, 0]))
    assert events.event.tolist() == [0, 2]
    assert events.signals[0, 0, 0] == 1


def test_a_balance_goes_on_across_rollouts_and_ends_with_an_episode() -> None:
    words = climber()
    words.once("fall")
    stream = EventStream(words.reader())
    stream.read(rollout_of([5, 4]))
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: fall happens a second time"):
        stream.read(rollout_of([4, 4, 3]))
    stream = EventStream(words.reader())
    stream.read(rollout_of([5, 4], [1]))
    stream.read(rollout_of([4, 4, 3]))  # another episode
    stream.begin(0)
    stream.read(rollout_of([4, 4, 3]))  # and one that was begun by hand


def test_events_of_one_group_exclude_each_other_and_those_of_two_groups_do_not() -> None:
    words = srm.Vocabulary("w")
    for name in ("a", "b", "c", "d"):
        word = lambda after: after[..., 0] > 0  # noqa: E731
        word.__name__ = name
        words.event(word)
    words.exclusive("a", "b")
    words.exclusive("c", "d")
    with pytest.raises(srm.TrajectoryError, match="step 0 of demonstration 0: a and b happen together, which"):
        read_events(words.reader(), rollout_of([0, 1]), "demonstration")
    assert words.vocabulary.groups == (frozenset("ab"), frozenset("cd"))
    assert words.vocabulary.acts == ()


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-2, 2)), st.data())
def test_running_sums_equal_those_of_one_step_after_the_other(change: np.ndarray, data: st.DataObject) -> None:
    fresh = data.draw(hnp.arrays(np.bool_, change.shape))
    first = data.draw(hnp.arrays(np.int64, change.shape[1:], elements=st.integers(-3, 3)))
    level, expected = first.copy(), []
    for t, row in enumerate(change):
        level = np.where(fresh[t], 0, level) + row
        expected.append(level)
    np.testing.assert_array_equal(running_sum(change, fresh, first), expected)


def test_invalid_steps_are_held_to_nothing() -> None:
    rollout = rollout_of([0, 0, 0])
    unplayed = replace(rollout, valid=np.zeros_like(rollout.valid))
    assert len(read_events(Lamps([], [5, 5]), unplayed)) == 0  # 5 is outside the range of the signal
