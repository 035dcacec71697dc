"""What is asked about: a machine, its vocabulary if one is known, and the assignments that are allowed.

Holes that have a value are numbers from here on, so a concretized machine has no holes left and every question about it
is linear. `fires` and `idles` say when a rule is the one that fires at its node, and when none is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from srm.machine.affine import ONE, Form, Monomial, add, exact
from srm.machine.checks.core.conditions import Condition, Occurs, every, negate, negated, sign, some
from srm.machine.holes import Constraint, LinearRow, Within
from srm.machine.model import Machine, Node, Rule
from srm.machine.terms import Always, And, Compare, Guard, Happens, Not, Or, Term
from srm.machine.vocabulary import Balance, Vocabulary

# Values are written with finitely many digits, so an equality, or a bound an optimiser stopped at, is kept up to this.
TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Subject:
    machine: Machine
    vocabulary: Vocabulary | None = None
    constraint: Constraint | None = None

    @property
    def balances(self) -> tuple[Balance, ...]:
        return self.vocabulary.balances if self.vocabulary else ()

    @cached_property
    def values(self) -> Mapping[str, Fraction]:
        """The holes whose value is known, exactly as it is written."""
        return {hole.name: exact(hole.value) for hole in self.machine.holes if hole.value is not None}

    @cached_property
    def open_holes(self) -> tuple[str, ...]:
        return tuple(name for name in self.machine.hole_names if name not in self.values)

    @cached_property
    def whole_holes(self) -> tuple[str, ...]:
        """The open holes that are whole numbers."""
        return tuple(within.hole for within in self.spaces if within.space.whole)

    @cached_property
    def spaces(self) -> tuple[Within, ...]:
        """The spaces of the open holes."""
        return tuple(within for within in self.machine.spaces if within.hole in self.open_holes)

    @cached_property
    def rows(self) -> tuple[LinearRow, ...]:
        return self.machine.rows(self.constraint)

    @cached_property
    def allowed(self) -> tuple[Condition, ...]:
        """What the spaces and the constraint ask of the open holes, one condition for each row that still speaks of any."""
        speaking = (row for row in self.rows if set(row.coefficients) & set(self.open_holes))
        return tuple(condition_of(row, self.values) for row in speaking)

    @cached_property
    def decided_rows(self) -> tuple[LinearRow, ...]:
        """The rows that speak of known values alone."""
        return tuple(row for row in self.rows if set(row.coefficients) <= set(self.values))

    @cached_property
    def broken_rows(self) -> tuple[LinearRow, ...]:
        """The rows that the known values break."""
        return tuple(row for row in self.decided_rows if margin(row, self.values) < -TOLERANCE)

    def form(self, term: Term) -> Form:
        return close(self.machine.form(term), self.values)

    def condition(self, guard: Guard) -> Condition:
        match guard:
            case Always():
                return every(())
            case Happens():
                return Occurs(guard)
            case Compare(left, relation, right):
                return sign(add(self.form(left), negated(self.form(right))), relation)
            case Not(inner):
                return negate(self.condition(inner))
            case And(inside):
                return every(self.condition(part) for part in inside)
            case Or(inside):
                return some(self.condition(part) for part in inside)

    @cached_property
    def _guards(self) -> Mapping[str, Condition]:
        return {label: self.condition(rule.guard) for _, rule, label in self.machine.rules}

    def rules_of(self, node: str) -> tuple[tuple[Rule, str], ...]:
        return self._by_node.get(node, ())

    @cached_property
    def _by_node(self) -> Mapping[str, tuple[tuple[Rule, str], ...]]:
        listed: dict[str, list[tuple[Rule, str]]] = {}
        for node, rule, label in self.machine.rules:
            listed.setdefault(node.name, []).append((rule, label))
        return {node: tuple(rules) for node, rules in listed.items()}

    @cached_property
    def fires(self) -> Mapping[str, Condition]:
        """For each rule's label, when it fires: its guard holds and no rule of a smaller tier does."""
        return {label: self._when(node, rule, label) for node, rule, label in self.machine.rules}

    def _when(self, node: Node, rule: Rule, label: str) -> Condition:
        above = (self._guards[other] for higher, other in self.rules_of(node.name) if higher.tier < rule.tier)
        return every((self._guards[label], *map(negate, above)))

    @cached_property
    def idles(self) -> Mapping[str, Condition]:
        """For each node, when none of its rules holds."""
        return {
            node.name: every(negate(self._guards[label]) for _, label in self.rules_of(node.name))
            for node in self.machine.nodes
        }


def close(form: Form, values: Mapping[str, Fraction]) -> Form:
    """The form with numbers in the place of the holes that have one."""
    if not values:
        return form
    total: Form = {}
    for monomial, coefficient in form.items():
        if monomial.hole in values:
            assert monomial.hole is not None
            number = coefficient * values[monomial.hole]
            total = add(total, {Monomial(None, monomial.counters, monomial.signals): number})
        else:
            total = add(total, {monomial: coefficient})
    return total


def row_form(row: LinearRow) -> Form:
    """What the row asks to be at least 0 (or 0): its bound minus its sum."""
    holes = {Monomial(name): -coefficient for name, coefficient in row.coefficients.items()}
    return add(holes, {ONE: row.bound} if row.bound else {})


def condition_of(row: LinearRow, values: Mapping[str, Fraction] | None = None) -> Condition:
    return sign(close(row_form(row), values or {}), "=" if row.equality else ">=")


def margin(row: LinearRow, values: Mapping[str, Fraction]) -> Fraction:
    """How far an assignment is inside the row; negative: by how much it breaks it."""
    room = row.bound - sum((c * values[name] for name, c in row.coefficients.items()), Fraction(0))
    return -abs(room) if row.equality else room
