"""Success: said by the task, else by an accepting node, else by the return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import srm
from srm.domains.base import Task, ended_with_reward
from srm.domains.tasks import find_task
from srm.evaluate.payer import Payer
from srm.evaluate.success import SuccessReader, solved
from srm.machine.language.parse import parse
from srm.trajectory import Trajectory
from tests.domains.climbing import climber, rollout_of

UP = "machine m\nwords climber\nholes ?a in 2 .. 3\nstart low\n    height >= ?a // 0 -> high\naccept high\n"


def episode(heights: list[float], reward: float = -1.0, terminated: bool = False) -> Trajectory:
    observations = np.array(heights, np.float64)[:, None]
    steps = len(heights) - 1
    poses = np.zeros((steps + 1, 0), np.int16)
    return Trajectory(
        observations, np.zeros(steps, np.int64), poses, np.full(steps, reward, np.float32), terminated=terminated
    )


def task_of(success: Any = None) -> Task:
    return climber().task("CartPole-v1", success=success)


def machine_of(text: str = UP) -> srm.Machine:
    return parse(text, vocabularies={"climber": climber().vocabulary})


def test_the_task_speaks_first_then_an_accepting_node_then_the_return() -> None:
    high, low = episode([0, 1, 2]), episode([0, 1, 1], reward=1, terminated=True)
    assert (solved(task_of(), high), solved(task_of(), low)) == (False, True)
    assert (solved(task_of(), high, machine_of()), solved(task_of(), low, machine_of())) == (True, False)
    never = machine_of(UP.replace("accept high", "node high"))
    assert (solved(task_of(), high, never), solved(task_of(), low, never)) == (False, True)
    said = task_of(lambda trajectory: trajectory.steps == 2)
    assert solved(said, high, machine_of())
    assert solved(said, low, machine_of())


def test_the_tasks_that_ship_say_that_a_reward_counts() -> None:
    assert find_task("doorkey").success is ended_with_reward


@pytest.mark.parametrize("cut", range(1, 6))
def test_the_tasks_own_success_sees_whole_episodes_however_rollouts_cut_them(cut: int) -> None:
    seen: list[list[float]] = []

    def success(trajectory: Trajectory) -> bool:
        seen.append(trajectory.observations[:, 0].tolist())
        return bool(trajectory.terminated and trajectory.observations[-1, 0] > 2)

    heights, over = [0, 1, 3, 2, 4, 5, 1], [0, 1, 0, 0, 1, 0]
    reader = SuccessReader(task_of(success))
    first, second = rollout_of(heights[: cut + 1], over[:cut]), rollout_of(heights[cut:], over[cut:])
    parts = [reader.read(first), reader.read(second)]
    assert np.concatenate([part for part in parts if part is not None])[:, 0].tolist() == [0, 1, 0, 0, 1, 0]
    assert seen == [[0, 1, 3], [3, 2, 4, 5]]


@pytest.mark.parametrize("cut", range(1, 6))
def test_an_episode_counts_if_it_reached_an_accepting_node_at_any_step(cut: int) -> None:
    heights, over = [0, 3, 1, 1, 1, 2, 1], [0, 1, 0, 1, 0, 1]
    machine = machine_of(UP.replace("?a in 2 .. 3", "?a in 2 .. 3 = 2"))
    payer = Payer(machine, climber().reader())

    def pay(rollout: Any) -> Any:
        payer(rollout)
        return payer.open.paid

    reader = SuccessReader(task_of(), machine, pay)
    first, second = rollout_of(heights[: cut + 1], over[:cut]), rollout_of(heights[cut:], over[cut:])
    parts = [reader.read(first), reader.read(second)]
    assert np.concatenate([part for part in parts if part is not None])[:, 0].tolist() == [0, 1, 0, 0, 0, 1]


def test_returns_above_0_are_left_to_whoever_counts_them() -> None:
    assert SuccessReader(task_of()).read(rollout_of([0, 1])) is None
    assert SuccessReader(replace(task_of(), success=ended_with_reward), machine_of()).read(rollout_of([0, 1])) is None
