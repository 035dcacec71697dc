"""What a reward pays for on given play: shares worked by hand, and a real hack, a driver that parks beside the goal."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest

import srm
from srm.domains.base import Task
from srm.domains.record import play_actions
from srm.evaluate.audit import audit_terms
from srm.machine.language.parse import parse
from srm.trajectory import Demonstrations, Rollout

LENGTH, LIMIT = 10, 50
BACK, STAY, ON = range(3)


class Driveway(gymnasium.Env):
    """The task pays 1 for reaching the last cell, and nothing else."""

    observation_space = gymnasium.spaces.Box(0.0, float(LENGTH), (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return np.array([self.cell], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.cell = min(max(self.cell + int(action) - 1, 0), LENGTH)
        home = self.cell == LENGTH
        return np.array([self.cell], np.float32), float(home), home, False, {}


gymnasium.register("Driveway-v0", entry_point=Driveway, max_episode_steps=LIMIT)
words = srm.Vocabulary("driveway")


@words.event
def arrive(after: np.ndarray) -> np.ndarray:
    return np.asarray(after[..., 0] == LENGTH)


@words.signal(low=0, high=1)
def closeness(after: np.ndarray) -> np.ndarray:
    return np.asarray(after[..., 0] / LENGTH)


TASK: Task = words.task("Driveway-v0", success=lambda episode: True)
SHAPED = """
machine shaped
words driveway
holes ?goal = 1 ?near = {near}
start driving
    arrive     // ?goal -> home
    otherwise  // ?near * closeness
accept home
"""


def shaped(near: float) -> Any:
    return parse(SHAPED.format(near=near), {"driveway": TASK.vocabulary})


def best_actions(near: float, discount: float = 0.97) -> list[int]:
    """What somebody does who wants most of the shaped reward, discounted as learners do, and looks at no clock."""
    value = np.zeros(LENGTH + 1)
    for _ in range(1000):
        gains = np.array([[_gain(cell, move, near, discount, value) for move in range(3)] for cell in range(LENGTH)])
        value = np.append(gains.max(axis=1), 0.0)
    cell, actions = 0, []
    while cell < LENGTH and len(actions) < LIMIT:
        actions.append(int(gains[cell].argmax()))
        cell += actions[-1] - 1
    return actions


def _gain(cell: int, move: int, near: float, discount: float, value: np.ndarray) -> float:
    to = min(max(cell + move - 1, 0), LENGTH)
    return 1.0 if to == LENGTH else near * to / LENGTH + discount * float(value[to])


def episodes(actions: list[int]) -> Demonstrations:
    trajectory = play_actions(gymnasium.make("Driveway-v0"), actions, 0)
    return Demonstrations("driveway", "Driveway-v0", "driveway", {}, (0,), (trajectory,))


def test_a_driver_that_parks_beside_the_goal_is_seen_in_the_audit_and_was_foreseen_by_the_check() -> None:
    greedy = shaped(0.2)
    parked = episodes(best_actions(0.2))
    assert parked.trajectories[0].total_reward == 0  # it never arrives before its time is up
    audit = srm.audit(parked, greedy, task=TASK)
    assert audit.dominant.name == "?near"
    assert audit.dominant.share == 1
    assert audit.still == 1
    (loop,) = audit.loops
    assert loop.what == "nothing happens"
    assert loop.rounds >= LIMIT - LENGTH - 1
    assert loop.pay == pytest.approx(0.2 * 0.9, abs=0.03)
    assert "?near dominates" in str(audit)
    report = srm.check(greedy, TASK)
    assert any("staying can be the better choice" in finding.message for finding in report.of("episode", "warning"))


def test_within_the_atom_the_best_driver_arrives() -> None:
    modest = shaped(1 / LIMIT)
    assert not srm.check(modest, TASK).of("episode", "warning")
    arrived = episodes(best_actions(1 / LIMIT))
    assert arrived.trajectories[0].total_reward == 1
    audit = srm.audit(arrived, modest, task=TASK)
    assert audit.dominant.name == "?goal"
    assert not audit.loops


def rollout(task_reward: list[list[float]], ends: list[int]) -> Rollout:
    reward = np.array(task_reward, np.float32).T  # [T, B]
    truncated = np.zeros(reward.shape, np.bool_)
    for env, end in enumerate(ends):
        truncated[end, env] = True
    return Rollout(
        np.arange((len(reward) + 1) * len(ends), dtype=np.float32).reshape(-1, len(ends), 1),
        np.zeros(reward.shape, np.int64),
        np.zeros((len(reward) + 1, len(ends), 0), np.int16),
        reward,
        np.zeros(reward.shape, np.bool_),
        truncated,
        np.ones(reward.shape, np.bool_),
    )


def test_shares_are_those_worked_by_hand() -> None:
    played = rollout([[0, 0, 1], [0, 2, 0], [0, 0, 0]], [2, 2, 2])
    a = np.array([[1.0, 1, 1], [1, 1, 1], [1, 1, 1]])
    b = np.array([[-1.0, 0, 0], [0, -3, 0], [0, 0, 0]])
    audit = audit_terms(played, {"a": a, "b": b}, "E", "play", "reward")
    first, second = audit.terms
    assert (first.per_step, first.per_episode, first.share) == (1, 3, pytest.approx(9 / 13))
    assert (second.per_step, second.share, second.signed) == (pytest.approx(-4 / 9), pytest.approx(4 / 13), -4 / 5)
    assert first.correlation is None  # it never changes
    assert second.correlation == pytest.approx(np.corrcoef([-1, -3, 0], [1, 2, 0])[0, 1])
    assert first.still == pytest.approx(7 / 9)
    assert second.still is None
    assert audit.still == pytest.approx(6 / 7)  # above 0 at seven steps, of which the task pays at one
    assert json.loads(json.dumps(audit.to_json()))["terms"][0]["name"] == "a"


def test_the_tasks_own_reward_cannot_part_ways_with_itself() -> None:
    from examples.runner import TASK as runner

    audit = srm.audit(runner.env_id, frames=640)
    assert audit.is_task_reward
    assert audit.still is None
    assert "the terms are the task's own reward" in str(audit)
    assert {term.name for term in audit.terms} == {"reward_forward", "reward_effort", "reward_alive"}


def test_a_machine_that_can_be_farmed_brings_the_warning_of_its_check() -> None:
    machine = parse(
        "machine m\nwords minigrid\nstart s\n    pick_up_key // 1\n    drop_key // 0\n    reach_goal // 1 -> t\naccept t"
    )
    audit = srm.audit("doorkey", machine)
    assert any("can be repeated without end for gain" in warning for warning in audit.warnings)
    assert [term.name for term in audit.terms] == ["numbers"]
