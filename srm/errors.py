"""Everything a user can cause. Each message names the place, the word, and what to do about it.

The command line prints these without a traceback and exits with 2; anything else that escapes is a fault of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

MOST_SHOWN = 20  # mistakes printed at once; a file of another kind would otherwise print one a line
_MOST_KNOWN = 500  # words searched for a near one: 5 ms


class SrmError(Exception):
    """Something the user can mend. What a message takes over from a file cannot give orders to a terminal."""

    def __init__(self, *problems: object) -> None:
        super().__init__(*(tamed(problem) for problem in problems))


def tamed(problem: object) -> object:
    """A text without what would give a terminal orders."""
    if not isinstance(problem, str) or problem.isprintable():
        return problem
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in problem)


def one_line(value: object, most: int = 60) -> str:
    """What a file says, as part of a message."""
    return ascii(str(value)[:most])[1:-1]


class MachineError(SrmError):
    """The text of a machine, or a machine built in Python, is wrong; `problems` has one entry per mistake."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems[:MOST_SHOWN]
        more = ["... and more; mend these first"] if len(problems) > MOST_SHOWN else []
        super().__init__("\n".join([*self.problems, *more]))


class TaskError(SrmError):
    """An unknown task, environment or vocabulary, or one that does not fit the rest."""


class TrajectoryError(SrmError):
    """Arrays of a trajectory, a rollout or its events do not fit together."""


class DemonstrationError(SrmError):
    """A demonstration file is damaged, foreign, or of another task."""


class AssignmentError(SrmError):
    """Values for the holes are missing, not finite, or outside the constraint."""


class SettingError(SrmError):
    """A flag is out of its range, or does not go with the others."""


class ExtraError(SrmError):
    """An optional package is not installed."""


class RunError(SrmError):
    """A run folder is damaged, of another run, or a run cannot go on."""


def near(word: str, known: Iterable[str]) -> str:
    """The hint that ends a message about an unknown word: empty when nothing is near."""
    if len(word) > 100:
        return ""
    close = difflib.get_close_matches(word, list(islice(known, _MOST_KNOWN)), n=1)
    return f"; did you mean {close[0]}?" if close else ""
