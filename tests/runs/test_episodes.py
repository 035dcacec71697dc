"""Recorded episodes: what a page can unfold from them is what happened."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from PIL import Image

from srm.domains.base import Task
from srm.domains.minigrid.scenes import GridMoment, look_through
from srm.domains.record import MOST_STEPS, record, replay
from srm.domains.scenes import Picture, look, tell
from srm.domains.tasks import find_task
from srm.evaluate.trace import trace
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Event, Signal, Vocabulary
from srm.runs import episodes as module
from srm.runs.episodes import record_episodes
from srm.seeding import stream
from srm.trajectory import Demonstrations, Events, Rollout


@pytest.fixture(scope="module")
def task() -> Task:
    return find_task("DoorKey-5x5")


@pytest.fixture(scope="module")
def machine() -> Machine:
    return find_machine("doorkey_handset")


@pytest.fixture(scope="module")
def shown(task: Task) -> Demonstrations:
    return record(task, 2, seed=0)


def at_random(seed: int, actions: int = 7) -> Any:
    rng = stream(seed, "actions")
    return lambda observations: int(rng.integers(actions))


@pytest.fixture(scope="module")
def told(task: Task, machine: Machine, shown: Demonstrations) -> dict[str, Any]:
    return json.loads(json.dumps(record_episodes(task, machine, shown, at_random(1), 2, seed=4)))


# The env


def unfolded(grid: dict[str, Any], moments: int) -> list[np.ndarray]:
    cells = np.frombuffer(base64.b64decode(grid["cells"]), np.uint8).reshape(grid["width"], grid["height"], 3).copy()
    found = []
    for moment in range(moments):
        for _, x, y, *cell in (change for change in grid["changes"] if change[0] == moment):
            cells[x, y] = cell
        found.append(cells.copy())
    return found


def test_the_world_of_every_moment_can_be_unfolded(told, shown):
    grid = told["episodes"][0]["grid"]
    seen = np.frombuffer(base64.b64decode(grid["seen"]), np.uint8).reshape(-1, 7)
    envs = unfolded(grid, shown.trajectories[0].steps + 1)
    held = {moment: thing for moment, *thing in grid["carried"]}
    hands = [0, 0, 0]
    for moment, env in enumerate(replay(shown, 0)):
        env = env.unwrapped
        hands = held.get(moment, hands)
        assert (envs[moment] == env.grid.encode()).all()
        assert grid["poses"][3 * moment : 3 * moment + 3] == [*env.agent_pos, env.agent_dir]
        assert hands == list(env.carrying.encode() if env.carrying else (0, 0, 0))
        visible = np.unpackbits(seen[moment])[:49].reshape(7, 7)
        assert (visible == (shown.trajectories[0].observations[moment][..., 0] != 0)).all()


def test_a_world_that_cannot_be_made_again_is_shown_as_it_was_seen(task, machine, shown):
    unknown = replace(shown, seeds=(-1, -1))
    other = replace(shown, seeds=shown.seeds[::-1])  # its envs do not look as recorded
    for demonstrations in (unknown, other):
        grid = record_episodes(task, machine, demonstrations, at_random(1), 0)["episodes"][0]["grid"]
        assert (grid["width"], grid["height"]) == (7, 7)
        assert grid["poses"][:3] == [3, 6, 3]


def test_a_view_shows_what_is_carried_in_hand_and_not_on_the_floor():
    observation = np.zeros((7, 7, 3), np.uint8)
    observation[3, 5], observation[3, 6] = (4, 4, 2), (5, 4, 0)
    moment = look_through(observation)
    assert moment.carried == (5, 4, 0)
    assert moment.cells[3, 6].tolist() == [1, 0, 0]
    assert moment.cells[3, 5].tolist() == [4, 4, 2]
    assert moment.seen.sum() == 2


# The machine


def test_what_is_told_of_an_episode_is_what_the_trace_says(told, task, machine, shown):
    for episode, trajectory in zip(told["episodes"], shown.trajectories, strict=False):
        traced = trace(machine, task.event_reader(), trajectory, machine.values())
        assert episode["pay"] == pytest.approx(traced.pay)
        assert episode["return"] == pytest.approx(trajectory.total_reward, rel=1e-5)
        fired = {entry["step"]: entry["rule"] for entry in episode["trace"] if "rule" in entry}
        assert fired == {step.step: step.fired.rule for step in traced.steps if step.fired}
        assert episode["trace"][-1]["to"] == "end"


def test_holes_and_rules_add_up_to_the_pay(told):
    for episode in told["episodes"]:
        assert sum(episode["holes"].values()) == pytest.approx(episode["pay"], abs=1e-4)
        assert sum(amount for _, amount in episode["rules"].values()) == pytest.approx(episode["pay"], abs=1e-4)


def test_counters_are_told_where_they_change(told, task, machine):
    for episode in told["episodes"]:
        changes = [counts for _, counts in episode["counters"]]
        assert changes[0] == {"closed": 0}
        assert [counts["closed"] for counts in changes] == list(range(len(changes)))


def test_hindsight_is_told_at_both_of_its_ends():
    task = find_task("obstructedmaze")
    machine = find_machine("obstructedmaze_1_handset")
    (episode,) = record_episodes(task, machine, record(task, 1, seed=0), at_random(0), 0)["episodes"]
    changes = [(entry["step"], change) for entry in episode["trace"] for change in entry.get("repaid", ())]
    assert changes
    entries = {entry["step"]: entry for entry in episode["trace"]}
    for at, change in changes:
        assert entries[change["step"]]["repaid_at"] >= at
    running = sum(entry.get("pay", {}).get("value", 0.0) for entry in episode["trace"])
    assert running + sum(change["now"] - change["before"] for _, change in changes) == pytest.approx(episode["pay"])


# The policy


def test_policy_episodes_are_played_from_new_seeds_by_the_policy(told, task, machine, shown):
    played = [episode for episode in told["episodes"] if episode["kind"] == "policy"]
    assert [episode["number"] for episode in played] == [1, 2]
    assert not {episode["seed"] for episode in played} & set(shown.seeds)
    again = record_episodes(task, machine, shown, at_random(1), 2, seed=4)
    assert json.loads(json.dumps(again)) == told
    assert told["actions"]["5"] == "toggle"


def test_a_policy_is_asked_with_the_views_so_far(task, machine, shown):
    asked: list[int] = []

    def act(observations: Any) -> int:
        asked.append(len(observations))
        return 6

    (*_, episode) = record_episodes(task, machine, shown, act, 1)["episodes"]
    assert asked == list(range(1, 251))  # DoorKey-5x5 runs out of time after 250 steps
    assert episode["terminated"] is False
    assert episode["trace"] == []


# Environments that are not MiniGrid


class Lamp(gymnasium.Env):
    """Brightness 0 to 4; action 1 makes it brighter. The episode ends at 4."""

    observation_space = gymnasium.spaces.Box(0, 4, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode, self.level = render_mode, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.level = 0
        return np.array([0], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.level += action
        return np.array([self.level], np.float32), float(self.level == 4), self.level == 4, False, {}

    def render(self) -> np.ndarray:
        return np.full((400, 800, 3), 60 * self.level, np.uint8)


class LampWords:
    vocabulary = Vocabulary(
        "lamp", (Event("brighter", "turns the lamp up"),), signals=(Signal("level", "its brightness"),)
    )

    def read(self, rollout: Rollout) -> Events:
        step, env = np.nonzero((rollout.actions == 1) & rollout.valid)
        order = np.lexsort((step, env))
        step, env = step[order].astype(np.int32), env[order].astype(np.int32)
        level = rollout.observations[:-1, :, 0].astype(np.float64)[..., None]
        return Events(
            rollout.steps,
            rollout.envs,
            step,
            env,
            np.zeros(len(step), np.int16),
            np.zeros((len(step), 0), np.int32),
            level,
        )


LAMP = parse("machine lamp\nholes ?up = 0.5\nstart dim\n    brighter // ?up * level\n")


def lamp_task(render_mode: str | None) -> Task:
    return Task(
        name="lamp", meaning="light it", env_id="Lamp", vocabulary=LampWords.vocabulary, event_reader=LampWords, machines=(),
        expert=lambda env: [1, 1, 1, 1], frames=0, environment=lambda env_id: Lamp(render_mode),
    )  # fmt: skip


def test_another_environment_is_recorded_with_its_pictures_and_signals():
    task = lamp_task("rgb_array")
    told = record_episodes(task, LAMP, record(task, 1, seed=0), lambda observations: 1, 1)
    for episode in told["episodes"]:
        assert "grid" not in episode
        assert episode["pictures"]["at"] == [0, 1, 2, 3, 4]
        assert episode["signals"] == [{"level": float(level)} for level in range(4)]
        assert episode["pay"] == 0.5 * (0 + 1 + 2 + 3)
    image = Image.open(io.BytesIO(base64.b64decode(told["episodes"][0]["pictures"]["images"][2].partition(",")[2])))
    assert image.size == (320, 160)
    assert abs(image.getpixel((5, 5))[0] - 120) < 4


def test_an_environment_that_does_not_render_is_told_without_pictures():
    task = lamp_task(None)
    for episode in record_episodes(task, LAMP, record(task, 1, seed=0), lambda observations: 1, 1)["episodes"]:
        assert not {"grid", "pictures"} & set(episode)


def test_pictures_stop_where_the_page_would_grow_too_large_and_no_more_are_rendered(monkeypatch: pytest.MonkeyPatch):
    task, rendered = lamp_task("rgb_array"), 0
    demonstrations = record(task, 1, seed=0)

    def count(env: gymnasium.Env) -> Any:
        nonlocal rendered
        rendered += 1
        return look(env)

    monkeypatch.setattr(module, "look", count)
    monkeypatch.setattr(module, "MOST_PICTURES", 1000)
    kept = ["pictures" in e for e in record_episodes(task, LAMP, demonstrations, lambda observations: 1, 8)["episodes"]]
    shown = sum(kept)
    assert kept == [True] * shown + [False] * (9 - shown)
    assert 2 <= shown < 9  # of the demonstrations and of the policy
    assert rendered <= 5 * (shown + 1)


def test_an_environment_without_a_time_limit_is_stopped():
    task = lamp_task(None)
    (*_, episode) = record_episodes(task, LAMP, record(task, 1, seed=0), lambda observations: 0, 1)["episodes"]
    assert len(episode["actions"]) == MOST_STEPS
    assert episode["terminated"] is False


def test_equal_moments_are_kept_once():
    moment = look(lamp_task("rgb_array").environment("Lamp"))
    assert isinstance(moment, Picture)
    assert len(tell([moment, moment, moment])["pictures"]["images"]) == 1


def test_moments_of_which_some_cannot_be_shown_are_not_shown():
    grid = GridMoment(np.zeros((2, 2, 3), np.uint8), (0, 0, 0), (0, 0, 0), np.ones((7, 7), bool))
    assert tell([grid, None]) == {}
    assert tell([]) == {}
