"""Whether a learnt machine is a solution as the paper defines it: what is demonstrated earns at least as much as what the policy does.

    E_demo[L] >= E_pi[L], over whole episodes, discounted and not

Both means have a standard error, so the answer is open where they lie too close. A policy that out-earns the demonstrations has found a
way to be paid that nobody meant, or a better way to do what was meant; either way the values no longer explain why the
demonstrator does otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from srm.evaluate.program import Program
from srm.infer.posterior.evidence import Side
from srm.infer.posterior.prior import Floats
from srm.machine.model import Machine
from srm.task.vocabulary import Vocabulary
from srm.task.worlds import Worlds
from srm.train.collect import Player, log_prob_of
from srm.train.nets import Net
from srm.trajectory import Rollout, joined

ENVS, EPISODES = 32, 4  # so many of each env: the first to end anywhere would be the short ones
MOST_STEPS = 4096
SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Earned:
    """What episodes are paid in the mean, and the standard error of that."""

    mean: float
    error: float
    episodes: int

    @staticmethod
    def of(totals: Floats) -> Earned:
        error = totals.std(ddof=1) / np.sqrt(len(totals)) if len(totals) > 1 else 0.0
        return Earned(float(totals.mean()), float(error), len(totals))


@dataclass(frozen=True)
class Comparison:
    """Demonstrations against the policy."""

    demonstrations: Earned
    policy: Earned

    @property
    def lead(self) -> float:
        """By how much the demonstrations earn more."""
        return self.demonstrations.mean - self.policy.mean

    @property
    def error(self) -> float:
        return float(np.hypot(self.demonstrations.error, self.policy.error))

    @property
    def verdict(self) -> str:
        if self.lead >= 0:
            return "holds"
        return "fails" if self.lead < -SURE * self.error else "open"


@dataclass(frozen=True)
class Solution:
    """The paper's condition on a learnt machine and a policy."""

    plain: Comparison
    discounted: Comparison
    discount: float

    @property
    def fails(self) -> bool:
        return self.plain.verdict == "fails" or self.discounted.verdict == "fails"

    def to_json(self) -> dict[str, Any]:
        def told(comparison: Comparison) -> dict[str, Any]:
            sides = {"demonstrations": comparison.demonstrations, "policy": comparison.policy}
            earned = {name: {"mean": e.mean, "error": e.error, "episodes": e.episodes} for name, e in sides.items()}
            return {**earned, "verdict": comparison.verdict}

        return {"undiscounted": told(self.plain), "discounted": told(self.discounted), "discount": self.discount}

    def __str__(self) -> str:
        plain = self.plain
        earned = (
            f"demonstrations earn {plain.demonstrations.mean:.2f} ± {plain.demonstrations.error:.2f}, "
            f"the policy {plain.policy.mean:.2f} ± {plain.policy.error:.2f}"
        )
        verdict = {
            "holds": "demonstrations earn at least as much as the policy, as a solution asks",
            "open": "too close to say whether the policy out-earns the demonstrations",
            "fails": "the policy out-earns the demonstrations, so these values do not explain them; --refine 1 makes its play evidence",
        }
        return f"{earned}: {verdict[plain.verdict]}"


def check_solution(
    machine: Machine, vocabulary: Vocabulary, values: Floats, demonstrated: Rollout, played: Rollout, discount: float
) -> Solution | None:
    """The condition under one assignment [H]; None: no episode of the policy came to its end."""
    program = Program(machine, vocabulary.words)
    shown, mine = Side.of(program, vocabulary, demonstrated), Side.of(program, vocabulary, played)
    if not mine.whole.any() or not shown.whole.any():
        return None
    paid = [side.pay(values[None])[0] for side in (shown, mine)]

    def compared(by: float) -> Comparison:
        return Comparison(*(Earned.of(pay @ side.totals(by)) for pay, side in zip(paid, (shown, mine), strict=True)))

    return Solution(compared(1.0), compared(discount), discount)


def play_episodes(net: Net, envs: Worlds, seed: int, steps: int = 128) -> tuple[Rollout, np.ndarray]:
    """The first episodes of each env, and the log-probabilities [T, B] of what the policy did in them."""
    player = Player(envs, net, steps, seed)
    rollouts: list[Rollout] = []
    log_probs: list[np.ndarray] = []
    ended = np.zeros(envs.count, np.int64)
    while (ended < EPISODES).any() and len(rollouts) * steps < MOST_STEPS:
        played = player.collect()
        rollouts.append(played.rollout)
        log_probs.append(log_prob_of(played.outputs["logits"][:-1], played.rollout.actions))
        ended += (played.rollout.ended | played.rollout.cut).sum(axis=0)
    return _first_episodes(joined(rollouts)), np.concatenate(log_probs)


def _first_episodes(rollout: Rollout) -> Rollout:
    """The rollout with what comes after each env's first episodes left out."""
    over = rollout.ended | rollout.cut
    valid = rollout.real & (np.cumsum(over, axis=0) - over < EPISODES)
    kept = valid[rollout.final_step, rollout.final_world]
    return Rollout(
        rollout.views,
        rollout.actions,
        rollout.places,
        rollout.task_reward,
        rollout.ended & valid,
        rollout.cut & valid,
        valid,
        rollout.final_step[kept],
        rollout.final_world[kept],
        rollout.final_views[kept],
        rollout.final_places[kept],
    )
