"""What posterior.json says of a posterior, as frozen values: light enough for a page to read without the sampler.

Histograms are kept with the numbers, so that a page can be drawn from this alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from srm.errors import SettingError

KIND = "posterior"  # what such a posterior.json calls itself
SET_BY = ("demonstrations", "play", "preferences", "constraint", "prior", "nothing reads it")


@dataclass(frozen=True)
class AddedAtom:
    """An atom that forbids a loop which could be repeated without end for gain."""

    text: str
    label: str
    loop: str


@dataclass(frozen=True)
class DecidingStep:
    """A demonstrated step and what it moved a hole's mean by; the first of those that weigh the same.

    It has its events and its rule where the demonstrations were at hand.
    """

    demonstration: int
    step: int
    weight: float  # how much lower the hole's mean would be without it, to first order
    alike: int = 1  # steps that weigh as much, this one among them: the same rule, met the same way
    events: tuple[str, ...] = ()
    rule: str = ""
    text: str = ""  # of the rule

    def __post_init__(self) -> None:
        if min(self.demonstration, self.step, self.alike - 1) < 0:
            raise SettingError("a demonstration or a step is below 0, or a step is not even like itself")


@dataclass(frozen=True)
class HoleSummary:
    """What is known of one hole."""

    name: str
    mean: float
    spread: float  # standard deviation
    low: float  # of the 90 % interval
    high: float
    prior_mean: float
    prior_spread: float
    ratio: float | None  # to the largest hole that is paid; None: a threshold, which has a scale of its own
    narrower: float  # 1 - spread / spread of the prior, at least 0: the share that the evidence took away
    set_by: str  # one of SET_BY
    r_hat: float | None  # None: not finite
    effective: float | None
    steps: tuple[DecidingStep, ...]


@dataclass(frozen=True)
class HoleRecord(HoleSummary):
    """The same with the value that pays, and histograms of the draws before and after the evidence."""

    value: float
    extent: tuple[float, ...]  # of the bins, which have one width
    drawn: tuple[int, ...]  # draws of the posterior in each bin
    before: tuple[int, ...]  # draws of the prior

    def __post_init__(self) -> None:
        _refuse_unnamed(self.name)
        _refuse_flat(self.extent)
        if self.set_by not in SET_BY:
            raise SettingError(f"set_by is none of {', '.join(SET_BY)}")
        if not self.drawn or len(self.drawn) != len(self.before) or min(*self.drawn, *self.before) < 0:
            raise SettingError("the histograms do not fit together")
        if not self.low <= self.high or min(self.spread, self.prior_spread) < 0:
            raise SettingError("an interval or a spread is below 0")

    @property
    def decimals(self) -> int:
        """So many that the ends of the interval differ as printed, and two at least."""
        return 2 if self.spread <= 0 else min(6, max(2, 1 - math.floor(math.log10(self.spread))))


@dataclass(frozen=True)
class PressedAtom:
    """An atom that the evidence would break: the posterior sits on it."""

    text: str
    gain: float  # log-odds beyond it


@dataclass(frozen=True)
class RatioRecord:
    """A weight divided by the best known one: its 90 % interval. What a reward of terms fixes is ratios, not sizes."""

    name: str
    of: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _refuse_unnamed(self.name)
        _refuse_unnamed(self.of)
        if not self.low <= self.high:
            raise SettingError("an interval is below 0")


@dataclass(frozen=True)
class PairRecord:
    """Two holes that trade off, with draws counted in cells: rows are of the second hole, the lowest first."""

    first: str
    second: str
    correlation: float
    first_range: tuple[float, ...]
    second_range: tuple[float, ...]
    cells: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        _refuse_unnamed(self.first)
        _refuse_unnamed(self.second)
        _refuse_flat(self.first_range)
        _refuse_flat(self.second_range)
        if not self.cells or not self.cells[0] or any(len(row) != len(self.cells[0]) for row in self.cells):
            raise SettingError("its cells have no rows of one length")
        if min(min(row) for row in self.cells) < 0:
            raise SettingError("a cell is below 0")


@dataclass(frozen=True)
class Convergence:
    converged: bool
    sweeps: int
    r_hat: float | None  # of the worst hole
    effective: float | None
    largest_r_hat: float  # what is asked of them
    least_effective: float


@dataclass(frozen=True)
class Summary:
    """All of it."""

    machine: str
    constraint: str | None
    added: tuple[AddedAtom, ...]
    unproved: tuple[str, ...]
    holes: tuple[HoleRecord, ...]
    pressed: tuple[PressedAtom, ...]
    tradeoffs: tuple[PairRecord, ...]
    convergence: Convergence
    demonstrations: int
    demonstrated_steps: int
    played_steps: int
    answers: int = 0  # about pairs of episodes
    ratios: tuple[RatioRecord, ...] = ()  # of a reward of terms

    def __post_init__(self) -> None:
        names = [hole.name for hole in self.holes]
        if not names or len(set(names)) < len(names):
            raise SettingError("its holes have no names of their own")
        if any(name not in names for pair in self.tradeoffs for name in (pair.first, pair.second)):
            raise SettingError("a pair is of holes that there are not")

    @property
    def unread(self) -> tuple[str, ...]:
        """Holes that no rule of the machine reads."""
        return tuple(hole.name for hole in self.holes if hole.set_by == "nothing reads it")


def _refuse_unnamed(name: str) -> None:
    if not name.isidentifier():
        raise SettingError("a hole has no name")


def _refuse_flat(extent: tuple[float, ...]) -> None:
    if len(extent) != 2 or not extent[0] < extent[1]:
        raise SettingError("a range has no width")
