"""What is not known: holes, where each may lie, and what must hold between them.

    holes ?limit in 0 .. 5 whole = 3 +- 0.5     a Hole with its Space, its value and its spread
    "open is worth more" ?open >= ?close        an Atom of a Constraint

Whatever asks about assignments asks for linear conditions on the holes: those of the spaces, then those of the atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from srm.machine.affine import ONE, Form, add, exact, expand, scale
from srm.machine.terms import HoleTerm, Term, number_text

ROUNDING = 1e-6  # relative


@dataclass(frozen=True)
class Space:
    """The assignment space of a hole: the numbers from `low` to `high`, or only the whole ones among them."""

    low: float
    high: float
    whole: bool = False

    def __str__(self) -> str:
        return f"{number_text(self.low)} .. {number_text(self.high)}" + (" whole" if self.whole else "")

    def __contains__(self, value: float) -> bool:
        """Whether the value lies here; a projection onto a bound may miss it by rounding."""
        slack = ROUNDING * max(1.0, abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack and (not self.whole or float(value).is_integer())


# Where inference looks for a hole whose space is not written. Inference reads pay as log-odds, and e^5 is 148 to 1.
DEFAULT_SPACE = Space(-5.0, 5.0)


@dataclass(frozen=True)
class Hole:
    """A number the designer does not know; once inferred it has a value, and the spread of its draws."""

    name: str
    value: float | None = None
    spread: float | None = None
    space: Space | None = None  # where it may lie; None: anywhere

    def __str__(self) -> str:
        text = f"?{self.name}" if self.space is None else str(Within(self.name, self.space))
        if self.value is not None:
            text += f" = {number_text(self.value)}"
        if self.spread is not None:
            text += f" +- {number_text(self.spread)}"
        return text


@dataclass(frozen=True)
class EveryHole:
    """The left side of an atom that speaks of all holes but a few."""

    excluded: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "every hole" + (f" except {' '.join(f'?{name}' for name in self.excluded)}" if self.excluded else "")


@dataclass(frozen=True)
class LinearRow:
    """One linear condition: sum of coefficient * hole <= bound (or = bound)."""

    coefficients: Mapping[str, Fraction]
    bound: Fraction
    equality: bool
    atom: Atom | Within


@dataclass(frozen=True)
class Atom:
    """One line of a constraint. Several terms on the left side say the same of each."""

    left: EveryHole | tuple[Term, ...]
    relation: str  # "<=", ">=" or "="
    right: Term
    label: str | None = None

    def __str__(self) -> str:
        left = str(self.left) if isinstance(self.left, EveryHole) else ", ".join(map(str, self.left))
        label = "" if self.label is None else f'"{self.label}" '
        return f"{label}{left} {self.relation} {self.right}"

    def rows(self, holes: tuple[str, ...], named: Mapping[str, Form] | None = None) -> Iterator[LinearRow]:
        """The atom as linear conditions; those that say nothing (`?goal <= ?goal`) are left out."""
        if isinstance(self.left, EveryHole):
            terms: tuple[Term, ...] = tuple(HoleTerm(name) for name in holes if name not in self.left.excluded)
        else:
            terms = self.left
        for term in terms:
            difference = add(expand(term, named), scale(expand(self.right, named), Fraction(-1)))
            if self.relation == ">=":
                difference = scale(difference, Fraction(-1))
            coefficients = {m.hole: c for m, c in difference.items() if m.hole is not None}
            if coefficients or difference:
                yield LinearRow(coefficients, -difference.get(ONE, Fraction(0)), self.relation == "=", self)


@dataclass(frozen=True)
class Within:
    """What the space of a hole says of it: two linear conditions, printed as one atom is."""

    hole: str
    space: Space

    def __str__(self) -> str:
        return f"?{self.hole} in {self.space}"

    def rows(self) -> Iterator[LinearRow]:
        yield LinearRow({self.hole: Fraction(-1)}, -exact(float(self.space.low)), False, self)
        yield LinearRow({self.hole: Fraction(1)}, exact(float(self.space.high)), False, self)


@dataclass(frozen=True)
class Constraint:
    """What must hold between the holes: a conjunction of linear atoms."""

    atoms: tuple[Atom, ...]
    name: str = "default"
