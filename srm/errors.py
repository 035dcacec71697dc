"""Everything a user can cause. Each message names the place, the word, and what to do about it.

The command line prints these without a traceback and exits with 2; anything else that escapes is a fault of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SrmError(Exception):
    """Something the user can mend."""


class MachineError(SrmError):
    """The text of a machine, or a machine built in Python, is wrong; `problems` has one entry per mistake."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class TaskError(SrmError):
    """An unknown task, environment or vocabulary, or one that does not fit the rest."""


class TrajectoryError(SrmError):
    """Arrays of a trajectory, a rollout or its events do not fit together."""


class DemonstrationError(SrmError):
    """A demonstration file is damaged, foreign, or of another task."""


class AssignmentError(SrmError):
    """Values for the holes are missing, not finite, or outside the constraint."""


class RunError(SrmError):
    """A run folder is damaged, of another run, or a run cannot go on."""


def near(word: str, known: Iterable[str]) -> str:
    """The hint that ends a message about an unknown word: empty when nothing is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
