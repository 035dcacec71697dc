"""A machine as the reward of a learner: successive rollouts of the same envs in, pay [T, B] out.

    payer = Payer(machine, event_reader)
    learner.update(batch, payer(batch.rollout))

A learner never learns what a machine is; it is given such a function.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from srm.domains.base import EventReader, RememberingReader
from srm.errors import TrajectoryError
from srm.evaluate import batched, symbolic
from srm.evaluate.ledger import Ledger
from srm.evaluate.program import Program
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary
from srm.trajectory import Events, Rollout


def read_rollout(
    program: Program, event_reader: EventReader, rollout: Rollout, carry: symbolic.Carry | None = None
) -> tuple[symbolic.Residual, symbolic.Carry]:
    """What the machine makes of a rollout with the holes left open, and what the next rollout goes on from."""
    return walk_rollout(program, rollout, read_events(event_reader, rollout), carry)


def read_events(event_reader: EventReader, rollout: Rollout) -> Events:
    """What happened in a rollout; what proofs could not rely on is refused."""
    return _checked(event_reader, event_reader.read(rollout))


def _checked(event_reader: EventReader, events: Events) -> Events:
    if not isinstance(events, Events):
        returned = f"{type(event_reader).__name__}.read returned {type(events).__name__}"
        raise TrajectoryError(f"{returned}; it must return srm.trajectory.Events, as docs/own_task.md shows")
    _refuse_two_acts(event_reader.vocabulary, events)
    return events


def walk_rollout(
    program: Program, rollout: Rollout, events: Events, carry: symbolic.Carry | None = None
) -> tuple[symbolic.Residual, symbolic.Carry]:
    """The same as `read_rollout`, of events that were read already."""
    return symbolic.read(program, events, rollout.terminated | rollout.truncated, rollout.valid, carry)


def _refuse_two_acts(vocabulary: Vocabulary, events: Events) -> None:
    """Proofs take it that at most one act happens at a step; an event reader that reads two would make them false."""
    happened = np.flatnonzero(np.isin(events.event, [i for i, event in enumerate(vocabulary.events) if event.act]))
    step, env = events.step[happened], events.env[happened]
    together = np.flatnonzero((np.diff(step) == 0) & (np.diff(env) == 0))
    if len(together):
        at = together[0]
        first, second = (vocabulary.events[events.event[i]].name for i in happened[at : at + 2])
        raise TrajectoryError(
            f"step {step[at]} of env {env[at]}: {first} and {second} happen together, but at most one act happens at a "
            f"step; in the vocabulary {vocabulary.name} declare one of them with `act=False` (written as functions: leave it out of `exclusive`)"
        )


class OpenPayer:
    """Successive rollouts of the same envs: each is read once with the holes left open, and paid under any assignment. Episodes go
    on across rollouts."""

    def __init__(self, machine: Machine, event_reader: EventReader) -> None:
        self.program, self.event_reader = Program(machine, event_reader.vocabulary), event_reader
        self.events: Events | None = None  # of the rollout read last, and what the machine makes of them
        self.residual: symbolic.Residual | None = None
        self.paid: batched.Paid | None = None  # the rollout paid last, with the contribution of each firing
        self.ledger: Ledger | None = None  # for whoever learns from old steps again
        self._rollout: Rollout | None = None
        self._carry: symbolic.Carry | None = None
        self._memory: np.ndarray | None = None  # of words that remember

    def read(self, rollout: Rollout) -> symbolic.Residual:
        """The next rollout; the one that was read last is not read again."""
        if self.residual is None or rollout is not self._rollout:
            self._rollout, self.events = rollout, self._read_on(rollout)
            self.residual, self._carry = walk_rollout(self.program, rollout, self.events, self._carry)
            if self.ledger is not None:
                over, unpaid = rollout.terminated | rollout.truncated, np.zeros(rollout.valid.shape)
                self.ledger.add(self.events, over, rollout.valid, unpaid)
        return self.residual

    def keep(self, steps: int) -> None:
        """From now on so many steps of each env can be paid again."""
        self.ledger = Ledger(self.program, steps)

    def _read_on(self, rollout: Rollout) -> Events:
        if not isinstance(self.event_reader, RememberingReader):
            return read_events(self.event_reader, rollout)
        if self._memory is None:
            self._memory = self.event_reader.begin(rollout.envs)
        events, self._memory = self.event_reader.read_on(rollout, self._memory)
        return _checked(self.event_reader, events)

    def pay(self, rollout: Rollout, assignment: batched.Floats) -> batched.Floats:
        """[T, B] under one assignment [H]."""
        self.paid = batched.pay(self.read(rollout), assignment[None], by_rule=True)
        pay: batched.Floats = self.paid.dense()[0]
        return pay


class Payer:
    """The machine under one assignment: the given values, or those written in it."""

    def __init__(
        self,
        machine: Machine,
        event_reader: EventReader,
        values: Mapping[str, float] | None = None,
        *,
        outside_constraint: bool = False,
    ) -> None:
        self.open = OpenPayer(machine, event_reader)
        self.assignment = batched.assignment_of(machine, values, outside_constraint=outside_constraint)

    def __call__(self, rollout: Rollout) -> batched.Floats:
        return self.open.pay(rollout, self.assignment)
