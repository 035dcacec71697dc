"""The ways to fill a machine's holes while a policy is trained, behind one interface, and what each leaves behind.

posterior     draws from the posterior itself (`srm.infer.posterior`)
algorithm1    the paper's reward net and variational sampler (`srm.infer.algorithm1.loop`)
signs, regression   baselines that take a fraction of a second (`srm.infer.baselines.fixed`)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from srm.domains.base import EventReader, Task
from srm.domains.spaces import Spaces
from srm.domains.terms import longest_episode
from srm.evaluate.payer import OpenPayer, read_rollout
from srm.evaluate.program import Program
from srm.infer.algorithm1.background import BackgroundInference, InlineInference
from srm.infer.algorithm1.concretizer import InferenceProblem
from srm.infer.algorithm1.loop import Holes, InferConfig
from srm.infer.algorithm1.variational import QUANTILES, exercised, summarise_q
from srm.infer.baselines.fixed import FixedHoles
from srm.infer.hole_uses import guard_holes
from srm.infer.posterior import store
from srm.infer.posterior.evidence import EvidenceSide, demonstrated_side
from srm.infer.posterior.infer import RANDOM_FRAMES, first_plays, random_play, unfarmable
from srm.infer.posterior.live import LiveConfig, LivePosterior
from srm.infer.posterior.prior import Floats
from srm.infer.posterior.tape import STEPS, Tape
from srm.machine.checks.check import Forbidden
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.runs.solution import Earned, EarningsComparison, Solution
from srm.seeding import stream
from srm.trajectory import Demonstrations, Rollout

Way = Literal["posterior", "algorithm1", "signs", "regression"]


class SavedHoles(Holes, Protocol):
    """What the loop needs, and what a run logs and saves."""

    payer: OpenPayer

    def arrays(self) -> dict[str, np.ndarray]: ...

    def load(self, arrays: Mapping[str, np.ndarray]) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class HoleInference:
    """What is inferred, from what, in which way."""

    way: Way
    task: Task
    machine: Machine
    constraint: Constraint | None  # with the atoms that forbid farming
    forbidden: Forbidden
    demonstrations: Demonstrations
    algorithm1: InferConfig
    posterior: LiveConfig
    seed: int

    @staticmethod
    def of(
        way: Way,
        task: Task,
        machine: Machine,
        constraint: Constraint | None,
        demonstrations: Demonstrations,
        algorithm1: InferConfig,
        posterior: LiveConfig,
        seed: int,
        *,
        allow_farming: bool,
    ) -> HoleInference:
        forbidden = Forbidden()
        if not allow_farming:
            constraint, forbidden = unfarmable(machine, constraint, task.event_reader())
        elif posterior.refresh is None:
            # A policy that farms does what was demonstrated far more often than anybody would. Counted as play it turned the signs of what
            # experts with a habit show (KeyCorridor's ?close from 1.3 to -0.1, three seeds of three).
            posterior = replace(posterior, refresh=0)
        return HoleInference(way, task, machine, constraint, forbidden, demonstrations, algorithm1, posterior, seed)

    @property
    def config(self) -> InferConfig:
        """Of the loop: the ways that begin with values need no rounds in which the policy waits."""
        return self.algorithm1 if self.way == "algorithm1" else replace(self.algorithm1, warm_up=0)

    def make(self, spaces: Spaces, envs: int, steps: int, cores: int) -> SavedHoles:
        event_reader, demonstrated = self.task.event_reader(), self.demonstrations.as_rollout()
        if self.way != "algorithm1":  # refused before a run begins
            demonstrated_side(Program(self.machine, event_reader.vocabulary), event_reader, demonstrated)
        if self.way == "posterior":
            return LivePosterior(
                self.machine,
                self.constraint,
                self.forbidden,
                event_reader,
                demonstrated,
                self.posterior,
                self.seed,
                Tape(envs, steps, self._kept_steps()),
            )
        if self.way != "algorithm1":
            return FixedHoles(self.way, self.machine, self.constraint, event_reader, demonstrated, self.seed)
        problem = InferenceProblem.of(
            self.machine, self.constraint, event_reader, self.demonstrations, spaces, self.algorithm1, self.seed
        )
        two_cores = (cores or len(os.sched_getaffinity(0))) > 1
        return (BackgroundInference if two_cores else InlineInference)(problem, event_reader)

    def _kept_steps(self) -> int:
        """Of the policy's play: averages need whole episodes, however long they are."""
        if self.posterior.resolved(self.machine).likelihood != "averages":
            return STEPS
        return max(STEPS, 2 * (longest_episode(self.task.env_id) or 0))

    def begin(self, holes: SavedHoles, frames: int) -> int:
        """First values from demonstrations and random play, where the way needs any, within the frames of a run. The frames it took."""
        if not isinstance(holes, LivePosterior | FixedHoles):
            return 0
        most = min(RANDOM_FRAMES, frames // 8)
        if isinstance(holes, FixedHoles):
            plays = [random_play(self.task, holes.demonstrated, self.seed, most)]
        else:
            plays = first_plays(self.machine, self.posterior, self.task, holes.demonstrated, self.seed, most)
        holes.add(*plays)
        return sum(int(play.rollout.valid.sum()) for play in plays)

    def outcome(self, holes: SavedHoles, play: Rollout) -> Outcome:
        """What was inferred; `play` is what the trained policy does."""
        if isinstance(holes, LivePosterior):
            drawn = holes.posterior()
            spreads = {hole.name: round(hole.spread, 4) for hole in drawn.holes}
            return Outcome(
                drawn.values,
                spreads,
                store.to_json(drawn, self.task.event_reader(), self.demonstrations.trajectories),
                store.draws_bytes(drawn),
            )
        program, event_reader = Program(self.machine, self.task.vocabulary), self.task.event_reader()
        demonstrated = exercised(read_rollout(program, event_reader, holes.demonstrated)[0], holes.belief.mode)
        played = exercised(read_rollout(program, event_reader, play)[0], holes.belief.mode)
        drawn_q = summarise_q(
            self.machine, self.constraint, holes.belief, demonstrated, played, stream(self.seed, "posterior")
        )
        decided = guard_holes(self.machine)
        rows = [
            {
                "name": hole.name,
                "value": hole.value,
                "spread": hole.spread,
                "quantiles": list(hole.quantiles),
                "demonstrated": hole.demonstrated,
                "played": hole.played,
                "exercised": hole.exercised or hole.name in decided,
            }
            for hole in drawn_q.holes
        ]
        plain = {
            "kind": self.way,
            "quantiles": list(QUANTILES),
            "constraint": self.constraint.name if self.constraint else None,
            "margin": drawn_q.margin,
            "holes": rows,
        }
        spreads = {hole.name: hole.spread for hole in drawn_q.holes} if self.way == "algorithm1" else {}
        return Outcome({hole.name: hole.value for hole in drawn_q.holes}, spreads, plain, None)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a way of inferring leaves behind."""

    values: Mapping[str, float]
    spreads: Mapping[str, float]
    posterior: Mapping[str, Any]  # posterior.json
    draws: bytes | None  # of the posterior itself


def check_solution(
    machine: Machine, event_reader: EventReader, values: Floats, demonstrated: Rollout, played: Rollout, discount: float
) -> Solution | None:
    """The condition under one assignment [H]; None: no episode of the policy came to its end."""
    program = Program(machine, event_reader.vocabulary)
    sides = [EvidenceSide.of(program, event_reader, rollout) for rollout in (demonstrated, played)]
    if not all(side.whole.any() for side in sides):
        return None
    paid = [side.pay(values[None])[0] for side in sides]

    def compared(by: float) -> EarningsComparison:
        return EarningsComparison(*(Earned.of(pay @ side.totals(by)) for pay, side in zip(paid, sides, strict=True)))

    return Solution(compared(1.0), compared(discount), discount)
