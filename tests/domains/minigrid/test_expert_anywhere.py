"""The expert goes on from any moment of an episode, and solves it whenever it can still be solved.

What is done in MiniGrid can be undone, but for opening a box. So an episode can be solved from wherever it has come to if it could be
solved at first, unless the target was a box that has been opened.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

from srm.domains.base import Task
from srm.domains.minigrid.events import MiniGrid
from srm.domains.minigrid.expert import plan_from
from srm.domains.minigrid.expert_walk import costs, facing, walk
from srm.domains.minigrid.expert_world import Cell, Thing, World, front, read_world
from srm.domains.minigrid.tasks import ENVIRONMENTS, minigrid_task
from srm.domains.minigrid.vocabulary import (
    BALL,
    BOX,
    DIRECTIONS,
    DOOR,
    DROP,
    GOAL,
    KEY,
    LOCKED,
    PICKUP,
    TOGGLE,
    WALL,
    Target,
)
from srm.domains.tasks import find_task
from srm.seeding import stream

# In v0 of some mazes, layouts have no solution to begin with.
SOLVABLE = [
    find_task(env_id)
    for ids in ENVIRONMENTS.values()
    for env_id in ids
    if env_id.endswith("v1") or env_id.replace("v0", "v1") not in ids
]
OWN = [
    minigrid_task(target, name="own", meaning="own", env_id=f"MiniGrid-{env}-v0")
    for env, target in (
        *(("MultiRoom-N4-S5", None), ("LockedRoom", None), ("LavaCrossingS9N1", None)),
        *(("UnlockPickup", "box"), ("BlockedUnlockPickup", "box")),
    )
]
ODDS = np.array([2, 2, 5, 3, 2, 2]) / 16


def target_of(task: Task) -> str | None:
    event_reader = task.event_reader()
    assert isinstance(event_reader, MiniGrid)
    return event_reader.target


class Wanderer:
    """Plays an environment of MiniGrid into the middle of an episode, by some of a plan, any actions and any errands."""

    def __init__(self, env: Any, target: str | None, rng: np.random.Generator) -> None:
        self.env, self.target, self.rng, self.over = env, None if target is None else Target.of(target), rng, False

    def wander(self, plan: list[int]) -> bool:
        """False: the episode has ended on the way."""
        self.act(plan[: self.rng.integers(len(plan))])
        self.act(self.rng.choice(6, size=self.rng.integers(1, 150), p=ODDS).tolist())
        for _ in range(self.rng.integers(0, 10)):
            self.act([] if self.over else self.errand(read_world(self.env)))
        return not self.over

    def act(self, actions: list[int]) -> None:
        for action in actions:
            if not self.over:
                *_, terminated, truncated, _ = self.env.step(action)
                self.over = terminated or truncated

    def errand(self, world: World) -> list[int]:
        """Takes or opens something, or puts it down where it is in the way."""
        within = costs(world)[0]
        near = {cell: thing for cell, thing in world.things.items() if any(pose in within for pose in facing(cell))}
        movable = [cell for cell, thing in near.items() if thing.movable and not self.is_target(thing)]
        if world.carried is not None and self.rng.random() < 0.8:
            free = sorted(
                (pose for pose in within if front(pose) not in world.things), key=lambda p: self.room(world, p)
            )
            return [*self.way(world, [self.any(free[: 1 + len(free) // 4])]), DROP] if free else []
        if movable and self.rng.random() < 0.7:
            cell = self.any(movable)
            opens = near[cell].kind == BOX and self.rng.random() < 0.3
            return [*self.way(world, facing(cell)), TOGGLE if opens else PICKUP]
        doors = [cell for cell, thing in near.items() if thing.kind == DOOR]
        return [*self.way(world, facing(self.any(doors))), TOGGLE] if doors else []

    def is_target(self, thing: Thing) -> bool:
        return self.target is not None and thing.kind == self.target.kind and self.target.colour in (None, thing.colour)

    def room(self, world: World, pose: tuple[int, int, int]) -> int:
        """Free cells around the one in front."""
        x, y = front(pose)
        return sum((x + dx, y + dy) not in world.things for dx, dy in DIRECTIONS)

    def any(self, choices: list[Any]) -> Any:
        return choices[self.rng.integers(len(choices))]

    def way(self, world: World, poses: list[tuple[int, int, int]]) -> list[int]:
        way = walk(world, poses)
        assert way is not None
        return way


def check_goes_on(task: Task, seeds: int) -> None:
    env: Any = task.environment(task.env_id)
    env.unwrapped.max_steps = 10**6
    target, rng, went_on = target_of(task), stream(0, task.env_id), 0
    for seed in range(seeds):
        env.reset(seed=seed)
        plan = plan_from(read_world(env), target)
        assert plan is not None
        if not Wanderer(env, target, rng).wander(plan):
            continue
        world = read_world(env)
        if target == "box" and not world.cells(BOX):
            continue  # it was opened, and is gone
        rest = plan_from(world, target)
        assert rest is not None, f"seed {seed}"
        outcomes = [env.step(action)[1:3] for action in rest]
        assert all(not terminated for _, terminated in outcomes[:-1]), f"seed {seed}"
        reward, terminated = outcomes[-1]
        assert terminated, f"seed {seed}"
        assert reward > 0, f"seed {seed}"
        went_on += 1
    assert went_on > seeds / 3


@pytest.mark.parametrize("task", [*SOLVABLE, *OWN], ids=lambda task: task.env_id)
def test_a_plan_goes_on_from_anywhere(task: Task) -> None:
    check_goes_on(task, seeds=12)


@pytest.mark.slow
@pytest.mark.parametrize("task", [*SOLVABLE, *OWN], ids=lambda task: task.env_id)
def test_a_plan_goes_on_from_anywhere_at_many_seeds(task: Task) -> None:
    check_goes_on(task, seeds=60)


# ---- crowded little worlds, against a search through everything


def crowded(rng: np.random.Generator) -> tuple[World, str | None, Cell]:
    """A few cells with walls, a locked door, its key (in a box or not), other things, and perhaps something in hand."""
    width, height = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    edge = [(x, y) for x in range(-1, width + 1) for y in range(-1, height + 1)]
    things = {(x, y): Thing(WALL, 5) for x, y in edge if x in (-1, width) or y in (-1, height)}
    cells: list[Cell] = [
        tuple(cell) for cell in rng.permutation([cell for cell in edge if cell not in things]).tolist()
    ]
    kind, target = ((GOAL, None), (BALL, "blue ball"), (BOX, "blue box"))[rng.integers(3)]
    goal, agent = cells.pop(), cells.pop()
    things[goal] = Thing(kind, 2)
    for _ in range(rng.integers(4)):
        if len(cells) > 3:
            things[cells.pop()] = Thing(WALL, 5)
    if rng.random() < 0.6 and len(cells) > 4:
        key = Thing(KEY, 0)
        things[cells.pop()] = Thing(DOOR, 0, LOCKED)
        things[cells.pop()] = Thing(BOX, 5, inside=key) if rng.random() < 0.5 else key
    for _ in range(rng.integers(3)):
        if len(cells) > 3:
            things[cells.pop()] = Thing(int(rng.choice([KEY, BALL, BOX])), int(rng.choice([1, 3, 4])))
    carried = Thing(int(rng.choice([KEY, BALL, BOX])), 4) if rng.random() < 0.3 else None
    return World(things, (*agent, int(rng.integers(4))), carried), target, goal


def is_solved(world: World, start: World, goal: Cell) -> bool:
    thing = start.things[goal]
    return world.pose[:2] == goal if thing.kind == GOAL else world.carried == thing


def has_a_way(start: World, goal: Cell) -> bool:
    """Every world that any actions lead to: the slow truth."""
    layer, seen = {start}, {start}
    while layer:
        if any(is_solved(world, start, goal) for world in layer):
            return True
        layer = {world.after(action) for world in layer for action in range(6)} - seen
        seen |= layer
    return False


def check_crowded(seed: int, number: int) -> None:
    rng = stream(seed, "crowded")
    for index in range(number):
        world, target, goal = crowded(rng)
        plan = plan_from(world, target)
        if plan is None:
            assert not has_a_way(world, goal), f"world {index}: {world}"
        else:
            assert is_solved(reduce(World.after, plan, world), world, goal), f"world {index}: {world}"


def test_in_a_crowded_world_there_is_a_plan_whenever_there_is_a_way() -> None:
    check_crowded(0, 250)


@pytest.mark.slow
def test_in_thousands_of_crowded_worlds_there_is_a_plan_whenever_there_is_a_way() -> None:
    for seed in range(1, 5):
        check_crowded(seed, 600)


def test_a_box_in_hand_with_the_key_is_put_down_and_opened() -> None:
    walls = {(x, y): Thing(WALL, 5) for x in range(-1, 5) for y in range(-1, 3) if x in (-1, 4) or y in (-1, 2)}
    room = walls | {(2, 0): Thing(WALL, 5), (2, 1): Thing(DOOR, 0, LOCKED), (3, 1): Thing(GOAL, 1)}
    plan = plan_from(World(room, (0, 0, 0), Thing(BOX, 5, inside=Thing(KEY, 0))), None)
    assert plan is not None
    assert plan.index(DROP) < plan.index(TOGGLE) < plan.index(PICKUP)


def test_a_target_that_is_a_box_is_never_opened() -> None:
    for task in OWN:
        if target_of(task) == "box":
            env = task.environment(task.env_id)
            for seed in range(10):
                env.reset(seed=seed)
                world = read_world(env)
                (cell,) = world.cells(BOX)
                actions = plan_from(world, "box")
                assert actions is not None
                for action in actions:
                    assert action != TOGGLE or front(world.pose) != cell
                    world = world.after(action)
                assert world.carried is not None
                assert world.carried.kind == BOX


def test_lava_is_walked_around_and_painted_floor_is_walked_over() -> None:
    for task in OWN:
        if "Lava" in task.env_id:
            env: Any = task.environment(task.env_id)
            for seed in range(10):
                env.reset(seed=seed)
                actions = plan_from(read_world(env), None)
                assert actions is not None
                assert [env.step(action)[2] for action in actions].count(True) == 1
                assert env.unwrapped.grid.get(*env.unwrapped.agent_pos).type == "goal"
    floor, wall = Thing(3, 0), Thing(WALL, 5)
    row = {(x, y): wall for x in range(-1, 4) for y in (-1, 0, 1) if y or x in (-1, 3)}
    assert plan_from(World(row | {(1, 0): floor, (2, 0): Thing(GOAL, 1)}, (0, 0, 0), None), None) == [2, 2]
