"""A machine followed while an episode is played: `srm.evaluate.trace`, a step at a time.

A `LiveTrace` can be forked, to see what each of several actions would be paid before any of them is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from srm.domains.base import EventReader, RememberingReader
from srm.evaluate.reference import Walk, happenings, signals_at
from srm.evaluate.trace import Trace, TracedStep, trace_step
from srm.machine.fit import require_words
from srm.machine.model import Machine
from srm.trajectory import Events, Numbers, Observations, Rollout


@dataclass(frozen=True, eq=False)
class PlayedStep:
    """What one environment answered to one action."""

    before: Observations
    after: Observations
    pose_before: Numbers  # [P]
    pose_after: Numbers  # [P]
    action: int
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, float]

    def as_rollout(self) -> Rollout:
        """T = B = 1."""
        return Rollout(
            np.stack([self.before, self.after])[:, None],
            np.array([[self.action]], np.int64),
            np.stack([self.pose_before, self.pose_after])[:, None].astype(np.int16),
            np.array([[self.reward]], np.float32),
            np.array([[self.terminated]]),
            np.array([[self.truncated and not self.terminated]]),
            np.ones((1, 1), np.bool_),
            info={key: np.array([[value]]) for key, value in self.info.items()},
        )


class LiveTrace:
    """One episode under way under one assignment."""

    def __init__(self, machine: Machine, event_reader: EventReader, values: Mapping[str, float]) -> None:
        require_words(machine, event_reader.vocabulary)
        self.event_reader, self.walk = event_reader, Walk(machine, event_reader.vocabulary, values)
        self.steps: list[TracedStep] = []
        self._memory = event_reader.begin(1) if isinstance(event_reader, RememberingReader) else None

    def fork(self) -> LiveTrace:
        """One that goes its own way from here."""
        other = copy(self)
        other.walk, other.steps = copy(self.walk), list(self.steps)
        other.walk.counts, other.walk.pay, other.walk.held = (
            dict(self.walk.counts),
            list(self.walk.pay),
            list(self.walk.held),
        )
        return other

    def add(self, step: PlayedStep) -> TracedStep:
        """The machine's answer; earlier steps that hindsight pays anew are changed."""
        vocabulary, number = self.event_reader.vocabulary, len(self.steps)
        events = self._read(step.as_rollout())
        signals = signals_at(events, vocabulary, 0, 0)
        ((happened,),) = happenings(events, vocabulary)
        traced = trace_step(self.walk, number, step.action, happened, signals)
        self.steps.append(traced)
        for repayment in traced.repaid:
            self.steps[repayment.step] = replace(self.steps[repayment.step], kept=repayment.now, repaid_at=number)
        return traced

    def _read(self, rollout: Rollout) -> Events:
        if not isinstance(self.event_reader, RememberingReader):
            return self.event_reader.read(rollout)
        assert self._memory is not None
        events, self._memory = self.event_reader.read_on(rollout, self._memory)
        return events

    @property
    def pay(self) -> float:
        """So far, hindsight included."""
        return sum(step.value for step in self.steps)

    def trace(self, terminated: bool, task_reward: float) -> Trace:
        return Trace(tuple(self.steps), terminated, self.pay, task_reward)
