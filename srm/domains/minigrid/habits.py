"""Demonstrators with preferences of their own: the planner of MiniGrid with a habit, or with noise.

The planner makes no motion too many, so its demonstrations say little about what a motion too many is worth. Here it makes
*detours*: actions that nothing asks for. A habit makes one whenever its occasion comes (a door was walked through, a key was
taken); noise makes one at random, before any action of the plan. After a detour the planner plans again from the world as
it then is. A detour is made only if the planner can go on from where it leads and is done within the time limit, so every
episode is still solved.

    HABITS                                                       each habit by its name
    record_with(task, 10, seed=0, habit="closes_doors")          demonstrations, as `srm.domains.record.record` gives them
    record_with(task, 10, seed=0, noise=0.2)                     a fifth of all actions is random
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from srm.domains.base import Task
from srm.domains.minigrid.events import MiniGrid
from srm.domains.minigrid.expert import find_goal, plan_from
from srm.domains.minigrid.expert_world import Cell, Thing, World, front, read_world
from srm.domains.minigrid.vocabulary import DONE, DOOR, DROP, KEY, LOCKED, PICKUP, RIGHT, TOGGLE
from srm.domains.record import record
from srm.errors import TaskError, near
from srm.seeding import stream
from srm.settings import SHARE_BELOW_ONE
from srm.trajectory import Demonstrations


@dataclass
class EpisodeSoFar:
    """An episode in the making."""

    worlds: list[World]  # before the first action and after each
    actions: list[int]
    ahead: list[int]  # the rest of the plan

    def act(self, action: int) -> None:
        self.actions.append(action)
        self.worlds.append(self.worlds[-1].after(action))


@dataclass(frozen=True)
class Habit:
    """A detour that is made whenever its occasion comes."""

    name: str
    meaning: str
    occasion: str  # what a task without it never has
    detour: Callable[[EpisodeSoFar], Sequence[int]]  # after each action of the plan; empty: no occasion


def _close_the_door(episode: EpisodeSoFar) -> Sequence[int]:
    before, after = episode.worlds[-2:]
    doorway = before.things.get(before.pose[:2])
    left_it = after.pose[:2] != before.pose[:2] and doorway is not None and doorway.kind == DOOR
    return (RIGHT, RIGHT, TOGGLE) if left_it else ()


def _drop_and_take_the_key(episode: EpisodeSoFar) -> Sequence[int]:
    world = episode.worlds[-1]
    took_it = episode.actions[-1] == PICKUP and _is_key(world.carried) and not _is_used(world, world.carried)
    return (DROP, PICKUP) if took_it else ()


def _take_the_used_key(episode: EpisodeSoFar) -> Sequence[int]:
    before, world = episode.worlds[-2:]
    if episode.actions[-1] == DROP and _is_used(world, before.carried):
        return (PICKUP, DROP)
    keeps_it = _is_used(world, world.carried) and DROP not in episode.ahead
    was_dropped = any(_is_used(there, there.things.get(front(there.pose))) for there in episode.worlds)
    return (DROP, PICKUP) if keeps_it and front(world.pose) not in world.things and not was_dropped else ()


def _is_key(thing: Thing | None) -> bool:
    return thing is not None and thing.kind == KEY


def _is_used(world: World, thing: Thing | None) -> bool:
    """Whether it is a key for which no locked door is left."""
    if thing is None or thing.kind != KEY:
        return False
    return not any(other.state == LOCKED and other.colour == thing.colour for other in world.things.values())


HABITS = {
    habit.name: habit
    for habit in (
        Habit(
            "closes_doors",
            "closes every door behind itself: turns round, closes it, goes on",
            "a door that is walked through before the end",
            _close_the_door,
        ),
        Habit(
            "redrops_key",
            "drops a key it has just taken and takes it again, once for each time it takes one that is needed",
            "a key that a locked door needs",
            _drop_and_take_the_key,
        ),
        Habit(
            "retakes_used_key",
            "takes the used key again after dropping it; where it need not drop it, drops and takes it once",
            "a key that has unlocked its door",
            _take_the_used_key,
        ),
    )
}


@dataclass
class Demonstrator:
    """An expert (see `Task.expert`) that plans, with a habit or with noise. Noise follows from the seed of the environment."""

    target: str | None
    habit: Habit | None = None
    noise: float = 0.0  # share of the actions that are random
    detours: int = field(default=0, init=False)  # how often the habit had its occasion, in all episodes so far

    def __post_init__(self) -> None:
        SHARE_BELOW_ONE.refuse_outside(self, "", "noise")

    def __call__(self, env: Any) -> list[int] | None:
        world = read_world(env)
        plan = plan_from(world, self.target)
        if plan is None:
            return None
        rng = stream(env.unwrapped.np_random_seed, "noise")
        goal, limit = find_goal(world, self.target), env.unwrapped.max_steps
        episode = EpisodeSoFar([world], [], plan)
        while episode.ahead:
            while self.noise > 0 and rng.random() < self.noise and self._wander(episode, goal, limit, rng):
                pass
            episode.act(episode.ahead.pop(0))
            detour = self.habit.detour(episode) if self.habit is not None and episode.ahead else ()
            if detour and self._make(episode, detour, goal, limit):
                self.detours += 1
        return episode.actions

    def _wander(self, episode: EpisodeSoFar, goal: Cell, limit: int, rng: np.random.Generator) -> bool:
        """One random action of those that leave a way to the end; False if none does. `done` is never one: it does nothing."""
        return any(self._make(episode, [int(action)], goal, limit) for action in rng.permutation(DONE))

    def _make(self, episode: EpisodeSoFar, detour: Sequence[int], goal: Cell, limit: int) -> bool:
        """Makes a detour and plans again, unless that ends the episode, leaves no plan or takes too long."""
        world = episode.worlds[-1]
        after = reduce(World.after, detour, world)
        if goal not in after.things or after.pose[:2] == goal:
            return False
        ahead = episode.ahead if after == world else plan_from(after, self.target)
        if ahead is None or len(episode.actions) + len(detour) + len(ahead) > limit:
            return False
        for action in detour:
            episode.act(action)
        episode.ahead = ahead
        return True


def record_with(task: Task, count: int, seed: int, *, habit: str | None = None, noise: float = 0.0) -> Demonstrations:
    """`count` episodes of MiniGrid's planner with a habit, with noise, or with both."""
    event_reader = task.event_reader()
    if not isinstance(event_reader, MiniGrid):
        raise TaskError(f"{task.name}: habits and noise are of MiniGrid's planner; record it without them")
    if habit is not None and habit not in HABITS:
        raise TaskError(f"there is no habit {habit}{near(habit, HABITS) or '; choose one of ' + ', '.join(HABITS)}")
    demonstrator = Demonstrator(event_reader.target, HABITS[habit] if habit is not None else None, noise)
    demonstrations = record(replace(task, expert=demonstrator), count, seed)
    if demonstrator.habit is not None and demonstrator.detours == 0:
        raise TaskError(
            f"{task.env_id}: the habit {habit} never applies in {count} episodes, since none has "
            f"{demonstrator.habit.occasion}; choose another habit or another task"
        )
    return demonstrations
