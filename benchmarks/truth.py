"""Whether the posterior is one, and of what.

    python -m benchmarks.truth calibration --machines 200
    python -m benchmarks.truth recovery --problems 200
    python -m benchmarks.truth points --task doorkey

`calibration` tests the sampler: holes drawn from the prior, data drawn from the model's own likelihood; the ranks of the truth
among the draws must be uniform. `recovery` tests the likelihoods: experts that are soft-optimal for known holes, and how well each
posterior finds these. `points` writes machines with the posterior's mean and with its most probable draws, to be trained on. All print tables in markdown; docs/truth.md says what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks import calibration, points, recovery
from benchmarks.tabular import STEPS


@dataclass(frozen=True)
class Calibration:
    """Whether the sampler draws from the density it is given."""

    machines: int = 200
    seed: int = 0

    def table(self) -> Iterable[str]:
        return calibration.measure(self.machines, self.seed)


@dataclass(frozen=True)
class Recovery:
    """How well each likelihood finds holes that are known."""

    methods: tuple[str, ...] = ("both", "both:30", "totals", "steps:30", "trajectories", "importance", "exact")
    """likelihoods, and behind a colon the temper of their steps; the default unless given"""
    demonstrations: tuple[int, ...] = (recovery.FEW, recovery.MANY)
    problems: int = 200
    seed: int = 0
    steps: int = STEPS
    """of an episode"""

    def table(self) -> Iterable[str]:
        return recovery.measure(self.methods, self.demonstrations, self.problems, self.seed, self.steps)


@dataclass(frozen=True)
class Points:
    """Which point of the posterior to pay."""

    task: str = "doorkey"
    demonstrations: tuple[int, ...] = (1, 10)
    tempers: tuple[float, ...] = (3.0, 17.0)
    out: Path = Path("points")
    """folder of the machines"""
    seed: int = 0

    def table(self) -> Iterable[str]:
        return points.measure(self.task, self.demonstrations, self.tempers, self.out, self.seed)


def main() -> None:
    verbs = {"calibration": Calibration, "recovery": Recovery, "points": Points}
    for line in tyro.extras.subcommand_cli_from_dict(verbs).table():
        print(line, flush=True)


if __name__ == "__main__":
    main()
