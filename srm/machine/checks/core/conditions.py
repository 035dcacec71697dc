"""Guards as conditions in negation normal form, the shape in which they can be simplified, substituted and proved.

    close_door and not (#closed * ?close + ?unlock <= 0)
        ->  Every(Occurs(close_door), Sign(#closed * ?close + ?unlock > 0))

A `Sign` compares a normal form with 0, scaled so that equal comparisons are equal values. Simplification happens where
conditions are built: what is known (which events happen, what the counters read) is put in, and what is decided by it
disappears. No solver is needed for most questions about small machines once that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from srm.machine.affine import ONE, Form, Monomial, add, scale
from srm.machine.terms import Happens

Items = tuple[tuple[Monomial, Fraction], ...]


@dataclass(frozen=True)
class Occurs:
    """The event happens with these attributes; or, if not `truly`, it does not."""

    happens: Happens
    truly: bool = True


@dataclass(frozen=True)
class Sign:
    """`form relation 0`. Made by `sign`, which scales the form and folds constants."""

    items: Items
    relation: str  # ">", ">=", "=" or "!="

    @property
    def form(self) -> Form:
        return dict(self.items)


@dataclass(frozen=True)
class Every:
    """All parts hold; without parts it is true."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Some:
    """At least one part holds; without parts it is false."""

    parts: tuple[Condition, ...] = ()


Leaf = Occurs | Sign
Condition = Leaf | Every | Some
TRUE, FALSE = Every(), Some()


# Building


def items_of(form: Form) -> Items:
    return tuple(sorted(form.items(), key=lambda item: (item[0].hole or "", item[0].counters, item[0].signals)))


def sign(form: Form, relation: str) -> Condition:
    """The condition that the form stands in this relation to 0."""
    if relation in ("<", "<="):
        form, relation = scale(form, Fraction(-1)), relation.replace("<", ">")
    items = items_of(form)
    if not items or (items[0][0] == ONE and len(items) == 1):
        return TRUE if _compares(items[0][1] if items else Fraction(0), relation) else FALSE
    first = items[0][1]
    by = 1 / (first if relation in ("=", "!=") else abs(first))
    return Sign(tuple((monomial, by * coefficient) for monomial, coefficient in items), relation)


def _compares(number: Fraction, relation: str) -> bool:
    return {">": number > 0, ">=": number >= 0, "=": number == 0, "!=": number != 0}[relation]


def every(parts: Iterable[Condition]) -> Condition:
    kept: dict[Condition, None] = {}
    for part in parts:
        if part == FALSE:
            return FALSE
        kept.update(dict.fromkeys(part.parts if isinstance(part, Every) else (part,)))
    return next(iter(kept)) if len(kept) == 1 else Every(tuple(kept))


def some(parts: Iterable[Condition]) -> Condition:
    kept: dict[Condition, None] = {}
    for part in parts:
        if part == TRUE:
            return TRUE
        kept.update(dict.fromkeys(part.parts if isinstance(part, Some) else (part,)))
    return next(iter(kept)) if len(kept) == 1 else Some(tuple(kept))


def negate(condition: Condition) -> Condition:
    match condition:
        case Occurs(happens, truly):
            return Occurs(happens, not truly)
        case Sign():
            return sign(condition.form, {">": "<=", ">=": "<", "=": "!=", "!=": "="}[condition.relation])
        case Every(parts):
            return some(negate(part) for part in parts)
        case Some(parts):
            return every(negate(part) for part in parts)


# Reading


def leaves(condition: Condition) -> Iterator[Leaf]:
    match condition:
        case Every(parts) | Some(parts):
            for part in parts:
                yield from leaves(part)
        case _:
            yield condition


def counters_of(*conditions: Condition) -> tuple[str, ...]:
    """The counters that are read, sorted by name."""
    signs = (leaf for condition in conditions for leaf in leaves(condition) if isinstance(leaf, Sign))
    return tuple(sorted({name for leaf in signs for monomial, _ in leaf.items for name in monomial.counters}))


def signals_of(*conditions: Condition) -> tuple[str, ...]:
    """The signals that are read, sorted by name."""
    signs = (leaf for condition in conditions for leaf in leaves(condition) if isinstance(leaf, Sign))
    return tuple(sorted({name for leaf in signs for monomial, _ in leaf.items for name in monomial.signals}))


def literals_of(*conditions: Condition) -> tuple[Happens, ...]:
    """The events with their tests that are asked for, each once, in order."""
    literals = (leaf.happens for condition in conditions for leaf in leaves(condition) if isinstance(leaf, Occurs))
    return tuple(dict.fromkeys(literals))


def needed_signs(condition: Condition) -> tuple[Sign, ...]:
    """Comparisons without which the condition cannot hold; an equality is given as its two halves."""
    needed = []
    for part in condition.parts if isinstance(condition, Every) else (condition,):
        if isinstance(part, Sign) and part.relation == "=":
            halves = (sign(part.form, ">="), sign(part.form, "<="))
            needed += [half for half in halves if isinstance(half, Sign)]
        elif isinstance(part, Sign) and part.relation != "!=":
            needed.append(part)
    return tuple(needed)


def arithmetic_of(condition: Condition) -> Condition:
    """The comparisons of a condition, if it asks for events beside them; else the condition itself.

    Events and numbers share nothing, so of such a conjunction each side is decided alone, and rules that differ in their
    events share the decision about their comparisons.
    """
    inside = condition.parts if isinstance(condition, Every) else (condition,)
    kinds = [{type(leaf) for leaf in leaves(part)} for part in inside]
    if any(len(kind) > 1 for kind in kinds):
        return condition
    return every(part for part, kind in zip(inside, kinds, strict=True) if Occurs not in kind)


