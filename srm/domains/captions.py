"""What happened at each step of one episode, in words to read: `unlock_door red (3, 5)`."""

from __future__ import annotations

import numpy as np

from srm.domains.base import EventReader
from srm.domains.reading import read_events
from srm.domains.registry import domain_of
from srm.machine.vocabulary import NOTHING, Vocabulary, unpack_cell
from srm.trajectory import Events, Trajectory, as_rollout


def captions(event_reader: EventReader, trajectory: Trajectory) -> list[list[str]]:
    """The events of each step, T lists. What is no act (seeing the target) is listed when it begins, not at every step."""
    events, vocabulary = read_events(event_reader, as_rollout([trajectory]), "episode"), event_reader.vocabulary
    lines: list[list[str]] = [[] for _ in range(trajectory.steps)]
    lasting: dict[int, int] = {}  # event that is no act -> the step it was last seen at
    for row in np.argsort(events.step, kind="stable"):
        step, event = int(events.step[row]), int(events.event[row])
        begins = lasting.get(event) != step - 1
        if not vocabulary.events[event].act:
            lasting[event] = step
        if vocabulary.events[event].act or begins:
            lines[step].append(describe(vocabulary, events, int(row)))
    return lines


def describe(vocabulary: Vocabulary, events: Events, row: int) -> str:
    """One occurrence: its event and the attributes it has."""
    event = vocabulary.events[events.event[row]]
    parts = [event.name]
    for name in event.attributes:
        index = vocabulary.attribute_index[name]
        value = int(events.attributes[row, index])
        values = vocabulary.attributes[index].values
        if value != NOTHING:
            parts.append(str(unpack_cell(value)) if values is None else values[value])
    return " ".join(parts)


def action_name(vocabulary: Vocabulary, action: int | np.ndarray) -> str:
    """One action of a trajectory; of several numbers, those."""
    domain = domain_of(vocabulary)
    if np.ndim(action):
        return f"action {' '.join(f'{number:.3g}' for number in np.asarray(action).tolist())}"
    return f"action {action}" if domain is None else domain.actions[int(action)]
