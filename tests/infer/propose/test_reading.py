"""How often events happen is read from the demonstrations that solve the task: a long failure makes no event rare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.infer.propose.reading import PlayAccount, read_demonstrations
from srm.infer.propose.signals import find_thresholds, with_thresholds
from tests.infer.propose.accounts import SIGNAL, WORDS, account_of, story


def test_shares_are_of_the_demonstrations_that_solve_the_task() -> None:
    task = find_task("doorkey")
    shipped = demos.load(demos.shipped(task))
    first = replace(shipped, seeds=shipped.seeds[:6], trajectories=shipped.trajectories[:6])
    kept = {id(trajectory) for trajectory in first.trajectories}
    reader = task.event_reader()
    some = read_demonstrations(shipped, reader, lambda trajectory: id(trajectory) in kept)
    assert [story.solved for story in some.stories] == [True] * 6 + [False] * 4
    assert some.shares == read_demonstrations(first, reader, task.solved).shares
    assert some.shares["reach_goal"] == pytest.approx(6 / sum(t.steps for t in first.trajectories))


def test_where_none_solves_the_task_shares_are_of_all() -> None:
    task = find_task("doorkey")
    shipped = demos.load(demos.shipped(task))
    reader = task.event_reader()
    none = read_demonstrations(shipped, reader, lambda _: False)
    assert none.shares == read_demonstrations(shipped, reader, task.solved).shares


def test_so_are_the_shares_of_thresholds() -> None:
    words = replace(WORDS, signals=(SIGNAL,))
    solved = [story("goal", number, signals=[0.0, 0.5, 0.9, 1.0]) for number in range(5)]
    failed = story("", 5, solved=False, signals=[0.0] * 1000)
    low = story("", 0, solved=False, signals=np.linspace(0, 0.3, 100).tolist())
    shown = replace(
        account_of([*solved, failed], words=words), random=PlayAccount((low,), dict.fromkeys(words.event_index, 0.0))
    )
    thresholds, _ = find_thresholds(shown)
    assert [threshold.event for threshold in thresholds] == ["high_height"]
    assert with_thresholds(shown, thresholds).shares["high_height"] == 5 / 20
