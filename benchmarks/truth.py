"""Whether the posterior is one, and of what.

    python -m benchmarks.truth calibration --machines 200
    python -m benchmarks.truth recovery --problems 200

`calibration` tests the sampler: holes drawn from the prior, data drawn from the model's own likelihood; the ranks of the truth
among the draws must be uniform. `recovery` tests the likelihoods: experts that are soft-optimal for known holes, and how well each
posterior finds these. Both print tables in markdown; docs/truth.md says what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import tyro

from benchmarks import calibration, recovery
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


def main() -> None:
    verbs = {"calibration": Calibration, "recovery": Recovery}
    for line in tyro.extras.subcommand_cli_from_dict(verbs).table():
        print(line, flush=True)


if __name__ == "__main__":
    main()
