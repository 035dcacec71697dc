"""Two ways to fill the holes in a fraction of a second, so that anybody can see what inference adds to them.

    H holes   N entries of demonstrations and random play   G draws of the prior

**signs**: +1 for what is demonstrated, -1 for what is only ever played, 0 for what neither does.
**regression**: a logistic regression of demonstrated against played steps on d pay / d hole.

Both are then brought inside the constraint. Neither can say anything of a hole that only guards read: it stays at 0, or
where the constraint puts it. d pay / d hole depends on guards, and is averaged over draws of the prior.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from srm.domains.base import EventReader
from srm.errors import RunError
from srm.evaluate import batched
from srm.infer.belief import Belief, LogProb, PaysByBelief
from srm.infer.posterior.evidence import Evidence, EvidenceSide, Play
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.slices import prior_walkers
from srm.infer.rounding import tidied
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.seeding import stream
from srm.trajectory import Rollout

PRIOR_DRAWS = 64
RIDGE = 1.0  # keeps what is only ever demonstrated finite
NEWTON_STEPS = 25
TINY = 1e-9  # of a coefficient: a step this small changes nothing


def signs(evidence: Evidence, assignments: Floats) -> Floats:
    """[H] of +1, -1 and 0; `assignments` [G, H] decide the guards."""
    demonstrated = features(evidence.demonstrations, assignments).sum(axis=0)
    played = sum(
        (np.abs(features(side, assignments)).sum(axis=0) for side in evidence.plays), np.zeros_like(demonstrated)
    )
    return np.where(demonstrated != 0, np.sign(demonstrated), -np.sign(played))


def regression(evidence: Evidence, assignments: Floats) -> Floats:
    """[H] log-odds of being demonstrated for each unit of a hole's pay; both sides weigh the same."""
    sides = [(evidence.demonstrations, 1.0), *((side, 0.0) for side in evidence.plays)]
    rows: list[Floats] = []
    labels: list[Floats] = []
    weights: list[Floats] = []
    for side, label in sides:
        x = features(side, assignments)
        share = 1.0 if label else 1.0 / len(evidence.plays)
        each = share * evidence.demonstrations.steps / max(1, side.steps)
        silent = side.steps - len(x)
        rows += [x, np.zeros((1, x.shape[1]))]
        labels += [np.full(len(x) + 1, label)]
        weights += [np.full(len(x), each), np.array([each * silent])]
    return logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))


def logistic(x: Floats, label: Floats, weight: Floats) -> Floats:
    """The coefficients [H] of a logistic regression with a free intercept and a small ridge, by Newton's method. A step that overshoots is halved."""
    x = np.column_stack([x, np.ones(len(x))])
    ridge = np.diag(np.append(np.full(x.shape[1] - 1, RIDGE), 1e-9))
    beta = np.zeros(x.shape[1])

    def log_likelihood(at: Floats) -> float:
        return float(weight @ (label * (x @ at) - np.logaddexp(0.0, x @ at)) - at @ ridge @ at / 2)

    for _ in range(NEWTON_STEPS):
        p = expit(x @ beta)
        gradient = x.T @ (weight * (label - p)) - ridge @ beta
        step = np.linalg.solve((x.T * (weight * p * (1 - p))) @ x + ridge, gradient)
        while log_likelihood(beta + step) < log_likelihood(beta) and np.abs(step).max() > TINY:
            step = step / 2
        beta = beta + step
    return beta[:-1]


def features(side: EvidenceSide, assignments: Floats) -> Floats:
    """d pay / d hole at each entry, averaged over the assignments, [N, H]."""
    paid = batched.pay(side.residual, assignments, coefficients=True)
    assert paid.coefficients is not None
    return paid.coefficients.dense().mean(axis=0)


WAYS = {"signs": signs, "regression": regression}


class FixedHoles(PaysByBelief):
    """Values that are found once and stay. Fits `srm.infer.algorithm1.loop.infer`."""

    def __init__(
        self,
        way: str,
        machine: Machine,
        constraint: Constraint | None,
        event_reader: EventReader,
        demonstrated: Rollout,
        seed: int,
    ) -> None:
        super().__init__(machine, event_reader, demonstrated)
        self._way, self.machine, self.constraint, self._seed = way, machine, constraint, seed

    def add(self, play: Play) -> None:
        """Finds the values from demonstrations and this play."""
        evidence = Evidence.of(self.program, self.event_reader, self.demonstrated, (play,))
        prior = Prior.of(self.machine, self.constraint)
        walkers = prior_walkers(prior, 1, PRIOR_DRAWS, stream(self._seed, "prior"))
        values = WAYS[self._way](evidence, prior.rounded(walkers[0])[:, :-1])
        self._believe(tidied(self.machine, self.constraint, values))

    def _believe(self, values: Floats) -> None:
        self.belief = Belief(values, values, np.zeros_like(values), 0.0)

    def begin(
        self, index: int, rollout: Rollout, log_prob: LogProb, demonstrated_log_prob: LogProb, effort: int
    ) -> None:
        pass

    def arrays(self) -> dict[str, np.ndarray]:
        return {"values": self.belief.mode}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        if "values" not in arrays:
            raise RunError(f"these arrays hold no values of {self.machine.name}")
        self._believe(arrays["values"])
        self.belief.refuse_misfit(len(self.machine.holes))
