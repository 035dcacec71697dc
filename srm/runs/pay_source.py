"""What `srm train` and `srm learn` do not share: what pays the policy, and what is written of it.

`srm.runs.training.FixedPay` infers nothing; `srm.runs.learning.InferredPay` infers the holes of a machine while it pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from srm.evaluate.batched import Paid
from srm.rl.loop import Round
from srm.runs.folder import RunWriter


class Refinement(NamedTuple):
    """Play that became evidence at the end of a run."""

    frames: int
    sentence: str  # why


class PaySource(Protocol):
    """What pays the policy, and what it writes."""

    @property
    def paid(self) -> Paid | None:
        """The latest rollout as a machine paid it, if one does."""
        ...

    def begin(self, frames: int) -> int:
        """Before the first round of a run of so many frames. The frames it took."""
        ...

    def rounds(self, frames: int, first: int) -> Iterator[Round]:
        """From round `first` on, until so many frames are played or the caller has enough."""
        ...

    def columns(self, round: Round) -> dict[str, float]:
        """Of the log, beside those of every run."""
        ...

    def refine(self, refined: int) -> Refinement | None:
        """At the end of a run that was refined so often: more evidence, if the run is to go on with it."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that learning has changed, by name, for a checkpoint."""
        ...

    def load(self, arrays: Mapping[str, np.ndarray], rounds: int) -> None: ...

    def write_known(self, writer: RunWriter) -> None:
        """Beside a checkpoint: what is known so far."""
        ...

    def write(self, writer: RunWriter) -> Mapping[str, Any]:
        """The files of a run that has come to its end. What its summary says of them."""
        ...

    @property
    def rates(self) -> str:
        """More learning rates that may be too high, as flags."""
        ...

    def close(self) -> None: ...
