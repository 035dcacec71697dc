"""Terms and guards: the arithmetic and the logic of a machine, as frozen values that print back to their text.

A term is built of numbers, holes `?h`, counters `#c`, signals and named terms; a guard of events, comparisons of terms,
`and`, `or` and `not`. Sums, products, conjunctions and disjunctions take any number of parts, so that depth comes from
parentheses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

RELATIONS = ("<=", ">=", "<", ">", "=", "!=")
DEEPEST_NESTING = 30  # of terms and guards within one another, and so of parentheses


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number: 1, 0.1, 1e-07."""
    value = float(value)  # whole numbers and numpy's print otherwise
    whole = value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else repr(value)


# Terms


@dataclass(frozen=True)
class Number:
    value: float

    def __str__(self) -> str:
        return number_text(self.value)


@dataclass(frozen=True)
class HoleTerm:
    """The unknown number of the hole `?name`."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True)
class CounterTerm:
    """How often the counter `#name` had counted before this step."""

    name: str

    def __str__(self) -> str:
        return f"#{self.name}"


@dataclass(frozen=True)
class SignalTerm:
    """The reading of a signal at this step."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class NamedTerm:
    """A term that the machine named with `let`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Negation:
    term: Term

    def __str__(self) -> str:
        # `-1` alone reads back as a number, so the negation of a number keeps its parentheses
        bare = isinstance(self.term, HoleTerm | CounterTerm | SignalTerm | NamedTerm | Negation)
        return f"-{self.term}" if bare else f"-({self.term})"


@dataclass(frozen=True)
class Product:
    factors: tuple[Term, ...]

    def __str__(self) -> str:
        return " * ".join(f"({f})" if isinstance(f, Sum | Product) else str(f) for f in self.factors)


@dataclass(frozen=True)
class Sum:
    """Parts that are added; a `Negation` among the later parts prints as a subtraction."""

    parts: tuple[Term, ...]

    def __str__(self) -> str:
        first, *rest = self.parts
        text = f"({first})" if isinstance(first, Sum) else str(first)
        for part in rest:
            sign, addend = ("-", part.term) if isinstance(part, Negation) else ("+", part)
            negative = isinstance(addend, Number) and str(addend).startswith("-")
            wrap = isinstance(addend, Sum) or (sign == "-" and (negative or isinstance(addend, Negation)))
            text += f" {sign} ({addend})" if wrap else f" {sign} {addend}"
        return text


Term = Number | HoleTerm | CounterTerm | SignalTerm | NamedTerm | Negation | Product | Sum


# Guards


@dataclass(frozen=True)
class AttributeOf:
    """`event.attribute` of the step at which a hindsight rule fires."""

    event: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.event}.{self.attribute}"


@dataclass(frozen=True)
class Cell:
    x: int
    y: int

    def __str__(self) -> str:
        return f"({self.x}, {self.y})"


@dataclass(frozen=True)
class Test:
    """What `where` asks of one attribute; a string value is one of the attribute's names, or `none`."""

    __test__: ClassVar[bool] = False  # not a test case, whatever a collector may think of the name

    attribute: str
    relation: str  # "=", "!=" or "next to"
    value: str | Cell | AttributeOf

    def __str__(self) -> str:
        return f"{self.attribute} {self.relation} {self.value}"


@dataclass(frozen=True)
class Happens:
    """The event happens at this step, with attributes as asked for."""

    event: str
    tests: tuple[Test, ...] = ()

    def __str__(self) -> str:
        return f"{self.event} where {', '.join(map(str, self.tests))}" if self.tests else self.event


@dataclass(frozen=True)
class Compare:
    left: Term
    relation: str
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True)
class Always:
    def __str__(self) -> str:
        return "always"


@dataclass(frozen=True)
class Not:
    guard: Guard

    def __str__(self) -> str:
        return f"not ({self.guard})" if isinstance(self.guard, And | Or | Compare) else f"not {self.guard}"


@dataclass(frozen=True)
class And:
    guards: tuple[Guard, ...]

    def __str__(self) -> str:
        return " and ".join(f"({g})" if isinstance(g, And | Or) else str(g) for g in self.guards)


@dataclass(frozen=True)
class Or:
    guards: tuple[Guard, ...]

    def __str__(self) -> str:
        return " or ".join(f"({g})" if isinstance(g, Or) else str(g) for g in self.guards)


Guard = Always | Happens | Compare | Not | And | Or
Part = Term | Guard


def parts(root: Part) -> Iterator[Part]:
    """The term or guard and everything inside it, outermost first, in the order of the text."""
    todo: list[Part] = [root]
    while todo:
        here = todo.pop()
        yield here
        todo.extend(reversed(_children(here)))


def is_too_deep(root: Part) -> bool:
    """Whether anything stands deeper in it than `DEEPEST_NESTING`."""
    level: list[Part] = [root]
    for _ in range(DEEPEST_NESTING + 1):
        level = [child for part in level for child in _children(part)]
    return bool(level)


def _children(here: Part) -> tuple[Part, ...]:
    match here:
        case Sum(inner):
            return inner
        case Product(inner):
            return inner
        case And(inside) | Or(inside):
            return inside
        case Negation(term):
            return (term,)
        case Not(guard):
            return (guard,)
        case Compare(left, _, right):
            return (left, right)
        case _:
            return ()


def events_of(guard: Guard) -> tuple[str, ...]:
    """The events a guard speaks of, each once, in order."""
    return tuple(dict.fromkeys(part.event for part in parts(guard) if isinstance(part, Happens)))


def compared_terms(guard: Guard) -> tuple[Term, ...]:
    """Both sides of each comparison in a guard, in order."""
    return tuple(side for part in parts(guard) if isinstance(part, Compare) for side in (part.left, part.right))


def needs_event(guard: Guard) -> bool:
    """Whether the guard can hold only at a step where something happens, which lets idle steps be skipped."""
    match guard:
        case Happens():
            return True
        case And(inside):
            return any(needs_event(g) for g in inside)
        case Or(inside):
            return all(needs_event(g) for g in inside)
        case _:
            return False
