"""A symbolic reward machine as a frozen, checked value.

    Machine = holes + counters + named terms + nodes (each with its rules) + constraints

It can be read from a file (`srm.machine.language.parse`) or built here from Python; either way it is checked when it is made, so an
invalid machine does not exist. `str(machine)` is its text, and parsing that text gives an equal machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from srm.errors import MOST_SHOWN, AssignmentError, MachineError, near
from srm.machine.affine import Form, expand
from srm.machine.holes import Constraint, Hole, LinearRow, Within
from srm.machine.terms import Guard, Happens, Number, Term, events_of
from srm.machine.vocabulary import InfoWords, Vocabulary, find_vocabulary

if TYPE_CHECKING:
    from srm.machine.checks.core.report import Report

ZERO = Number(0.0)


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

    @property
    def happens(self) -> tuple[Happens, ...]:
        """The events that move it; a counter of a rule's firings has only those that reset it."""
        return self.resets if isinstance(self.counts, RuleOf) else (self.counts, *self.resets)

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

    @property
    def events(self) -> tuple[str, ...]:
        return (self.milestone.event,)

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

    @property
    def changes(self) -> tuple[RepayEvery | RepayLast, ...]:
        """What its hindsight changes, if it has any."""
        return self.hindsight.changes if self.hindsight else ()

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
    info: InfoWords | None = None  # `words info`: the vocabulary itself, which the machine brings along

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
        names = {rule.name for node in self.nodes for rule in node.rules}
        listed = []
        for node in self.nodes:
            for number, rule in enumerate(node.rules, start=1):
                label = rule.name or f"{node.name}.{number}"
                assert rule.name or label not in names  # names have no dots
                listed.append((node, rule, label))
        return tuple(listed)

    @cached_property
    def events(self) -> frozenset[str]:
        """The events that the machine speaks of."""
        counted = {happens.event for counter in self.counters for happens in counter.happens}
        guards = {event for _, rule, _ in self.rules for event in events_of(rule.guard)}
        since = {rule.hindsight.since for _, rule, _ in self.rules if rule.hindsight and rule.hindsight.since}
        return frozenset(counted | guards | since | set(self.repaid_events))

    @cached_property
    def repaid_events(self) -> tuple[str, ...]:
        """The events whose steps hindsight may pay anew, each once, in order."""
        changes = (change for _, rule, _ in self.rules for change in rule.changes)
        return tuple(dict.fromkeys(event for change in changes for event in change.events))

    def constraint(self, name: str | None = None) -> Constraint | None:
        """The constraint of that name; without one, the first (or None if the machine has none)."""
        if name is None:
            return self.constraints[0] if self.constraints else None
        known = [constraint.name for constraint in self.constraints]
        if name not in known:
            listed = f"it has {', '.join(known)}" if known else "it has none"
            raise MachineError(f"machine {self.name} has no constraint {name}; {listed}{near(name, known)}")
        return self.constraints[known.index(name)]

    def rows(self, constraint: Constraint | None) -> tuple[LinearRow, ...]:
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
        from srm.machine.language.print import machine_text  # lays out models, so it cannot be imported before them

        return machine_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The drawing, in a notebook."""
        from srm.machine.drawing.draw import svg  # draws models, so it cannot be imported before them

        return svg(self)

    def check(
        self, vocabulary: Vocabulary | None = None, constraint: str | None = None, horizon: int | None = None
    ) -> Report:
        """What can be proved about the machine before any training: `print` it, or let a notebook show it.

        `vocabulary`: the vocabulary it is written in; the one it names, where that ships or is installed, unless given.
        `constraint`: the name of the one to assume, or "none"; its first unless given.
        `horizon`: how many steps an episode may last, for the question what it can earn.
        """
        from srm.machine.checks.check import check  # loads Z3, which nothing else here needs

        return check(self, vocabulary or self.own_vocabulary, constraint, horizon)

    @property
    def own_vocabulary(self) -> Vocabulary | None:
        """The vocabulary that it brings along, or the one of its name that ships or is installed; None: neither is known."""
        return self.info.vocabulary if self.info else find_vocabulary(self.words)


def held_to(machine: Machine, kept: Constraint | None) -> Machine:
    """The machine with the constraint that its values keep as its first, by which whoever loads it judges them.

    It takes the place of the machine's own of that name, which may have fewer atoms.
    """
    if kept is None:
        return replace(machine, constraints=())
    return replace(machine, constraints=(kept, *(other for other in machine.constraints if other.name != kept.name)))


class InvalidMachine(MachineError):
    """A machine that breaks the rules of the language; `details` keeps each problem with the part it is about."""

    def __init__(self, name: str, problems: list[Problem]) -> None:
        self.details = problems
        super().__init__(*(f"machine {name}: {problem.message}" for problem in problems))


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a machine, and the part it is about (an object of the model)."""

    message: str
    about: object = field(compare=False)
    word: str | None = None  # the word of that part at which a caret belongs