# Meaning


@dataclass(frozen=True)
class Reading:
    """Numbers for everything a form speaks of; a counter, hole or signal that is not listed reads 0."""

    holes: Mapping[str, Fraction] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, Fraction] = field(default_factory=dict)

    def value(self, form: Form) -> Fraction:
        total = Fraction(0)
        for monomial, coefficient in form.items():
            product = coefficient * (1 if monomial.hole is None else self.holes.get(monomial.hole, Fraction(0)))
            for name in monomial.counters:
                product *= self.counters.get(name, 0)
            for name in monomial.signals:
                product *= self.signals.get(name, Fraction(0))
            total += product
        return total

    def holds(self, condition: Condition) -> bool:
        """Whether a condition that asks for no events holds."""
        match condition:
            case Sign():
                return _compares(self.value(condition.form), condition.relation)
            case Every(parts):
                return all(map(self.holds, parts))
            case Some(parts):
                return any(map(self.holds, parts))
            case Occurs():
                raise AssertionError("events are put in before numbers are")


# Putting in what is known


def given(condition: Condition, happening: frozenset[Happens]) -> Condition:
    """The condition at a step where exactly these of the events it asks for happen."""

    def decided(leaf: Leaf) -> Condition:
        if isinstance(leaf, Sign):
            return leaf
        return TRUE if (leaf.happens in happening) == leaf.truly else FALSE

    return each_leaf(condition, decided)


def _assume(condition: Condition, truths: Mapping[Happens, bool]) -> Condition:
    def decided(leaf: Leaf) -> Condition:
        if isinstance(leaf, Sign) or leaf.happens not in truths:
            return leaf
        return TRUE if truths[leaf.happens] == leaf.truly else FALSE

    return each_leaf(condition, decided)


def follow_events(condition: Condition, groups: Collection[Collection[str]]) -> Condition:
    """What is left to ask once the events that must happen do, and those of their `groups`, of which only one can happen, do not.

    It can hold whenever the condition can, and the other way round; that two events exclude each other is left to the solver
    only where neither must happen.
    """
    while isinstance(condition, Every):
        sure = {part.happens for part in condition.parts if isinstance(part, Occurs) and part.truly}
        events = {happens.event for happens in sure}
        if any(len(events & set(group)) > 1 for group in groups):
            return FALSE
        truths = {happens: True for happens in sure if not happens.tests}
        barred = {event for group in groups if events & set(group) for event in group} - events
        truths |= {happens: False for happens in literals_of(condition) if happens.event in barred}
        simpler = _assume(condition, truths)
        events = {happens.event for happens in literals_of(simpler)}
        # an event whose attributes are asked for has to be seen to happen by whoever answers
        simpler = every(
            (simpler, *(Occurs(happens) for happens in truths if truths[happens] and happens.event in events))
        )
        if simpler == condition:
            break
        condition = simpler
    return condition


def each_leaf(condition: Condition, change: Callable[[Leaf], Condition]) -> Condition:
    """The condition with every event and every comparison replaced."""
    match condition:
        case Every(parts):
            return every(each_leaf(part, change) for part in parts)
        case Some(parts):
            return some(each_leaf(part, change) for part in parts)
        case _:
            return change(condition)


def each_sign(condition: Condition, change: Callable[[Sign], Condition]) -> Condition:
    """The condition with every comparison replaced."""
    return each_leaf(condition, lambda leaf: change(leaf) if isinstance(leaf, Sign) else leaf)


def with_counters(condition: Condition, values: Mapping[str, Form]) -> Condition:
    """The condition with forms (numbers, or other counters) in the place of counters."""
    return each_sign(condition, lambda comparison: sign(substitute(comparison.form, values), comparison.relation))


def rename(condition: Condition, counters: Mapping[str, str], signals: Mapping[str, str]) -> Condition:
    """The condition with other names for counters and signals."""
    return each_sign(
        condition, lambda comparison: sign(rename_form(comparison.form, counters, signals), comparison.relation)
    )


def rename_form(form: Form, counters: Mapping[str, str], signals: Mapping[str, str]) -> Form:
    def renamed(monomial: Monomial) -> Monomial:
        counted = tuple(sorted(counters.get(name, name) for name in monomial.counters))
        return Monomial(monomial.hole, counted, tuple(sorted(signals.get(name, name) for name in monomial.signals)))

    return {renamed(monomial): coefficient for monomial, coefficient in form.items()}


def substitute(form: Form, values: Mapping[str, Form]) -> Form:
    """The form with forms without holes in the place of its counters; counters without one stay."""
    total: Form = {}
    for monomial, coefficient in form.items():
        kept = tuple(name for name in monomial.counters if name not in values)
        product: Form = {Monomial(monomial.hole, kept, monomial.signals): coefficient}
        for name in monomial.counters:
            if name in values:
                product = _times(product, values[name])
        total = add(total, product)
    return total


def _times(left: Form, right: Form) -> Form:
    total: Form = {}
    for a, x in left.items():
        for b, y in right.items():
            assert b.hole is None
            monomial = Monomial(a.hole, tuple(sorted(a.counters + b.counters)), tuple(sorted(a.signals + b.signals)))
            total = add(total, {monomial: x * y})
    return total


def number_form(value: Fraction | int) -> Form:
    return {ONE: Fraction(value)} if value else {}


def counter_form(name: str) -> Form:
    return {Monomial(None, (name,)): Fraction(1)}


def hole_form(name: str) -> Form:
    return {Monomial(name): Fraction(1)}


def negated(form: Form) -> Form:
    return scale(form, Fraction(-1))


def at_least(counter: str, number: int) -> Condition:
    return sign(add(counter_form(counter), number_form(-number)), ">=")
