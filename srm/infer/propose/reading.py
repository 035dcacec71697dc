"""Demonstrations and play as stories: what happened in each episode, in order, in the words of the vocabulary.

    rollout -> stories          T steps, B envs -> one Story for each episode
    stories -> Account          with how often each event happens at a step, of the demonstrations and of play

An event that holds for a while (`see_target`) is one occurrence, at the step where it begins. The share of steps counts every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.evaluate.reference import happenings
from srm.machine.vocabulary import NOTHING, Vocabulary
from srm.trajectory import Demonstrations, Rollout, Trajectory

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Occurrence:
    """An event at a step; attributes as words, without cells, which differ from layout to layout."""

    step: int
    event: str
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Story:
    """One episode."""

    number: int  # from 0
    length: int  # steps
    solved: bool
    occurrences: tuple[Occurrence, ...]  # by step
    signals: Floats  # [T, signals of the vocabulary]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(occurrence.event for occurrence in self.occurrences)


@dataclass(frozen=True, eq=False)
class PlayAccount:
    """What somebody did who was not demonstrating."""

    stories: tuple[Story, ...]
    shares: dict[str, float]  # of the steps at which each event happens

    @property
    def signals(self) -> Floats:
        """[steps, signals]."""
        return np.concatenate([story.signals for story in self.stories])


@dataclass(frozen=True, eq=False)
class Account:
    """All that a proposal is made from."""

    vocabulary: Vocabulary
    stories: tuple[Story, ...]  # the demonstrations
    shares: dict[
        str, float
    ]  # of the steps of those that solve the task at which each event happens; of all where none does
    random: PlayAccount | None  # None: there is no environment to play in
    runs: tuple[PlayAccount, ...] = ()  # of trained policies

    @property
    def solved(self) -> tuple[Story, ...]:
        return tuple(story for story in self.stories if story.solved)


def read_demonstrations(
    demonstrations: Demonstrations,
    event_reader: EventReader,
    solved: Callable[[Trajectory], bool],
    random: Rollout | None = None,
    runs: Sequence[Rollout] = (),
) -> Account:
    episodes = _read(demonstrations.as_rollout(), event_reader, [solved(t) for t in demonstrations.trajectories])
    return Account(
        event_reader.vocabulary,
        episodes.stories,
        episodes.shares,
        None if random is None else _read(random, event_reader),
        tuple(_read(rollout, event_reader) for rollout in runs),
    )


def _read(rollout: Rollout, event_reader: EventReader, solved: Sequence[bool] = ()) -> PlayAccount:
    """Each column cut into its episodes. `solved` is known where each column is one episode."""
    vocabulary = event_reader.vocabulary
    events = event_reader.read(rollout)
    happened = happenings(events, vocabulary)
    over = rollout.terminated | rollout.truncated
    stories: list[Story] = []
    tallies: list[Counter[str]] = []
    for env in range(rollout.envs):
        steps: list[int] = []
        for step in range(rollout.steps):
            if rollout.valid[step, env]:
                steps.append(step)
            if steps and (over[step, env] or step == rollout.steps - 1):
                at = [happened[s][env] for s in steps]
                is_solved = bool(solved[env]) if solved else bool(rollout.terminated[step, env])
                stories.append(
                    Story(len(stories), len(steps), is_solved, _begins(at, vocabulary), events.signals[steps, env])
                )
                tallies.append(Counter(name for events_of_step in at for name in events_of_step))
                steps = []
    counted = [n for n, story in enumerate(stories) if story.solved] if any(solved) else range(len(stories))
    total = max(1, sum(stories[n].length for n in counted))
    shares = {event.name: sum(tallies[n][event.name] for n in counted) / total for event in vocabulary.events}
    return PlayAccount(tuple(stories), shares)


def _begins(happened: Sequence[Mapping[str, Mapping[str, int]]], vocabulary: Vocabulary) -> tuple[Occurrence, ...]:
    """What is seen comes before the act of its step: the agent saw it when it acted."""
    acts = frozenset(vocabulary.acts)
    occurrences: list[Occurrence] = []
    before: frozenset[str] = frozenset()
    for step, events in enumerate(happened):
        fresh = [name for name in events if name in acts or name not in before]
        occurrences += (
            Occurrence(step, name, _words(events[name], vocabulary)) for name in sorted(fresh, key=_order(acts))
        )
        before = frozenset(events)
    return tuple(occurrences)


def _order(acts: frozenset[str]) -> Callable[[str], tuple[bool, str]]:
    return lambda name: (name in acts, name)


def _words(attributes: Mapping[str, int], vocabulary: Vocabulary) -> tuple[tuple[str, str], ...]:
    words = []
    for name, value in attributes.items():
        values = vocabulary.attributes[vocabulary.attribute_index[name]].values
        if values is not None:
            words.append((name, "none" if value == NOTHING else values[value]))
    return tuple(words)
