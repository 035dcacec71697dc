"""Algorithm 1: infer the holes of a machine from demonstrations while a policy is trained on it. The numbers are its lines:

    1   again and again
    2       play the policy pi_A                                    `Policy.collect`
    3       pay its play by l*, the most likely machine             `Holes.pay`
    4       update the policy                                       `Policy.update`
    5       draw K machines l_k by q                                `Holes.begin`, which does lines 5 to 8:
    6       make the discriminator D_eps of f and pi_A              `Concretizer.learn`
    7       train f by J_adv and J_soft
    8       train q by J_soft and J_con

The loop yields rounds; whoever runs it logs, draws progress and writes files, and stops by not asking for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from srm.evaluate.payer import OpenPayer
from srm.infer.algorithm1.concretizer import ConcretizerConfig
from srm.infer.belief import Belief, LogProb
from srm.rl.loop import Round
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE
from srm.trajectory import Rollout


@dataclass(frozen=True)
class InferConfig(ConcretizerConfig):
    """Algorithm 1."""

    warm_up: int = 5
    """rounds in which f and q learn and the policy does not: a policy outruns a sampler that knows nothing yet"""
    warm_up_effort: int = 4
    """how many times the usual gradient steps f and q take in those rounds"""

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--", "warm_up")
        ONE_OR_MORE.refuse_outside(self, "--", "warm_up_effort")

    def as_printed(self) -> InferConfig:
        """The paper's side of every setting of f and q; docs/algorithm.md lists where the algorithm differs all the same."""
        return replace(
            self,
            warm_up=0,
            reward_net=replace(
                self.reward_net,
                trunk="paper",
                cells="ids",
                units=128,
                logits="sigmoid",
                noise="step",
                steps=1,
                soft_weight=1.0,
                floor=None,
            ),
            sampler=replace(
                self.sampler,
                steps=1,
                learning_rate=3e-4,
                estimator="score_plain",
                constrain="penalise",
                penalty=1e8,
                start_at_zero=False,
                spread=1.0,
                bounded=False,
            ),
        )


class PolicyBatch(Protocol):
    """What a policy played. Whatever else is in it, only that policy reads."""

    @property
    def rollout(self) -> Rollout: ...

    @property
    def log_prob(self) -> np.ndarray | None:
        """log pi(a|s) [T, B] of the policy that played; 0 where a step is not valid. None: it draws no actions."""
        ...


AnyBatch = TypeVar("AnyBatch", bound=PolicyBatch)


class Policy(Protocol[AnyBatch]):
    """Any learner of `srm.rl`, or your own."""

    frames: int  # valid steps played so far

    def collect(self) -> AnyBatch:
        """The next T steps of B envs, which continue those of the batch before."""
        ...

    def update(self, batch: AnyBatch, pay: np.ndarray) -> dict[str, float]:
        """Learns from the batch collected last and what it was paid, [T, B]; returns its losses by name."""
        ...

    def log_probs(self, rollout: Rollout) -> np.ndarray | None:
        """log pi(a|s) [T, B] of the policy as it is, along a rollout of whole episodes; 0 where a step is not valid."""
        ...


class Holes(Protocol):
    """Lines 3 and 5 to 8: in this process (`InlineInference`) or in another one (`BackgroundInference`), with the same result."""

    demonstrated: Rollout
    belief: Belief
    payer: OpenPayer

    def pay(self, rollout: Rollout) -> np.ndarray: ...

    def pay_again(self) -> np.ndarray: ...

    def begin(
        self, index: int, rollout: Rollout, log_prob: LogProb, demonstrated_log_prob: LogProb, effort: int
    ) -> None: ...

    def finish(self) -> dict[str, float]:
        """Waits for what was begun, if anything was, and takes it over into the belief."""
        ...


@dataclass(frozen=True, eq=False)
class InferenceRound(Round):
    """Once round Algorithm 1. Its losses are those of line 4, and of lines 5 to 8 of the round before."""

    belief: Belief  # by which the policy was paid


def infer(policy: Policy[AnyBatch], holes: Holes, config: InferConfig, first: int = 0) -> Iterator[InferenceRound]:
    """Rounds without end, after round `first`."""
    index, remembers, paid_by = first, getattr(policy, "remembers", 0), holes.belief
    if remembers:
        holes.payer.keep(remembers)
    while True:  # 1
        batch = policy.collect()  # 2
        rollout = batch.rollout
        losses = holes.finish()  # 5 to 8 of the round before: nothing since then has read what they write
        belief, pay = holes.belief, holes.pay(rollout)  # 3: by the most likely assignment
        warming_up = index < config.warm_up
        holes.begin(  # 5 to 8: they may run while line 4 and the next line 2 do
            index,
            rollout,
            batch.log_prob,
            policy.log_probs(holes.demonstrated),
            config.warm_up_effort if warming_up else 1,
        )
        if remembers and (belief is not paid_by or holes.payer.program.repays):
            policy.repay(holes.pay_again())  # type: ignore[attr-defined]
            paid_by = belief
        if not warming_up:
            losses |= policy.update(batch, pay)  # 4
        index += 1
        yield InferenceRound(index, policy.frames, rollout, float(pay[rollout.valid].mean()), losses, belief)
