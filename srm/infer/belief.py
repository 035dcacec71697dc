"""What pays a policy while the holes are inferred, by whatever way they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from srm.domains.base import EventReader
from srm.errors import RunError
from srm.evaluate.payer import OpenPayer
from srm.infer.project import Floats
from srm.machine.model import Machine
from srm.trajectory import Rollout

LogProb = np.ndarray | None  # [T, B]; None: the policy draws no actions


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the holes after a round."""

    mode: Floats  # [H] the assignment that pays, inside the constraint
    mean: Floats  # [H] Algorithm 1: before it is brought inside the constraint
    spread: Floats  # [H]
    idle: float

    def refuse_misfit(self, holes: int) -> None:
        """A belief that was read from a file, of another machine or damaged."""
        for name, values in (("mode", self.mode), ("mean", self.mean), ("spread", self.spread)):
            if values.shape != (holes,) or values.dtype.kind != "f" or not np.isfinite(values).all():
                raise RunError(
                    f"{name} {values.dtype} {list(values.shape)}: expected {holes} finite numbers, one a hole"
                )


NOTHING = Belief(np.zeros(0), np.zeros(0), np.zeros(0), 0.0)  # before any evidence


class PaysByBelief:
    """Successive rollouts of the same envs, paid by the belief as it is."""

    def __init__(self, machine: Machine, event_reader: EventReader, demonstrated: Rollout) -> None:
        self.payer = OpenPayer(machine, event_reader)
        self.program, self.event_reader, self.demonstrated = self.payer.program, event_reader, demonstrated
        self.belief = NOTHING

    def pay(self, rollout: Rollout) -> np.ndarray:
        """[T, B]."""
        return self.payer.pay(rollout, self.belief.mode)

    def pay_again(self) -> np.ndarray:
        """[N, B] all steps that the payer keeps, the latest last."""
        assert self.payer.ledger is not None
        return self.payer.ledger.pay(self.belief.mode)

    def finish(self) -> dict[str, float]:
        """Nothing is waited for, unless it is inferred in the background."""
        return {}

    def close(self) -> None:
        """Ends what was begun beside this process."""
