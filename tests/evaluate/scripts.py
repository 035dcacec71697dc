"""Hand-written traces: what happened at each step in words, such as `unlock_door red (3, 2)`, as the evaluators take it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.evaluate import batched, symbolic
from srm.evaluate.program import Program
from srm.evaluate.reference import Walk, pay_rollout
from srm.machine.model import Machine
from srm.machine.vocabulary import NOTHING, Vocabulary, pack_cell
from srm.trajectory import Events, Rollout, Trajectory

Script = Sequence[str]  # the events of each step, separated by `;` where there are several

_EVENT = re.compile(r"(?P<event>\w+)(?: (?P<colour>[a-z]+))?(?: \((?P<x>\d+), (?P<y>\d+)\))?")


def events_of(script: Script, vocabulary: Vocabulary = MINIGRID_WORDS) -> Events:
    """One env in which this happens, and nothing is seen or read besides."""
    rows = []
    for step, text in enumerate(script):
        told = [_EVENT.fullmatch(event.strip()) for event in text.split(";") if event.strip()]
        rows += sorted((step, 0, *_occurrence(match, vocabulary)) for match in told if match)
        assert all(told), text
    table = np.array(rows, np.int32).reshape(len(rows), 3 + len(vocabulary.attributes))
    signals = np.zeros((len(script), 1, len(vocabulary.signals)))
    event = table[:, 2].astype(np.int16)
    return Events(len(script), 1, table[:, 0], table[:, 1], event, table[:, 3:], signals)


def _occurrence(match: re.Match[str], vocabulary: Vocabulary) -> tuple[int, ...]:
    found = []
    for attribute in vocabulary.attributes:
        if attribute.values is None:
            found.append(NOTHING if match["x"] is None else pack_cell(int(match["x"]), int(match["y"])))
        else:
            found.append(NOTHING if match["colour"] is None else attribute.values.index(match["colour"]))
    return (vocabulary.event_index[match["event"]], *found)


def pay_of(
    machine: Machine, script: Script, values: Mapping[str, float] | None = None, cuts: Sequence[int] = ()
) -> list[float]:
    """What the machine pays for each step of one episode, by both evaluators, which must agree.

    `cuts` are the steps at which a new rollout begins.
    """
    values = machine.values() if values is None else values
    program, walk = Program(machine, MINIGRID_WORDS), Walk(machine, MINIGRID_WORDS, values)
    holes = np.array([[values[name] for name in machine.hole_names]])
    carry, slow, fast = None, [], []
    for low, high in pairwise((0, *cuts, len(script))):
        events = events_of(script[low:high])
        over, valid = np.zeros((high - low, 1), np.bool_), np.ones((high - low, 1), np.bool_)
        over[-1] = high == len(script)
        slow += pay_rollout([walk], MINIGRID_WORDS, events, over, valid)[:, 0].tolist()
        residual, carry = symbolic.read(program, events, over, valid, carry)
        fast += batched.pay(residual, holes).dense()[0, :, 0].tolist()
    assert fast == pytest.approx(slow, abs=1e-12)
    return slow


@dataclass(frozen=True, eq=False)
class Told:
    """A vocabulary that reads these events in any rollout of their length."""

    events: Events
    vocabulary: Vocabulary = MINIGRID_WORDS

    def read(self, rollout: Rollout) -> Events:
        assert rollout.steps == self.events.steps
        return self.events


def trajectory_of(steps: int, *, terminated: bool = True) -> Trajectory:
    """An episode in which nothing is to be seen."""
    reward = np.zeros(steps, np.float32)
    reward[-1] = float(terminated)
    return Trajectory(
        np.zeros((steps + 1, 1), np.uint8),
        np.zeros(steps, np.int64),
        np.zeros((steps + 1, 0), np.int16),
        reward,
        terminated,
    )
