"""A machine as the reward of a learner: successive rollouts of the same envs in, pay [T, B] out.

    payer = Payer(machine, event_reader)
    learner.update(batch, payer(batch.rollout))

A learner never learns what a machine is; it is given such a function.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from srm.domains.base import EventReader
from srm.domains.reading import EventStream, read_events
from srm.evaluate import batched, symbolic
from srm.evaluate.ledger import Ledger
from srm.evaluate.program import Program
from srm.machine.model import Machine
from srm.trajectory import Events, Rollout


def read_rollout(
    program: Program, event_reader: EventReader, rollout: Rollout, column: str = "env"
) -> tuple[symbolic.Residual, symbolic.Carry]:
    """What the machine makes of a rollout with the holes left open, and what the next rollout goes on from."""
    return walk_rollout(program, rollout, read_events(event_reader, rollout, column))


def walk_rollout(
    program: Program, rollout: Rollout, events: Events, carry: symbolic.Carry | None = None
) -> tuple[symbolic.Residual, symbolic.Carry]:
    """The same as `read_rollout`, of events that were read already."""
    return symbolic.read(program, events, rollout.terminated | rollout.truncated, rollout.valid, carry)


class OpenPayer:
    """Successive rollouts of the same envs: each is read once with the holes left open, and paid under any assignment. Episodes go
    on across rollouts."""

    def __init__(self, machine: Machine, event_reader: EventReader) -> None:
        self.program, self.stream = Program(machine, event_reader.vocabulary), EventStream(event_reader)
        self.events: Events | None = None  # of the rollout read last, and what the machine makes of them
        self.residual: symbolic.Residual | None = None
        self.paid: batched.Paid | None = None  # the rollout paid last, with the contribution of each firing
        self.ledger: Ledger | None = None  # for whoever learns from old steps again
        self._rollout: Rollout | None = None
        self._carry: symbolic.Carry | None = None

    def read(self, rollout: Rollout) -> symbolic.Residual:
        """The next rollout; the one that was read last is not read again."""
        if self.residual is None or rollout is not self._rollout:
            self._rollout, self.events = rollout, self.stream.read(rollout)
            self.residual, self._carry = walk_rollout(self.program, rollout, self.events, self._carry)
            if self.ledger is not None:
                over, unpaid = rollout.terminated | rollout.truncated, np.zeros(rollout.valid.shape)
                self.ledger.add(self.events, over, rollout.valid, unpaid)
        return self.residual

    def keep(self, steps: int) -> None:
        """From now on so many steps of each env can be paid again."""
        self.ledger = Ledger(self.program, steps)

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
