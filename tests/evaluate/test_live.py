"""A machine followed step by step says what it says of the whole episode, and a fork goes its own way."""

from __future__ import annotations

import numpy as np
import pytest

from srm.domains.demonstrations import choose
from srm.domains.tasks import FAMILIES, find_task
from srm.evaluate.live import LiveTrace, PlayedStep
from srm.evaluate.trace import trace
from srm.machine.language.parse import find_machine
from srm.trajectory import Trajectory


def steps_of(episode: Trajectory) -> list[PlayedStep]:
    last = episode.steps - 1
    return [
        PlayedStep(
            episode.observations[t],
            episode.observations[t + 1],
            episode.poses[t],
            episode.poses[t + 1],
            int(episode.actions[t]),
            float(episode.task_reward[t]),
            episode.terminated and t == last,
            not episode.terminated and t == last,
            {key: numbers[t] for key, numbers in episode.info.items()},
        )
        for t in range(episode.steps)
    ]


@pytest.mark.parametrize("name", ["doorkey_handset", "keycorridor_handset", "obstructedmaze_1_handset"])
def test_step_by_step_is_the_whole(name: str) -> None:
    machine = find_machine(name)
    task = next(task for task in FAMILIES.values() if name.split("_")[0] == task.name)
    for episode in choose(task, None, 2).trajectories:
        live = LiveTrace(machine, task.event_reader(), machine.values())
        for step in steps_of(episode):
            live.add(step)
        whole = trace(machine, task.event_reader(), episode, machine.values())
        assert live.trace(episode.terminated, episode.total_reward) == whole
        assert live.pay == pytest.approx(whole.pay)


def test_a_fork_leaves_the_other_where_it_was() -> None:
    task, machine = find_task("doorkey"), find_machine("doorkey_handset")
    steps = steps_of(choose(task, None, 1).trajectories[0])
    live = LiveTrace(machine, task.event_reader(), machine.values())
    forks = []
    for step in steps:
        forks.append(live.fork())
        forks[-1].add(step)
        assert len(live.steps) == len(forks) - 1
        live.add(step)
        assert forks[-1].pay == live.pay
        assert forks[-1].walk.node == live.walk.node
        assert forks[-1].walk.counts == live.walk.counts
    assert np.isfinite(live.pay)
