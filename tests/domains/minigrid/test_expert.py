"""The expert solves what can be solved, without a motion too many."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import Any

import numpy as np
import pytest

from srm.domains.minigrid.expert import plan
from srm.domains.minigrid.expert_walk import costs, facing, walk
from srm.domains.minigrid.expert_world import Thing, World, read_world
from srm.domains.minigrid.tasks import ENVIRONMENTS
from srm.domains.minigrid.vocabulary import BALL, CLOSED, DOOR, DROP, FORWARD, GOAL, KEY, LEFT, LOCKED, RIGHT, TOGGLE
from srm.domains.record import play_actions
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.seeding import stream
from srm.trajectory import as_rollout

ALL = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
UNSOLVABLE = ("2Dlhb-v0", "1Q-v0", "2Q-v0")  # where a ball can replace the box with the key


def has_a_way(world: World) -> bool:
    """Whether the blue ball could be reached if everything movable stepped aside, but locked doors asked for a key."""
    keys: set[int] = set()  # colours of those that can be reached

    def price(cell: object, thing: Thing | None) -> int | None:
        shut = thing is not None and not thing.movable
        opens = thing is not None and thing.kind == DOOR and (thing.state != LOCKED or thing.colour in keys)
        return None if shut and not opens else 1

    while True:
        cells = {pose[:2] for pose in costs(world, price)[0]}
        found = [thing.inside or thing for cell, thing in world.things.items() if cell in cells]
        more = {thing.colour for thing in found if thing.kind == KEY} - keys
        if Thing(BALL, 2) in found or not more:
            return Thing(BALL, 2) in found
        keys |= more


def check_solves(env_id: str, seeds: int) -> None:
    task = find_task(env_id)
    assert task.expert is not None
    env = task.environment(env_id)
    for seed in range(seeds):
        env.reset(seed=seed)
        actions = task.expert(env)
        if actions is None:
            assert env_id.endswith(UNSOLVABLE), f"seed {seed}"
            assert not has_a_way(read_world(env)), f"seed {seed}"
        else:
            episode = play_actions(env, actions, seed)
            assert episode.terminated, f"seed {seed}"
            assert episode.total_reward > 0, f"seed {seed}"


@pytest.mark.parametrize("env_id", ALL)
def test_every_environment_is_solved(env_id: str) -> None:
    check_solves(env_id, seeds=4)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ALL)
def test_every_environment_is_solved_at_many_seeds(env_id: str) -> None:
    check_solves(env_id, seeds=50)


def events_of(env_id: str, seeds: int) -> list[Counter[str]]:
    """How often each event happens in each of the expert's episodes."""
    task = find_task(env_id)
    assert task.expert is not None
    env, episodes = task.environment(task.env_id), []
    for seed in range(seeds):
        env.reset(seed=seed)
        actions = task.expert(env)
        assert actions is not None
        episodes.append(play_actions(env, actions, seed))
    events, counts = task.event_reader().read(as_rollout(episodes)), [Counter[str]() for _ in episodes]
    for world, event in zip(events.env, events.event, strict=True):
        counts[world][task.vocabulary.events[event].name] += 1
    return counts


@pytest.mark.parametrize("env_id", ["DoorKey-8x8", "KeyCorridorS4R3", "ObstructedMaze-2Dlhb"])
def test_nothing_is_done_needlessly(env_id: str) -> None:
    for counts in events_of(env_id, 15):
        assert counts["close_door"] == 0
        assert counts["hit_wall"] == 0
        assert counts["unlock_door"] == 1
        if env_id == "DoorKey-8x8":
            assert counts["drop_key"] == 0
        else:
            assert counts["drop_key"] == counts["pick_up_key"], "the key is put down once for each time it is taken"
        assert counts["pick_up_ball"] == counts["drop_ball"] <= 1
        assert counts["pick_up_key"] == 1
        assert counts["open_box"] <= 1


def fewest_actions(world: World, goal: tuple[int, int]) -> int:
    """Every world that any actions lead to, nearest first: the slow truth."""
    layer, seen, steps = {world}, {world}, 0
    while layer:
        if any(goal not in there.things or there.pose[:2] == goal for there in layer):
            return steps
        layer = {there.after(action) for there in layer for action in range(6)} - seen
        seen |= layer
        steps += 1
    raise AssertionError("no way")


