"""Shortest walks: over (cell, direction), opening closed doors on the way.

    costs(world, ...)    how many actions each pose is away, from where the agent stands or towards given poses
    walk(world, poses)   the actions that bring the agent to the nearest of them

An action costs 1. A closed door costs one more, for opening it; a locked door, a wall, lava and everything movable stand in the
way.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable
from itertools import pairwise

from srm.domains.minigrid.expert_world import Cell, Pose, Thing, World, front
from srm.domains.minigrid.vocabulary import CLOSED, DIRECTIONS, DOOR, FLOOR, FORWARD, LEFT, OPEN, RIGHT, TOGGLE

Price = Callable[[Cell, Thing | None], int | None]  # actions to walk into a cell with that thing; None: no way


def honest_price(cell: Cell, thing: Thing | None) -> int | None:
    if thing is None or thing.kind == FLOOR:
        return 1
    if thing.kind == DOOR and thing.state in (OPEN, CLOSED):
        return 1 if thing.state == OPEN else 2
    return None


def facing(cell: Cell) -> list[Pose]:
    """The poses that have this cell in front."""
    return [(cell[0] - dx, cell[1] - dy, direction) for direction, (dx, dy) in enumerate(DIRECTIONS)]


def costs(
    world: World,
    price: Price = honest_price,
    *,
    towards: Iterable[Pose] | None = None,
    until: Container[Pose] = (),
) -> tuple[dict[Pose, int], dict[Pose, Pose]]:
    """The cheapest way to every pose, and the pose before it on that way.

    With `towards` the way leads from every pose to the nearest of those (and the pose given is the next one). With
    `until` the search ends at the nearest of those.
    """
    begin = [world.pose] if towards is None else list(towards)
    cost = dict.fromkeys(begin, 0)
    source: dict[Pose, Pose] = {}
    queue = [(0, pose) for pose in begin]
    done = set()
    while queue:
        spent, pose = heapq.heappop(queue)
        if pose in done:
            continue
        done.add(pose)
        if pose in until:
            break
        for neighbour, more in _moves(world, pose, price, backwards=towards is not None):
            if neighbour not in cost or spent + more < cost[neighbour]:
                cost[neighbour], source[neighbour] = spent + more, pose
                heapq.heappush(queue, (spent + more, neighbour))
    return cost, source


def _moves(world: World, pose: Pose, price: Price, backwards: bool) -> Iterable[tuple[Pose, int]]:
    x, y, direction = pose
    yield (x, y, (direction + 1) % 4), 1
    yield (x, y, (direction - 1) % 4), 1
    dx, dy = DIRECTIONS[direction]
    entered = (x, y) if backwards else (x + dx, y + dy)
    cost = price(entered, world.things.get(entered))
    if cost is not None:
        yield ((x - dx, y - dy, direction) if backwards else (*entered, direction)), cost


def walk(world: World, goals: list[Pose]) -> list[int] | None:
    """The fewest actions that bring the agent to the nearest of `goals`; None if there is no way."""
    poses = route(world, goals)
    if poses is None:
        return None
    return [action for before, after in pairwise(poses) for action in _actions(world, before, after)]


def route(world: World, goals: list[Pose], price: Price = honest_price) -> list[Pose] | None:
    """The poses of the cheapest way, the first and the last included."""
    cost, source = costs(world, price, until=goals)
    reached = [pose for pose in goals if pose in cost]
    if not reached:
        return None
    poses = [min(reached, key=cost.__getitem__)]
    while poses[-1] in source:
        poses.append(source[poses[-1]])
    return poses[::-1]


def _actions(world: World, before: Pose, after: Pose) -> list[int]:
    if before[:2] == after[:2]:
        return [RIGHT if (after[2] - before[2]) % 4 == 1 else LEFT]
    thing = world.things.get(front(before))
    return [TOGGLE, FORWARD] if thing is not None and thing.state == CLOSED else [FORWARD]
