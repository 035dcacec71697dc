"""Questions to Z3: can this condition hold, for some assignment the constraint allows, some counters and some events?

    holes            reals; those whose space is `whole`, whole numbers
    signals          reals, within the range that the vocabulary declares
    counters         whole numbers of at least 0
    events           truths, of which at most one of an exclusive group is true; each with a variant that says which tests it passes

A hole times a counter is not linear, and whole numbers make it undecidable in general, so an answer is looked for in steps,
each of which is sound: small counters put in as numbers (linear; what is found is an example), counters and whole holes as
reals (decidable; what cannot be so for reals cannot be so), and last whole numbers. Each step may take a limited effort, and
an answer may be "not decided". A concretized machine is linear from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Protocol

import z3

from srm.machine.affine import Form
from srm.machine.checks.core.conditions import (
    FALSE,
    Condition,
    Every,
    Occurs,
    Sign,
    Some,
    arithmetic_of,
    at_least,
    counters_of,
    every,
    follow_events,
    leaves,
    literals_of,
    number_form,
    signals_of,
    with_counters,
)
from srm.machine.checks.core.letters import EventVariant, attribute_values, variants
from srm.machine.checks.core.ranges import signal_range
from srm.machine.terms import Happens
from srm.machine.vocabulary import Vocabulary

# For one attempt at one question, in Z3's own unit of work: about half a second. A limit in seconds would let answers depend
# on how busy the computer is. Shipped machines ask about a hundred questions, of which the hardest takes a twentieth of this.
EFFORT = 5_000_000
# For all questions about one machine, in comparisons and events that they are made of: a few seconds of writing them down for
# Z3. What is asked beyond is not decided. The largest of the shipped machines asks for 429.
MOST_ASKED = 20_000
LARGEST_SUM = 3  # of the counters that are put in as numbers


@dataclass(frozen=True)
class Answer:
    """`possible` None: not decided. If True, the rest is an example."""

    possible: bool | None
    holes: Mapping[str, Fraction] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, Fraction] = field(default_factory=dict)
    events: tuple[Happens, ...] = ()


NO, UNDECIDED = Answer(False), Answer(None)


class Topic(Protocol):
    """What questions are about: a `Subject`, or two machines that are compared."""

    @property
    def vocabulary(self) -> Vocabulary | None: ...

    @property
    def open_holes(self) -> tuple[str, ...]: ...

    @property
    def whole_holes(self) -> tuple[str, ...]: ...

    @property
    def allowed(self) -> tuple[Condition, ...]: ...


class Prover:
    """Asks questions about one subject; what its constraint allows is given to the solver once."""

    def __init__(self, subject: Topic, effort: int = EFFORT) -> None:
        self.subject = subject
        self.effort = effort
        self._encoded: dict[tuple[str, Sign], Any] = {}
        self._decided: dict[Condition, tuple[bool | None, dict[str, int]]] = {}
        self._imagined: dict[Condition, bool] = {}
        self._size_of_questions = 0
        self._linear = self._solver()
        self._events: dict[str, _EventVariable] = {}

    def _solver(self, kind: str = "number") -> Any:
        solver = z3.Solver()
        solver.set("rlimit", self.effort)
        solver.add(
            [self._sign(condition, "number") for condition in self.subject.allowed if isinstance(condition, Sign)]
        )
        if FALSE in self.subject.allowed:
            solver.add(False)
        if kind != "real":
            solver.add([is_whole(name) for name in self.subject.whole_holes])
        return solver

    # Questions

    def can(
        self, condition: Condition, facts: Iterable[Condition] = (), least: Mapping[str, int] | None = None
    ) -> bool | None:
        """Whether the condition can hold, given facts about counters and with some of them at `least` this high."""
        if not self.imaginable(condition):
            return False
        return self._decide(*self._prepare(condition, facts, least))[0]

    def example(
        self, condition: Condition, facts: Iterable[Condition] = (), least: Mapping[str, int] | None = None
    ) -> Answer:
        """The same, with an example if it can."""
        if not self.imaginable(condition):
            return NO
        whole, start = self._prepare(condition, facts, least)
        decided, numbers = self._decide(whole, start)
        if not decided:
            return NO if decided is False else UNDECIDED
        known = with_counters(whole, {name: number_form(number) for name, number in numbers.items()})
        literals = literals_of(known)
        solver = self._linear
        solver.push()
        solver.add(*self._event_facts(literals), *self._ranges(known), self._condition(known, "number"))
        model = self._readable_model(solver)
        solver.pop()
        if model is None:
            return UNDECIDED
        return Answer(
            True,
            {name: fraction_of(model, z3.Real(f"?{name}")) for name in self.subject.open_holes},
            {name: numbers[name] for name in counters_of(condition)},
            {name: fraction_of(model, z3.Real(name)) for name in signals_of(known)},
            tuple(self._events[e].read(model) for e in _events(literals) if self._events[e].happens(model)),
        )

    def imaginable(self, condition: Condition) -> bool:
        """Whether the events alone allow the condition, whatever its comparisons say."""
        if self._size_of_questions > MOST_ASKED:
            return True
        known = follow_events(condition, self._groups)
        literals = literals_of(known)
        if not literals:
            return known != FALSE
        if known not in self._imagined:
            if self._is_too_much(known):
                return True
            solver = z3.Solver()
            solver.add(*self._event_facts(literals), self._condition(known, "opaque"))
            self._imagined[known] = solver.check() == z3.sat
        return self._imagined[known]

    def _is_too_much(self, question: Condition) -> bool:
        self._size_of_questions += sum(1 for _ in leaves(question))
        return self._size_of_questions > MOST_ASKED

    # Deciding

    def _prepare(
        self, condition: Condition, facts: Iterable[Condition], least: Mapping[str, int] | None
    ) -> tuple[Condition, dict[str, int]]:
        """The whole question, and the smallest counters at which it may be answered with yes."""
        low = least or {}
        about_counters = every((*facts, *(at_least(name, number) for name, number in low.items())))
        whole = every((condition, about_counters))
        start = {name: low.get(name, 0) for name in counters_of(whole)}
        if _put_in(about_counters, start) == FALSE:
            solver = z3.Solver()
            solver.add(self._condition(about_counters, "int"), *(z3.Int(f"#{name}") >= 0 for name in start))
            if solver.check() == z3.sat:
                model = solver.model()
                start = {name: int(fraction_of(model, z3.Int(f"#{name}"))) for name in start}
        return whole, start

    def _decide(self, whole: Condition, start: dict[str, int]) -> tuple[bool | None, dict[str, int]]:
        """The answer and, if it is yes, counters for which it is."""
        if self._size_of_questions > MOST_ASKED:
            return None, {}
        question = arithmetic_of(whole)
        if question not in self._decided:
            if self._is_too_much(question):
                return None, {}
            self._decided[question] = self._search(question, start)
        decided, counters = self._decided[question]
        return decided, {**start, **counters}

    def _search(self, whole: Condition, start: Mapping[str, int]) -> tuple[bool | None, dict[str, int]]:
        # The smallest counters: linear, and the example that a reader follows most easily
        counters = counters_of(whole)
        first = self._with_numbers(whole, start)
        if first or not counters:
            return first, dict(start)

        # Counters as reals: decidable, and what no reals allow no whole numbers do
        if self._with_variables(whole, "real")[0] is False:
            return False, {}

        # Whole numbers: may take more effort than there is
        decided, numbers = self._with_variables(whole, "int")
        if decided is not None:
            return decided, numbers

        # One small example after the other
        for vector in _small_vectors(counters):
            raised = {name: vector.get(name, 0) + start.get(name, 0) for name in counters}
            if self._with_numbers(whole, raised):
                return True, raised
        return None, {}

    def _with_numbers(self, whole: Condition, numbers: Mapping[str, int]) -> bool | None:
        """The question with numbers in the place of counters: linear, unless holes multiply signals."""
        known = _put_in(whole, numbers)
        if known == FALSE:
            return False
        solver = self._linear
        solver.push()
        solver.add(*self._event_facts(literals_of(known)), *self._ranges(known), self._condition(known, "number"))
        decided = _truth(solver.check())
        solver.pop()
        return decided

    def _with_variables(self, whole: Condition, kind: str) -> tuple[bool | None, dict[str, int]]:
        solver = self._solver(kind)
        counters = counters_of(whole)
        solver.add([_counter(name, kind) >= 0 for name in counters])
        solver.add(*self._event_facts(literals_of(whole)), *self._ranges(whole), self._condition(whole, kind))
        decided = _truth(solver.check())
        if not decided or kind == "real":
            return decided, {}
        model = solver.model()
        return True, {name: int(fraction_of(model, z3.Int(f"#{name}"))) for name in counters}

    def _readable_model(self, solver: Any) -> Any:
        """An example within -1 ... 1 if there is one: easier to follow than whatever comes first."""
        solver.push()
        for name in self.subject.open_holes:
            solver.add(z3.Real(f"?{name}") <= 1, z3.Real(f"?{name}") >= -1)
        model = solver.model() if solver.check() == z3.sat else None
        solver.pop()
        return model or (solver.model() if solver.check() == z3.sat else None)

    # Encoding

    def _condition(self, condition: Condition, kind: str) -> Any:
        match condition:
            case Occurs(happens, truly):
                occurs = self._events[happens.event].occurs(happens)
                return occurs if truly else z3.Not(occurs)
            case Sign():
                return self._sign(condition, kind)
            case Every(parts):
                return z3.And([self._condition(part, kind) for part in parts])
            case Some(parts):
                return z3.Or([self._condition(part, kind) for part in parts])

    def _sign(self, sign: Sign, kind: str) -> Any:
        key = (kind, sign)
        if key not in self._encoded:
            if kind == "opaque":
                self._encoded[key] = z3.Bool(f"sign {len(self._encoded)}")
            else:
                self._encoded[key] = encode_sign(sign, kind)
        return self._encoded[key]

    def _event_facts(self, literals: tuple[Happens, ...]) -> list[Any]:
        """What is known of the events a question speaks of: one at most of each group, and tests that agree with each other."""
        values = attribute_values(literals, self.subject.vocabulary)
        for event in _events(literals):
            self._events[event] = _EventVariable(event, variants(event, literals, values))
        facts = [self._events[event].range for event in _events(literals)]
        for group in self._groups:
            together = [self._events[event].variable for event in _events(literals) if event in group]
            facts += [z3.AtMost(*together, 1)] if len(together) > 1 else []
        return facts

    @property
    def _groups(self) -> tuple[frozenset[str], ...]:
        return self.subject.vocabulary.groups if self.subject.vocabulary else ()

    def _ranges(self, condition: Condition) -> list[Any]:
        """What is known of the signals a question speaks of."""
        bounds = []
        for name in signals_of(condition):
            low, high = signal_range(name, self.subject.vocabulary)
            bounds += [] if low is None else [z3.Real(name) >= z3.RealVal(low)]
            bounds += [] if high is None else [z3.Real(name) <= z3.RealVal(high)]
        return bounds


class _EventVariable:
    """A truth for whether the event happens, and a number for the variant in which it does."""

    def __init__(self, event: str, kinds: list[EventVariant]) -> None:
        self.kinds = kinds
        self.variable = z3.Bool(event)
        self.variant = z3.Int(f"{event} variant")
        self.range = z3.And(self.variant >= 0, self.variant < len(kinds)) if len(kinds) > 1 else z3.BoolVal(True)

    def occurs(self, happens: Happens) -> Any:
        passing = [index for index, kind in enumerate(self.kinds) if happens in kind.passed]
        if len(passing) == len(self.kinds):
            return self.variable
        return z3.And(self.variable, z3.Or([self.variant == index for index in passing]))

    def happens(self, model: Any) -> bool:
        return bool(z3.is_true(model.eval(self.variable)))

    def read(self, model: Any) -> Happens:
        number = model.eval(self.variant, model_completion=True).as_long() if len(self.kinds) > 1 else 0
        return self.kinds[number].occurrence


def encode_form(form: Form, kind: str = "number") -> Any:
    """The form as a Z3 term; counters are reals or whole numbers, as `kind` says."""
    parts = []
    for monomial, coefficient in form.items():
        part = z3.RealVal(coefficient)
        if monomial.hole is not None:
            part = part * z3.Real(f"?{monomial.hole}")
        for name in monomial.counters:
            part = part * _counter(name, kind)
        for name in monomial.signals:
            part = part * z3.Real(name)
        parts.append(part)
    return z3.Sum(parts) if parts else z3.RealVal(0)


def encode_sign(sign: Sign, kind: str = "number") -> Any:
    value = encode_form(sign.form, kind)
    return {">": value > 0, ">=": value >= 0, "=": value == 0, "!=": value != 0}[sign.relation]


def is_whole(hole: str) -> Any:
    return z3.IsInt(z3.Real(f"?{hole}"))


def _counter(name: str, kind: str) -> Any:
    return z3.ToReal(z3.Int(f"#{name}")) if kind == "int" else z3.Real(f"#{name}")


def _events(literals: Iterable[Happens]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(literal.event for literal in literals))


def fraction_of(model: Any, variable: Any) -> Fraction:
    """The value of a variable or a term in a model of Z3."""
    value = model.eval(variable, model_completion=True)
    if z3.is_algebraic_value(value):
        value = value.approx(12)
    return (
        Fraction(value.numerator_as_long(), value.denominator_as_long())
        if z3.is_rational_value(value)
        else Fraction(value.as_long())
    )


def _truth(decided: Any) -> bool | None:
    return None if decided == z3.unknown else bool(decided == z3.sat)


def _put_in(condition: Condition, numbers: Mapping[str, int]) -> Condition:
    return with_counters(condition, {name: number_form(number) for name, number in numbers.items()})


def _small_vectors(counters: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Counters that sum to 1, 2, ...: the examples a reader follows most easily."""
    for total in range(1, LARGEST_SUM + 1):
        for chosen in combinations_with_replacement(counters, total):
            yield {name: chosen.count(name) for name in chosen}
