"""A demonstrator with a habit, or with noise, still solves the task, and what it does too many is seen in the events."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.rooms import TASK as ROOMS
from srm.domains.base import Task
from srm.domains.minigrid.events import MiniGrid
from srm.domains.minigrid.expert import plan, plan_from
from srm.domains.minigrid.expert_world import read_world
from srm.domains.minigrid.habits import HABITS, Demonstrator, record_with
from srm.domains.minigrid.tasks import TASKS
from srm.domains.minigrid.vocabulary import PICKUP
from srm.domains.record import play_actions, record
from srm.domains.tasks import find_task
from srm.errors import SettingError, TaskError
from srm.trajectory import Trajectory, as_rollout

DOORKEY, KEYCORRIDOR = find_task("DoorKey-8x8"), find_task("KeyCorridorS3R3")


def demonstrator(task: Task, habit: str | None, noise: float = 0.0) -> Demonstrator:
    event_reader = task.event_reader()
    assert isinstance(event_reader, MiniGrid)
    return Demonstrator(event_reader.target, None if habit is None else HABITS[habit], noise)


def episodes(task: Task, expert: Demonstrator, seeds: int) -> list[Trajectory]:
    """What the actions come to when MiniGrid plays them; all are needed, and the last solves the task."""
    env, played = task.environment(task.env_id), []
    for seed in range(seeds):
        env.reset(seed=seed)
        actions = expert(env)
        assert actions is not None
        played.append(play_actions(env, actions, seed))
        assert task.solved(played[-1]), f"seed {seed}"
        assert played[-1].steps == len(actions), f"seed {seed}"
    return played


def events_of(task: Task, trajectories: list[Trajectory]) -> list[Counter[str]]:
    events = task.event_reader().read(as_rollout(trajectories))
    counts = [Counter[str]() for _ in trajectories]
    for world, event in zip(events.env, events.event, strict=True):
        counts[world][task.vocabulary.events[event].name] += 1
    return counts


def check_habit(task: Task, habit: str, seeds: int) -> None:
    plain = events_of(task, episodes(task, demonstrator(task, None), seeds))
    expert = demonstrator(task, habit)
    total = 0
    for usual, counts in zip(plain, events_of(task, episodes(task, expert, seeds)), strict=True):
        changed = {
            name: counts[name] - usual[name] for name in {*usual, *counts} if name not in ("see_target", "open_door")
        }
        if habit == "closes_doors":
            expected = {"close_door": counts["close_door"]}
            assert counts["close_door"] >= 1
        else:
            expected = {"drop_key": 1, "pick_up_key": 1}
        assert {name: more for name, more in changed.items() if more} == expected
        total += counts["close_door"] if habit == "closes_doors" else 1
    assert expert.detours == total


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("task", [DOORKEY, KEYCORRIDOR], ids=["doorkey", "keycorridor"])
def test_a_habit_adds_its_own_events_and_no_others(task: Task, habit: str) -> None:
    check_habit(task, habit, seeds=6)


@pytest.mark.slow
@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("task", [DOORKEY, KEYCORRIDOR], ids=["doorkey", "keycorridor"])
def test_a_habit_adds_its_own_events_and_no_others_at_many_seeds(task: Task, habit: str) -> None:
    check_habit(task, habit, seeds=50)


def order_of(task: Task, habit: str) -> list[str]:
    """The acts of one episode, in order."""
    (episode,) = episodes(task, demonstrator(task, habit), 1)
    events = task.event_reader().read(as_rollout([episode]))
    names = [task.vocabulary.events[event].name for event in events.event]
    return [name for name in names if name in ("pick_up_key", "drop_key", "unlock_door", "close_door", "reach_goal")]


@pytest.mark.parametrize(
    ("task", "habit", "acts"),
    [
        (DOORKEY, "closes_doors", "pick_up_key unlock_door close_door reach_goal"),
        (DOORKEY, "redrops_key", "pick_up_key drop_key pick_up_key unlock_door reach_goal"),
        (DOORKEY, "retakes_used_key", "pick_up_key unlock_door drop_key pick_up_key reach_goal"),
        (KEYCORRIDOR, "redrops_key", "pick_up_key drop_key pick_up_key unlock_door drop_key"),
        (KEYCORRIDOR, "retakes_used_key", "pick_up_key unlock_door drop_key pick_up_key drop_key"),
    ],
)
def test_a_habit_has_its_place_in_the_episode(task: Task, habit: str, acts: str) -> None:
    assert order_of(task, habit) == acts.split()


def test_a_habit_that_never_applies_is_refused() -> None:
    with pytest.raises(TaskError, match="redrops_key never applies in 2 episodes, since none has a key that a locked"):
        record_with(ROOMS, 2, seed=0, habit="redrops_key")
    assert len(record_with(ROOMS, 2, seed=0, habit="closes_doors")) == 2


def test_an_unknown_habit_or_another_planner_is_refused() -> None:
    with pytest.raises(TaskError, match=r"no habit close_doors; did you mean closes_doors\?"):
        record_with(DOORKEY, 1, seed=0, habit="close_doors")
    with pytest.raises(TaskError, match="habits and noise are of MiniGrid's planner"):
        record_with(find_task("examples.corridor:TASK"), 1, seed=0, noise=0.1)
    with pytest.raises(SettingError, match=r"noise 1\.0: give a number from 0 to below 1"):
        record_with(DOORKEY, 1, seed=0, noise=1.0)


# ---- noise


class Counting(Demonstrator):
    random_actions = 0

    def _wander(self, *arguments: Any) -> bool:
        wandered = super()._wander(*arguments)
        self.random_actions += wandered
        return wandered


@pytest.mark.parametrize("task", [DOORKEY, KEYCORRIDOR, find_task("ObstructedMaze-1Dlhb")], ids=lambda task: task.name)
def test_noise_is_a_share_of_the_actions(task: Task) -> None:
    """400 to 800 actions: the share has a standard deviation of at most 0.025."""
    expert = Counting(demonstrator(task, None).target, noise=0.3)
    played = episodes(task, expert, seeds=20)
    assert abs(expert.random_actions / sum(episode.steps for episode in played) - 0.3) < 0.06


def test_much_noise_ends_in_time() -> None:
    """Most of the time limit is spent at random, and the rest of it suffices."""
    task = find_task("DoorKey-5x5")
    assert all(episode.steps <= 250 for episode in episodes(task, demonstrator(task, None, noise=0.95), seeds=3))


def test_the_seed_decides_the_noise() -> None:
    one, again, other = (record_with(DOORKEY, 2, seed=seed, noise=0.3) for seed in (0, 0, 1))
    for first, second in zip(one.trajectories, again.trajectories, strict=True):
        assert np.array_equal(first.actions, second.actions)
    assert one.seeds == again.seeds != other.seeds


def test_without_a_habit_and_noise_it_is_the_planner() -> None:
    plain, same = record(DOORKEY, 3, seed=0), record_with(DOORKEY, 3, seed=0)
    for one, other in zip(plain.trajectories, same.trajectories, strict=True):
        assert np.array_equal(one.actions, other.actions)


# ---- what they stand on: a plan from the middle of an episode, and a task's own idea of success


@pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])
def test_a_plan_goes_on_with_the_key_in_hand(task: Task) -> None:
    env = task.environment(task.env_id)
    env.reset(seed=0)
    target = demonstrator(task, None).target
    actions = plan(env, target)
    assert actions is not None
    world = read_world(env)
    for step, action in enumerate(actions):
        if action == PICKUP or step % 5 == 0:
            rest = plan_from(world, target)
            assert rest is not None
            assert len(rest) == len(actions) - step, f"after {step} actions"
        world = world.after(action)


def test_a_task_may_say_itself_what_success_is() -> None:
    with pytest.raises(TaskError, match="the expert failed"):
        record(replace(DOORKEY, success=lambda episode: episode.total_reward > 1), 1, seed=0)
    hasty = replace(DOORKEY, expert=lambda env: (demonstrator(DOORKEY, None)(env) or [])[:3], success=lambda _: True)
    assert record(hasty, 1, seed=0).trajectories[0].steps == 3
