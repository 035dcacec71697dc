"""What pays a policy while the holes are inferred, by whatever way they are."""

from __future__ import annotations

from dataclasses import dataclass

from srm.infer.project import Floats


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the holes after a round."""

    mode: Floats  # [H] the assignment that pays, inside the constraint
    mean: Floats  # [H] Algorithm 1: before it is brought inside the constraint
    spread: Floats  # [H]
    idle: float
