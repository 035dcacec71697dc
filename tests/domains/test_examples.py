"""The examples: what their words read is what the environment does, their experts succeed, and their machines can be proved safe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srm.domains.base import Task
from srm.domains.reading import read_events
from srm.domains.record import record, replay
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.machine.language.parse import load
from srm.trajectory import Demonstrations

ROOT = Path(__file__).parents[2]
NEEDS = {"lander": "Box2D", "lander_continuous": "Box2D"}
TASKS = {
    "corridor": "examples.corridor:TASK",
    "mountain_car": "examples.mountain_car:TASK",
    "acrobot": "examples.acrobot:TASK",
    "lander": "examples.lander:TASK",
    "lander_continuous": "examples.lander:CONTINUOUS",
}


def task_named(name: str) -> Task:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    return find_task(TASKS[name])


@pytest.fixture(scope="module", params=TASKS)
def shown(request: pytest.FixtureRequest) -> tuple[Task, Demonstrations]:
    task = task_named(request.param)
    return task, record(task, 3, seed=0)


def test_experts_succeed_in_the_words_of_their_task(shown: tuple[Task, Demonstrations]) -> None:
    task, demos = shown
    assert all(map(task.solved, demos.trajectories))
    events = read_events(task.event_reader(), demos.as_rollout(), "demonstration")
    assert set(events.env.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("name", TASKS)
def test_their_machines_are_proved_safe(name: str) -> None:
    task = task_named(name)
    words = task.vocabulary
    machine = load(ROOT / "examples" / f"{words.name}.srm", {words.name: words})
    report = machine.check(words)
    assert [finding for finding in report.findings if finding.severity == "error"] == []
    assert [finding for finding in report.of("farming") if finding.severity == "warning"] == []


# MountainCar


def test_the_flag_counts_without_a_reward_above_0() -> None:
    task = task_named("mountain_car")
    demos = record(task, 3, seed=0)
    assert all(episode.total_reward == -episode.steps for episode in demos.trajectories)
    events = task.event_reader().read(demos.as_rollout())
    assert events.step.tolist() == [episode.steps - 1 for episode in demos.trajectories]
    with pytest.raises(TaskError, match="the expert failed"):
        record(replace(task, success=None), 1, seed=0)


def test_the_signal_is_the_height_that_gymnasium_draws() -> None:
    task = task_named("mountain_car")
    demos = record(task, 1, seed=0)
    read = task.event_reader().read(demos.as_rollout()).signals[:, 0, 0]
    positions = [env.unwrapped.state[0] for env in replay(demos, 0, task.environment)]
    car = task.environment(task.env_id).unwrapped
    np.testing.assert_allclose(read, car._height(np.array(positions[1:])), atol=1e-6)  # type: ignore[attr-defined]


# LunarLander


@pytest.mark.parametrize("name", ["lander", "lander_continuous"])
def test_a_lander_either_lands_or_crashes_at_the_end(name: str) -> None:
    task = task_named(name)
    env = task.environment(task.env_id)
    careless = record(
        replace(task, expert=lambda env: [env.action_space.sample() * 0] * 1000, success=lambda _: True), 3, 0
    )
    careful = record(task, 3, seed=0)
    for demos, event in ((careless, "crash"), (careful, "land")):
        events = task.event_reader().read(demos.as_rollout())
        last = [
            task.vocabulary.events[kind].name
            for kind, step, number in zip(events.event, events.step, events.env, strict=True)
            if step == demos.trajectories[number].steps - 1
        ]
        assert last == [event] * 3
    env.close()


@pytest.mark.parametrize("name", ["lander", "lander_continuous"])
def test_the_words_of_the_lander_are_the_terms_of_gymnasiums_reward(name: str) -> None:
    """Where nothing is so far, fast or leaning that it counts no more."""
    task = task_named(name)
    demos = record(task, 1, seed=0).as_rollout()
    index = task.vocabulary.signal_index
    signals = task.event_reader().read(demos).signals
    weights = {"change_distance": -100, "change_speed": -100, "change_tilt": -100, "change_legs": 10, "fuel": -0.3}
    paid = sum(weight * signals[..., index[term]] for term, weight in weights.items())
    most = {"distance": 1.5, "speed": 1.5, "tilt": 1}
    counted = np.all([signals[..., index[term]] < bound for term, bound in most.items()], axis=0)
    compared = counted[1:-1] & counted[:-2]  # a change needs the step before; landing itself pays 100
    assert compared.sum() > 50
    np.testing.assert_allclose(paid[1:-1][compared], demos.task_reward[1:-1][compared], atol=0.01)
