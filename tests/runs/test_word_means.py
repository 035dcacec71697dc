"""How a policy does a task, word by word, against episodes counted by hand."""

from __future__ import annotations

import numpy as np

from srm.domains.words import WrittenVocabulary
from srm.runs.word_means import by_episode
from srm.trajectory import Rollout, Trajectory, as_rollout

words = WrittenVocabulary("stairs")


@words.event
def top(after: np.ndarray) -> np.ndarray:
    """on the third step or higher"""
    return after[..., 0] >= 3


@words.signal(low=0, high=9)
def height(after: np.ndarray) -> np.ndarray:
    """of the climber"""
    return after[..., 0]


def climb(*heights: int) -> Trajectory:
    return Trajectory(
        observations=np.array([0, *heights], np.float32)[:, None],
        actions=np.zeros(len(heights), np.int64),
        poses=np.zeros((len(heights) + 1, 0), np.int16),
        task_reward=np.zeros(len(heights), np.float32),
        terminated=True,
    )


def test_events_are_counted_and_signals_summed_for_each_episode() -> None:
    read = by_episode(words.reader(), as_rollout([climb(1, 2, 3), climb(4, 4, 3, 1)]))
    assert {key: values.tolist() for key, values in read.items()} == {
        ("steps", "times"): [3, 4],
        ("top", "times"): [1, 3],
        ("height", "sum"): [6, 12],
        ("height", "mean"): [2, 3],
    }


def test_an_episode_that_is_cut_off_or_not_counted_says_nothing() -> None:
    """One column: an episode of two steps, one of one, and the beginning of a third."""
    done = np.array([[False], [True], [True], [False]])
    rollout = Rollout(
        np.array([0, 1, 2, 5, 7], np.float32)[:, None, None],
        np.zeros((4, 1), np.int64),
        np.zeros((5, 1, 0), np.int16),
        np.zeros((4, 1), np.float32),
        done,
        np.zeros_like(done),
        np.ones_like(done),
        np.array([1, 2]),
        np.array([0, 0]),
        np.array([[3], [4]], np.float32),
        np.zeros((2, 0), np.int16),
    )
    assert by_episode(words.reader(), rollout)["height", "sum"].tolist() == [1 + 3, 4]
    last = np.zeros_like(done)
    last[2] = True
    assert by_episode(words.reader(), rollout, last)["height", "sum"].tolist() == [4]
