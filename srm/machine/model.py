"""A symbolic reward machine as a frozen, checked value.

    Machine = holes + counters + named terms + nodes (each with its rules) + constraints

It can be read from a file (`srm.machine.parse`) or built here from Python; either way it is checked when it is made, so an
invalid machine does not exist. `str(machine)` is its text, and parsing that text gives an equal machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from srm.errors import MOST_SHOWN, AssignmentError, MachineError, near
from srm.machine.affine import ONE, Form, add, exact, expand, scale
from srm.machine.terms import Guard, Happens, HoleTerm, Number, Term, number_text
from srm.machine.words import VOCABULARIES, Words

if TYPE_CHECKING:
    from srm.machine.checks.report import Report

ZERO = Number(0.0)


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


ROUNDING = 1e-6  # relative
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
class RuleOf:
    """What a counter counts when it counts the firings of a named rule."""

    name: str

    def __str__(self) -> str:
        return f"rule {self.name}"


@dataclass(frozen=True)
class Counter:
    """How often something happened strictly before the current step, since the episode began or since a reset.

    `at` restricts counting to steps judged at those nodes (empty: at any). A step that counts and resets at once resets.
    """

    name: str
    counts: Happens | RuleOf
    at: tuple[str, ...] = ()
    resets: tuple[Happens, ...] = ()

    def __str__(self) -> str:
        text = f"#{self.name} counts {self.counts}"
        if self.at:
            text += f" at {', '.join(self.at)}"
        if self.resets:
            text += f" resets on {' or '.join(map(str, self.resets))}"
        return text


@dataclass(frozen=True)
class RepayEvery:
    """Every step of the window at which one of these events happened is paid anew."""

    events: tuple[str, ...]
    pay: Term = ZERO

    def __str__(self) -> str:
        return f"every {', '.join(self.events)} // {self.pay}"


@dataclass(frozen=True)
class RepayLast:
    """The last step of the window at which the event happened, with attributes as asked for, is paid anew."""

    milestone: Happens
    pay: Term

    def __str__(self) -> str:
        return f"last {self.milestone} // {self.pay}"


@dataclass(frozen=True)
class Hindsight:
    """What a rule changes, when it fires, in the pay of earlier steps of the same episode.

    The window begins after the last earlier step at which `since` happened (None: where the episode began) and ends before
    the current step. The changes are made in order; a later one wins over an earlier one.
    """

    changes: tuple[RepayEvery | RepayLast, ...]
    since: str | None = None


@dataclass(frozen=True)
class Rule:
    """guard // pay -> target. `target` None stays; a rule yields to all rules of a smaller `tier` at its node."""

    guard: Guard
    pay: Term
    target: str | None = None
    name: str | None = None
    tier: int = 0
    hindsight: Hindsight | None = None

    def __str__(self) -> str:
        label = f"{self.name}: " if self.name else ""
        arrow = f" -> {self.target}" if self.target else ""
        return f"{label}{self.guard} // {self.pay}{arrow}"


@dataclass(frozen=True)
class Node:
    """Where a machine can be. If none of its rules holds at a step the machine idles: it stays, and pays 0."""

    name: str
    rules: tuple[Rule, ...] = ()
    accepting: bool = False


@dataclass(frozen=True)
class EveryHole:
    """The left side of an atom that speaks of all holes but a few."""

    excluded: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "every hole" + (f" except {' '.join(f'?{name}' for name in self.excluded)}" if self.excluded else "")


@dataclass(frozen=True)
class Row:
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

    def rows(self, holes: tuple[str, ...], named: Mapping[str, Form] | None = None) -> Iterator[Row]:
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
                yield Row(coefficients, -difference.get(ONE, Fraction(0)), self.relation == "=", self)


@dataclass(frozen=True)
class Within:
    """What the space of a hole says of it: two linear conditions, told as one atom is."""

    hole: str
    space: Space

    def __str__(self) -> str:
        return f"?{self.hole} in {self.space}"

    def rows(self) -> Iterator[Row]:
        yield Row({self.hole: Fraction(-1)}, -exact(float(self.space.low)), False, self)
        yield Row({self.hole: Fraction(1)}, exact(float(self.space.high)), False, self)


@dataclass(frozen=True)
class Constraint:
    """What must hold between the holes: a conjunction of linear atoms."""

    atoms: tuple[Atom, ...]
    name: str = "default"


