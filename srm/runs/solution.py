"""Whether a learnt machine is a solution as the paper defines it: what is demonstrated earns at least as much as what the policy does.

    E_demo[L] >= E_pi[L], over whole episodes, discounted and not

Both means have a standard error, so the answer is open where they lie too close. A policy that out-earns the demonstrations has found a
way to be paid that nobody meant, or a better way to do what was meant; either way the values no longer explain why the
demonstrator does otherwise.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SURE = 2.0  # standard errors
ROUNDING = 1e-9  # relative: the same pay, added up in another order


@dataclass(frozen=True)
class Earned:
    """What episodes are paid in the mean, and the standard error of that; 0 where there is but one."""

    mean: float
    error: float
    episodes: int

    @staticmethod
    def of(totals: npt.NDArray[np.float64]) -> Earned:
        error = totals.std(ddof=1) / np.sqrt(len(totals)) if len(totals) > 1 else 0.0
        return Earned(float(totals.mean()), float(error), len(totals))


@dataclass(frozen=True)
class EarningsComparison:
    """Demonstrations against the policy."""

    demonstrations: Earned
    policy: Earned

    @property
    def lead(self) -> float:
        """By how much the demonstrations earn more."""
        return self.demonstrations.mean - self.policy.mean

    @property
    def error(self) -> float:
        """Of the lead. A single episode says nothing of how much episodes differ; those of the other side do."""
        sides = (self.demonstrations, self.policy)
        spread = max(side.error * math.sqrt(side.episodes) for side in sides)
        return math.hypot(*(side.error if side.episodes > 1 else spread for side in sides))

    @property
    def verdict(self) -> str:
        if self.lead >= -ROUNDING * max(1.0, abs(self.policy.mean)):
            return "holds"
        return "fails" if self.lead < -SURE * self.error else "open"


@dataclass(frozen=True)
class Solution:
    """The paper's condition on a learnt machine and a policy."""

    plain: EarningsComparison
    discounted: EarningsComparison
    discount: float

    @property
    def fails(self) -> bool:
        return self.plain.verdict == "fails" or self.discounted.verdict == "fails"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "undiscounted": self.plain.verdict,
            "verdict": "fails" if self.fails else self.plain.verdict,
        }

    @staticmethod
    def from_json(plain: Any) -> Solution:
        """What `to_json` gave; ValueError for anything else."""
        try:
            plainly, discounted = (
                EarningsComparison(*(_earned(plain[name][side]) for side in ("demonstrations", "policy")))
                for name in ("plain", "discounted")
            )
            return Solution(plainly, discounted, float(plain["discount"]))
        except (KeyError, TypeError, OverflowError) as problem:
            raise ValueError(f"no comparison of demonstrations and policy ({problem})") from None

    def __str__(self) -> str:
        only_discounted = self.fails and self.plain.verdict != "fails"
        compared = self.discounted if only_discounted else self.plain
        earned = (
            f"demonstrations earn {compared.demonstrations.mean:.2f} ± {compared.demonstrations.error:.2f}, "
            f"the policy {compared.policy.mean:.2f} ± {compared.policy.error:.2f}"
        )
        verdict = {
            "holds": "demonstrations earn at least as much as the policy, as a solution asks",
            "open": "too close to say whether the policy out-earns the demonstrations",
            "fails": "the policy out-earns the demonstrations, so these values do not explain them; "
            "--infer posterior with --refine makes its play evidence",
        }
        return f"{f'discounted by {self.discount:g} ' * only_discounted}{earned}: {verdict[compared.verdict]}"


def _earned(plain: Any) -> Earned:
    mean, error, episodes = (float(plain[name]) for name in ("mean", "error", "episodes"))
    if episodes < 1 or error < 0:
        raise TypeError("an error below 0, or no episode")
    return Earned(mean, error, int(episodes))
