"""What happened at each step of one episode, in words to read: `unlock_door red (3, 5)`."""

from __future__ import annotations

import numpy as np

from srm.domains.base import Vocabulary
from srm.domains.minigrid.vocabulary import ACTIONS, MINIGRID_WORDS
from srm.machine.words import NOTHING, Words, unpack_cell
from srm.trajectory import Events, Trajectory, as_rollout


def captions(vocabulary: Vocabulary, trajectory: Trajectory) -> list[list[str]]:
    """The events of each step, T lists. What is no act (seeing the target) is told when it begins, not at every step."""
    events, words = vocabulary.read(as_rollout([trajectory])), vocabulary.words
    told: list[list[str]] = [[] for _ in range(trajectory.steps)]
    lasting: dict[int, int] = {}  # event that is no act -> the step it was last seen at
    for row in np.argsort(events.step, kind="stable"):
        step, event = int(events.step[row]), int(events.event[row])
        episode_start = lasting.get(event) != step - 1
        if not words.events[event].act:
            lasting[event] = step
        if words.events[event].act or episode_start:
            told[step].append(describe(words, events, int(row)))
    return told


def describe(words: Words, events: Events, row: int) -> str:
    """One occurrence: its event and the attributes it has."""
    event = words.events[events.event[row]]
    parts = [event.name]
    for name in event.attributes:
        index = words.attribute_index[name]
        value = int(events.attributes[row, index])
        values = words.attributes[index].values
        if value != NOTHING:
            parts.append(str(unpack_cell(value)) if values is None else values[value])
    return " ".join(parts)


def action_name(words: Words, action: int) -> str:
    return ACTIONS[action] if words is MINIGRID_WORDS else f"action {action}"
