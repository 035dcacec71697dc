"""The posterior while a policy is trained: it pays, and is drawn anew as play reaches new places.

It begins with random play, as `srm infer` does. The latest play of the policy joins the evidence after 8, 32, 128, ... rounds: ever
more rarely, so that values settle, and with the weight of one policy among those met so far, so that evidence does not grow because
the policy plays on. A new posterior goes on from where the walkers of the old one stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srm.infer.posterior.sample import PosteriorConfig
from srm.settings import ZERO_OR_MORE

FIRST, FACTOR = 8, 4  # rounds after which play joins the evidence: FIRST * FACTOR ** n


@dataclass(frozen=True)
class LiveConfig(PosteriorConfig):
    """How the posterior is sampled, and what it pays, while a policy is trained."""

    pay: Literal["mean", "mode", "draw"] = "mean"
    """which assignment pays: the posterior's mean, its most likely draw, or a fresh draw each round"""
    refresh: int = 4
    """play joins the evidence after 8 rounds, and again each time the run is so many times as long; 0: never, random play is all"""

    def __post_init__(self) -> None:
        super().__post_init__()
        ZERO_OR_MORE.refuse_outside(self, "--posterior.", "refresh")

    def is_due(self, rounds: int) -> bool:
        """Whether play joins the evidence after so many rounds."""
        due = FIRST
        while self.refresh > 1 and due < rounds:
            due *= self.refresh
        return self.refresh > 1 and due == rounds
