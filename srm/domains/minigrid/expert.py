"""The expert of MiniGrid: plans with the full world, and makes no motion a careful person would not make.

A plan is a sequence of *errands*: go to a thing by the shortest walk and take, open, unlock or enter it. What must happen
first follows from the world: a locked door needs its key in hand, the key may be in a box, something may stand in the way,
and hands must be empty to take anything (what they hold is put down where it lengthens the way least).

The search is over the worlds that errands lead to, cheapest first, for every way through the fewest locked doors. Only
errands that can matter are considered: the goal, the doors of that way, their keys and boxes, and what blocks the way to
those; a plan is then found among a few dozen worlds, in 2 to 80 ms.

It begins wherever an episode stands: with anything in hand, doors open or shut again, boxes opened or carried about. What is done can be undone,
but for a target that was a box and has been opened, so there is a plan whenever there was one at first. In a crowded world that search may find none,
since what it puts down itself comes to stand in the way; then a patient one moves anything that it can get at.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, count, product
from typing import Any

from srm.domains.minigrid.expert_walk import costs, facing, honest_price, route, walk
from srm.domains.minigrid.expert_world import Cell, Pose, Thing, World, front, read_world
from srm.domains.minigrid.vocabulary import BALL, BOX, DOOR, DROP, FORWARD, GOAL, KEY, LOCKED, PICKUP, TOGGLE, Target
from srm.errors import TaskError

_DEAR = 1000  # dearer than any walk: the price of pushing something aside, and of putting something down
_DROPS = 3  # cells tried for putting something down; the best for the next errand may block a later one
_PATIENT_DROPS, _PATIENCE = 8, 3000  # cells tried by the patient search, and worlds until it gives up: 3 s


def plan(env: Any, target: str | None) -> list[int] | None:
    """The actions that solve an environment of the `minigrid` package from where it stands; None if nothing does.

    `target` is what has to be taken (`ball`, `blue ball`, `box`), or None when the goal has to be reached.
    """
    return plan_from(read_world(env), target)


def plan_from(world: World, target: str | None) -> list[int] | None:
    """The same from a world in mind, which may be in the middle of an episode, with something in hand."""
    goal = find_goal(world, target)
    locked = [cell for cell in world.cells(DOOR) if world.things[cell].state == LOCKED]
    for patient in (False, True):
        for number in range(len(locked) + 1):
            best: list[int] | None = None
            for doors in combinations(locked, number):
                for keys in product(*(_keys_of(world, door) for door in doors)):
                    search = _Search(world, goal, doors, frozenset().union(*keys), patient)
                    best = search.run(better_than=best) or best
            if best is not None:
                return best
    return None


def _keys_of(world: World, door: Cell) -> list[frozenset[Cell]]:
    """The cell of each key that opens a door, in a box or not; no cell for the key in hand."""
    colours = {world.things[door].colour}
    in_hand = [frozenset[Cell]()] if _holds_key(world.carried, colours) else []
    return in_hand + [frozenset({cell}) for cell, thing in world.things.items() if _holds_key(thing, colours)]


def _cost(actions: list[int]) -> int:
    """Fewest drops first, then fewest actions."""
    return len(actions) + _DEAR * actions.count(DROP)


def find_goal(world: World, target: str | None) -> Cell:
    """The cell of the goal or of the target."""
    if target is None:
        cells = world.cells(GOAL)
    else:
        wanted = Target.of(target)
        cells = [c for c in world.cells(wanted.kind) if wanted.colour in (None, world.things[c].colour)]
    if not cells:
        raise TaskError(f"this environment has no {target or 'goal'}; another task's expert may fit it")
    return cells[0]


@dataclass(frozen=True)
class _Search:
    """The cheapest plan that unlocks no other doors than these, with these keys."""

    world: World
    goal: Cell
    doors: tuple[Cell, ...]
    keys: frozenset[Cell]  # where they are at first
    patient: bool = False

    def run(self, better_than: list[int] | None) -> list[int] | None:
        blockers = self._blockers()
        if blockers is None:
            return None
        steps, _ = costs(self.world, self._bold_price, towards=facing(self.goal))
        limit = float("inf") if better_than is None else _cost(better_than)
        order = count()
        queue: list[tuple[int, int, World, list[int]]] = [(0, next(order), self.world, [])]
        done = set()
        while queue:
            expected, _, world, actions = heapq.heappop(queue)
            if world in done or expected >= limit:
                continue
            done.add(world)
            if self._solved(world):
                return actions
            if self.patient and len(done) > _PATIENCE:
                return None
            in_the_way = self._movable(world) if self.patient else blockers
            for errand in self._errands(world, in_the_way):
                after = reduce(World.after, errand, world)
                ahead = 0 if self._solved(after) else steps.get(after.pose, 0) + _DEAR * self._drops(after, blockers)
                heapq.heappush(queue, (_cost(actions + errand) + ahead, next(order), after, actions + errand))
        return None

    def _solved(self, world: World) -> bool:
        return self.goal not in world.things or world.pose[:2] == self.goal

    def _drops(self, world: World, blockers: frozenset[Cell]) -> int:
        """How often something will still be put down: what stands in the way, what is in hand, and the key."""
        balls = sum(1 for cell in blockers if cell in world.things and world.things[cell].kind == BALL)
        colours = self._locked_colours(world)
        idle = world.carried is not None and not _holds_key(world.carried, colours)
        last_key = len(colours) > 0 and self.world.things[self.goal].kind != GOAL
        return balls + int(idle) + int(last_key)

    # ---- which errands matter

    def _bold_price(self, cell: Cell, thing: Thing | None) -> int | None:
        """Walking as if nothing movable stood in the way and all doors were open."""
        return 1 if thing is None or thing.movable or thing.kind == DOOR else None

    def _price_past(self, cell: Cell, thing: Thing | None) -> int | None:
        """Walking as if our doors were unlocked, and what is movable could be pushed aside at a high price."""
        if thing is not None and thing.movable:
            return _DEAR
        return 2 if cell in self.doors else honest_price(cell, thing)

    def _movable(self, world: World) -> frozenset[Cell]:
        return frozenset(cell for cell, thing in world.things.items() if thing.movable and cell != self.goal)

    def _blockers(self) -> frozenset[Cell] | None:
        """What has to be moved to get to the goal, our doors and their keys; None if even that gives no way."""
        world, blockers = self.world, set()
        for cell in (self.goal, *self.doors, *self.keys):
            poses = route(world, facing(cell), self._price_past)
            if poses is None:
                return None
            blockers |= {pose[:2] for pose in poses if pose[:2] in world.things}
        return frozenset(cell for cell in blockers if world.things[cell].movable)

    def _our_keys(self, world: World) -> list[Cell]:
        """Where the keys that are still needed are now: where they were, or where something was put since."""
        colours = self._locked_colours(world)
        return [
            cell
            for cell, thing in world.things.items()
            if _holds_key(thing, colours) and (cell in self.keys or self.world.things.get(cell) != thing)
        ]

    def _locked(self, world: World) -> set[Cell]:
        return {cell for cell in self.doors if world.things[cell].state == LOCKED}

    def _locked_colours(self, world: World) -> set[int]:
        return {world.things[cell].colour for cell in self._locked(world)}

    # ---- errands

    def _errands(self, world: World, blockers: frozenset[Cell]) -> Iterator[list[int]]:
        """The actions of each errand that can be run now."""
        locked, colours = self._locked(world), self._locked_colours(world)
        keep_free = blockers | _around(locked)
        our_keys, drops = self._our_keys(world), _PATIENT_DROPS if self.patient else _DROPS
        in_use = _holds_key(world.carried, colours)
        if in_use and world.carried is not None and world.carried.kind == BOX:
            yield from _unpack(world)
            return
        for cell, thing in world.things.items():
            matters = cell in blockers or cell in our_keys
            if thing.kind == GOAL:
                yield from _do(world, cell, FORWARD)
            elif (cell in locked and world.opens_with(thing)) or (thing.kind == BOX and matters and cell != self.goal):
                yield from _do(world, cell, TOGGLE)
            elif in_use and cell not in blockers:
                continue  # a key still needed is put down only for a blocker, which is then gone: the search is finite
            elif (thing.kind in (KEY, BALL) and matters) or cell == self.goal:
                yield from _take(world, cell, keep_free, drops)
        if self.patient and world.carried is not None and not _has_room(world):
            yield from (do for cell in world.cells(BOX) if cell != self.goal for do in _do(world, cell, TOGGLE))


def _holds_key(thing: Thing | None, colours: set[int]) -> bool:
    """Whether it is a key of one of these colours, or a box with one."""
    if thing is None or thing.kind not in (KEY, BOX):
        return False
    return _holds_key(thing.inside, colours) if thing.kind == BOX else thing.colour in colours


def _do(world: World, cell: Cell, action: int) -> Iterator[list[int]]:
    way = walk(world, facing(cell))
    if way is not None:
        yield [*way, action]


def _unpack(world: World) -> Iterator[list[int]]:
    """Put the carried box down as near as can be, open it, and take what it holds."""
    here, _ = costs(world)
    free = [pose for pose in here if front(pose) not in world.things]
    if free:
        way = walk(world, [min(free, key=here.__getitem__)])
        assert way is not None
        yield [*way, DROP, TOGGLE, PICKUP]


def _take(world: World, cell: Cell, keep_free: frozenset[Cell], drops: int) -> Iterator[list[int]]:
    """Take what is in the cell, putting down what is carried on the way."""
    if world.carried is None:
        yield from _do(world, cell, PICKUP)
        return
    for pose in _where_to_drop(world, cell, keep_free, drops) or _where_to_drop(world, cell, frozenset(), drops):
        there = walk(world, [pose])
        assert there is not None
        after = reduce(World.after, [*there, DROP], world)
        yield from ([*there, DROP, *rest] for rest in _do(after, cell, PICKUP))


def _has_room(world: World) -> bool:
    """Whether there is a cell to put something down: a box that is opened leaves one."""
    return any(front(pose) not in world.things for pose in costs(world)[0])


def _where_to_drop(world: World, cell: Cell, keep_free: frozenset[Cell], drops: int) -> list[Pose]:
    """The poses from which dropping makes the way to `cell` shortest, for some different cells to drop into."""
    here, _ = costs(world)
    on, _ = costs(world, towards=facing(cell))
    poses = [pose for pose in here if pose in on and front(pose) not in world.things and front(pose) not in keep_free]
    best: dict[Cell, tuple[int, Pose]] = {}
    for pose in sorted(poses, key=lambda pose: here[pose] + on[pose]):
        if len(best) >= drops and here[pose] + on[pose] >= sorted(best.values())[drops - 1][0]:
            break
        blocked = World({**world.things, front(pose): world.carried or Thing(KEY, 0)}, pose, None)
        way = walk(blocked, facing(cell))
        if way is not None:
            total = here[pose] + len(way)
            best[front(pose)] = min(best.get(front(pose), (total, pose)), (total, pose))
    return [pose for _, pose in sorted(best.values())[:drops]]


def _around(cells: set[Cell]) -> frozenset[Cell]:
    return frozenset(pose[:2] for cell in cells for pose in facing(cell))
