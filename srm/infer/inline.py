"""Lines 5 to 8 one after the other with the rest, in this process."""

from __future__ import annotations

import numpy as np

from srm.evaluate import batched, symbolic
from srm.evaluate.payer import read_rollout
from srm.infer.concretizer import Belief, Concretizer
from srm.trajectory import Rollout


class Inline:
    def __init__(self, concretizer: Concretizer) -> None:
        self.concretizer = concretizer
        self.demonstrated = concretizer.demonstrated
        self.belief: Belief = concretizer.belief()
        self._carry: symbolic.Carry | None = None
        self._losses: dict[str, float] = {}

    def pay(self, rollout: Rollout) -> np.ndarray:
        program, vocabulary = self.concretizer.program, self.concretizer.vocabulary
        residual, self._carry = read_rollout(program, vocabulary, rollout, self._carry)
        return batched.pay(residual, self.belief.mode[None]).dense()[0]

    def begin(self, rollout: Rollout, log_prob: np.ndarray, demonstrated_log_prob: np.ndarray, effort: int) -> None:
        self._losses = self.concretizer.learn(rollout, log_prob, demonstrated_log_prob, effort)

    def finish(self) -> dict[str, float]:
        self.belief = self.concretizer.belief()
        return self._losses