@dataclass(frozen=True)
class Machine:
    """Rules between nodes, with holes. Nodes, counters, holes and constraints keep the order of the text."""

    name: str
    nodes: tuple[Node, ...]
    start: str
    holes: tuple[Hole, ...] = ()
    counters: tuple[Counter, ...] = ()
    terms: tuple[tuple[str, Term], ...] = ()  # named terms; each may use those before it
    constraints: tuple[Constraint, ...] = ()
    words: str | None = None  # the vocabulary the machine is written for

    def __post_init__(self) -> None:
        from srm.machine.validate import find_problems  # validation reads models, so it cannot be imported before them

        problems = list(islice(find_problems(self), MOST_SHOWN + 1))
        if problems:
            raise InvalidMachine(self.name, problems)

    @cached_property
    def hole_names(self) -> tuple[str, ...]:
        return tuple(hole.name for hole in self.holes)

    @cached_property
    def forms(self) -> Mapping[str, Form]:
        """The normal forms of the named terms."""
        forms: dict[str, Form] = {}
        for name, term in self.terms:
            forms[name] = expand(term, forms)
        return forms

    def form(self, term: Term) -> Form:
        """The normal form of one of this machine's terms."""
        return expand(term, self.forms)

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    @cached_property
    def rules(self) -> tuple[tuple[Node, Rule, str], ...]:
        """Every rule with its node and a label that is unique in the machine: its name, or the node's and a number."""
        taken = {rule.name for node in self.nodes for rule in node.rules}
        listed = []
        for node in self.nodes:
            for number, rule in enumerate(node.rules, start=1):
                label = rule.name or f"{node.name}.{number}"
                assert rule.name or label not in taken  # names have no dots
                listed.append((node, rule, label))
        return tuple(listed)

    def constraint(self, name: str | None = None) -> Constraint | None:
        """The constraint of that name; without one, the first (or None if the machine has none)."""
        if name is None:
            return self.constraints[0] if self.constraints else None
        known = [constraint.name for constraint in self.constraints]
        if name not in known:
            listed = f"it has {', '.join(known)}" if known else "it has none"
            raise MachineError(f"machine {self.name} has no constraint {name}; {listed}{near(name, known)}")
        return self.constraints[known.index(name)]

    def rows(self, constraint: Constraint | None) -> tuple[Row, ...]:
        """What an assignment has to keep, as linear conditions on the holes: their spaces, then the constraint."""
        atoms = constraint.atoms if constraint else ()
        constrained = (row for atom in atoms for row in atom.rows(self.hole_names, self.forms))
        return (*(row for within in self.spaces for row in within.rows()), *constrained)

    @cached_property
    def spaces(self) -> tuple[Within, ...]:
        """The spaces that are written, in the order of the holes."""
        return tuple(Within(hole.name, hole.space) for hole in self.holes if hole.space is not None)

    @property
    def is_concrete(self) -> bool:
        return all(hole.value is not None for hole in self.holes)

    def values(self) -> dict[str, float]:
        """The values of a concretized machine."""
        missing = [f"?{hole.name}" for hole in self.holes if hole.value is None]
        if missing:
            raise AssignmentError(
                f"machine {self.name} has no value for {', '.join(missing)}; "
                "write `holes ?name = value`, or infer them with `srm learn`"
            )
        return {hole.name: hole.value for hole in self.holes if hole.value is not None}

    def concretize(self, values: Mapping[str, float], spreads: Mapping[str, float] | None = None) -> Machine:
        """The same machine with these values (and spreads) written into its holes; the others stay as they are."""
        spreads = spreads or {}
        for name in (*values, *spreads):
            if name not in self.hole_names:
                raise AssignmentError(f"machine {self.name} has no hole ?{name}{near(name, self.hole_names)}")
        holes = (
            replace(hole, value=values[hole.name], spread=spreads.get(hole.name)) if hole.name in values else hole
            for hole in self.holes
        )
        return replace(self, holes=tuple(holes))

    def opened(self) -> Machine:
        """The same machine with every hole unknown again; where it may lie stays known."""
        return replace(self, holes=tuple(replace(hole, value=None, spread=None) for hole in self.holes))

    def __str__(self) -> str:
        from srm.machine.text import machine_text  # lays out models, so it cannot be imported before them

        return machine_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The drawing, in a notebook."""
        from srm.machine.draw import svg  # draws models, so it cannot be imported before them

        return svg(self)

    def check(self, words: Words | None = None, constraint: str | None = None) -> Report:
        """What can be proved about the machine before any training: `print` it, or let a notebook show it.

        `words`: the vocabulary it is written in; the one it names, where that ships, unless given.
        `constraint`: the name of the one to assume, or "none"; its first unless given.
        """
        from srm.machine.check import check  # loads Z3, which nothing else here needs

        return check(self, words or VOCABULARIES.get(self.words or ""), constraint)


def held_to(machine: Machine, kept: Constraint | None) -> Machine:
    """The machine with the constraint that its values keep as its first, by which whoever loads it judges them.

    It takes the place of the machine's own of that name, which may have fewer atoms.
    """
    if kept is None:
        return replace(machine, constraints=())
    return replace(machine, constraints=(kept, *(other for other in machine.constraints if other.name != kept.name)))


class InvalidMachine(MachineError):
    """A machine that breaks the rules of the language; `found` keeps each problem with the part it is about."""

    def __init__(self, name: str, found: list[Problem]) -> None:
        self.found = found
        super().__init__(*(f"machine {name}: {problem.message}" for problem in found))


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a machine, and the part it is about (an object of the model)."""

    message: str
    about: object = field(compare=False)
    word: str | None = None  # the word of that part at which a caret belongs
