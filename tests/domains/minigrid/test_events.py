"""MiniGrid's events, read from observations, are what the objects of the env say happened."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from srm.domains.base import Task
from srm.domains.minigrid.tasks import ENVIRONMENTS, minigrid_task
from srm.domains.minigrid.vocabulary import FORWARD, MINIGRID_WORDS
from srm.domains.tasks import find_task
from srm.seeding import stream
from srm.trajectory import Trajectory, as_rollout
from tests.domains.minigrid.truth import Occurrence, Truth, occurrences

ALL = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
SAMPLE = ["MiniGrid-DoorKey-6x6-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-ObstructedMaze-1Dlhb-v0"]
WANDER = 150  # random steps after the expert leaves
ODDS = np.array([2, 2, 4, 3, 1, 1, 1]) / 14  # more taking than opening, since a box that was opened cannot be taken


def box_task(env_id: str) -> Task:
    return minigrid_task("box", name="box", meaning="take the box", env_id=env_id)


BOXES = [box_task(f"MiniGrid-{name}-v0") for name in ("UnlockPickup", "BlockedUnlockPickup")]


def episode(env: Any, seed: int, plan: list[int], rng: np.random.Generator) -> tuple[Trajectory, list[set[Occurrence]]]:
    """Follows the plan for some way (all of it at every third seed), then wanders; with the truth of every step."""
    seen, _ = env.reset(seed=seed)
    follow = len(plan) if seed % 3 == 0 else int(rng.integers(len(plan)))
    actions = [*plan[:follow], *rng.choice(7, size=WANDER, p=ODDS).tolist()]
    observations, poses, rewards, truth, terminated = [seen["image"]], [seen["pose"]], [], [], False
    for action in actions:
        before = Truth(env)
        seen, reward, terminated, truncated, _ = env.step(action)
        truth.append(before.after(terminated, action == FORWARD))
        observations.append(seen["image"])
        poses.append(seen["pose"])
        rewards.append(float(reward))
        if terminated or truncated:
            break
    taken = np.array(actions[: len(rewards)])
    return Trajectory(
        np.stack(observations), taken, np.stack(poses), np.array(rewards, np.float32), bool(terminated)
    ), truth


def check(task: Task, steps: int) -> Counter[str]:
    """Compares at least so many steps; returns how often each event was met."""
    rng = stream(0, task.env_id)
    assert task.expert is not None
    env, event_reader, met = task.environment(task.env_id), task.event_reader(), Counter[str]()
    seed = compared = 0
    while compared < steps:
        seed += 1
        env.reset(seed=seed)
        trajectory, truth = episode(env, seed, task.expert(env) or [6], rng)
        events = event_reader.read(as_rollout([trajectory]))
        for step, happened in enumerate(truth):
            assert occurrences(events, 0, step) == happened, f"seed {seed}, step {step}"
            met.update(event for event, _, _ in happened)
        compared += len(truth)
    return met


def test_events_are_what_the_objects_say_happened() -> None:
    met = sum((check(task, 1_500) for task in (*map(find_task, SAMPLE), *BOXES)), Counter[str]())
    assert set(met) == {event.name for event in MINIGRID_WORDS.events}, "a sample in which everything happens"


@pytest.mark.slow
def test_events_of_a_hundred_thousand_steps() -> None:
    tasks = [*map(find_task, ALL), *BOXES]
    met = sum((check(task, -(-100_000 // len(tasks))) for task in tasks), Counter[str]())
    assert min(met[event.name] for event in MINIGRID_WORDS.events) > 50, "nothing is rare"