@pytest.mark.parametrize(("env_id", "kind"), [("DoorKey-5x5", GOAL), ("KeyCorridorS3R1", BALL)])
def test_no_plan_is_shorter(env_id: str, kind: int) -> None:
    task = find_task(env_id)
    assert task.expert is not None
    env = task.environment(task.env_id)
    for seed in range(4):
        env.reset(seed=seed)
        world = read_world(env)
        actions = task.expert(env)
        assert actions is not None
        assert len(actions) == fewest_actions(world, world.cells(kind)[0]), f"seed {seed}"


@pytest.mark.parametrize("env_id", ["KeyCorridorS3R3", "ObstructedMaze-1Dlhb"])
def test_the_world_in_mind_follows_the_world_outside(env_id: str) -> None:
    """The expert half of the way, then anything."""
    task, rng = find_task(env_id), stream(0, "wander")
    assert task.expert is not None
    env: Any = task.environment(task.env_id)
    for seed in range(6):
        env.reset(seed=seed)
        actions = task.expert(env)
        assert actions is not None
        world = read_world(env)
        for action in [*actions[: len(actions) * 2 // 3], *rng.integers(7, size=100).tolist()]:
            *_, terminated, truncated, _ = env.step(action)
            world = world.after(action)
            assert world == read_world(env)
            if terminated or truncated:
                break


def room(**things: Thing) -> World:
    """Five free cells in a row, the agent on the first looking along it; `x2=...` puts a thing on the third."""
    return World({(int(name[1:]), 0): thing for name, thing in things.items()} | walls(5), (0, 0, 0), None)


def walls(length: int) -> dict[tuple[int, int], Thing]:
    wall = Thing(kind=2, colour=5)
    rows = {(x, y): wall for x in range(-1, length + 1) for y in (-1, 1)}
    return rows | {(-1, 0): wall, (length, 0): wall}


def test_a_walk_opens_closed_doors_and_stops_before_its_goal() -> None:
    world = room(x2=Thing(DOOR, 0, CLOSED), x4=Thing(KEY, 0))
    assert walk(world, facing((4, 0))) == [FORWARD, TOGGLE, FORWARD, FORWARD]
    assert walk(world, [(0, 0, 2)]) in ([LEFT, LEFT], [RIGHT, RIGHT])


def test_there_is_no_walk_through_a_locked_door() -> None:
    assert walk(room(x2=Thing(DOOR, 0, LOCKED), x4=Thing(KEY, 0)), facing((4, 0))) is None


def test_a_ball_before_a_door_is_carried_away_before_the_key_is_fetched() -> None:
    counts = events_of("ObstructedMaze-1Dlhb", 10)
    assert all(count["drop_key"] == count["drop_ball"] == 1 for count in counts)


def test_a_layout_without_a_way_has_no_plan() -> None:
    task = find_task("ObstructedMaze-2Dlhb-v0")
    env = task.environment(task.env_id)
    env.reset(seed=6)
    assert has_a_way(read_world(env))
    assert plan(env, "blue ball") is not None
    env.reset(seed=7)  # the box with the key of the target's door is not there
    assert not has_a_way(read_world(env))
    assert plan(env, "blue ball") is None


def test_an_expert_of_another_task_says_what_it_misses() -> None:
    env = find_task("doorkey").environment("MiniGrid-DoorKey-5x5-v0")
    env.reset(seed=0)
    with pytest.raises(TaskError, match="this environment has no blue ball"):
        plan(env, "blue ball")


def test_dropping_needs_an_empty_cell() -> None:
    carrying = World(walls(5), (0, 0, 0), Thing(KEY, 0))
    dropped = reduce(World.after, [DROP], carrying)
    assert dropped.things[1, 0] == Thing(KEY, 0)
    assert reduce(World.after, [LEFT, DROP], carrying).carried == Thing(KEY, 0), "a wall is in front"
    assert np.array_equal(carrying.pose, (0, 0, 0))
