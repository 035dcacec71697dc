"""Where a machine can stand: its nodes, times the numbers that its bounded counters can have.

A counter is bounded, under an assignment, if there is a number from which on it makes no difference: every comparison that reads it
has one answer from there, and no rule that can still fire pays by it. A counter of events that happen only so often is bounded too.

    N nodes   C counters   S places
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import numpy.typing as npt

from srm.errors import MachineError
from srm.evaluate.reference import COMPARE
from srm.machine.affine import ONE, Form, Monomial, add, exact, scale
from srm.machine.model import Counter, Machine, Rule, RuleOf
from srm.machine.terms import And, Compare, Guard, Happens, parts
from srm.machine.vocabulary import Vocabulary

LARGEST_BOUND = 32  # one that counts further is shown, and replayed, as if it had no bound
MOST_PLACES = 4096

Ints = npt.NDArray[np.int32]


def counter_bounds(machine: Machine, vocabulary: Vocabulary, values: Mapping[str, float]) -> tuple[int | None, ...]:
    """[C] the number from which on each counter makes no difference; None: there is none, or it is large."""
    return tuple(_bound(machine, vocabulary, values, counter) for counter in machine.counters)


def places(machine: Machine, bounds: tuple[int | None, ...], counts: Ints) -> tuple[Ints, Ints]:
    """Nodes [B, S] and counts [B, S, C] of every place; counters without a bound stay at what they are in `counts` [B, C].

    Nodes without rules are left out: nothing is ever paid there.
    """
    nodes = [index for index, node in enumerate(machine.nodes) if node.rules]
    known = [(0,) if bound is None else range(bound + 1) for bound in bounds]
    number = len(nodes) * int(np.prod([len(numbers) for numbers in known], initial=1))
    if number > MOST_PLACES:
        raise MachineError(
            f"machine {machine.name} can stand at {number:,} places, which is too many to replay a step at each; "
            f"at most {MOST_PLACES:,} are: leave counters out, or counterfactual=False"
        )
    rows = np.array(list(product(nodes, *known)), np.int32)  # [S, 1 + C]
    every = np.repeat(rows[None, :, 1:], len(counts), axis=0)  # [B, S, C]
    for index, bound in enumerate(bounds):
        if bound is None:
            every[..., index] = counts[:, None, index]
    return np.repeat(rows[None, :, 0], len(counts), axis=0), every


# The bound of one counter


def _bound(machine: Machine, vocabulary: Vocabulary, values: Mapping[str, float], counter: Counter) -> int | None:
    settled = [_settled(machine, values, rule, counter.name) for _, rule, _ in machine.rules]
    matters = None if None in settled else max((number for number in settled if number is not None), default=0)
    bounds = [bound for bound in (_most(machine, vocabulary, counter), matters) if bound is not None]
    bound = min(bounds, default=None)
    return bound if bound is not None and bound <= LARGEST_BOUND else None


def _most(machine: Machine, vocabulary: Vocabulary, counter: Counter) -> int | None:
    """How often what it counts can happen in an episode, as far as the vocabulary says."""
    counts = counter.counts
    if isinstance(counts, RuleOf):
        guards = (rule.guard for _, rule, _ in machine.rules if rule.name == counts.name)
        events = {part.event for guard in guards for part in _needed(guard) if isinstance(part, Happens)}
    else:
        events = {counts.event}
    limits = [
        balance.most
        for balance in vocabulary.balances
        if not balance.minus and balance.most is not None and events & set(balance.plus)
    ]
    return min(limits, default=None)


def _settled(machine: Machine, values: Mapping[str, float], rule: Rule, name: str) -> int | None:
    """From which number of the counter on the rule no longer reads it; None: it always does."""
    compared = [part for part in parts(rule.guard) if isinstance(part, Compare)]
    answers = [_answer(_difference(machine, values, part), part.relation, name) for part in compared]
    if None in answers:
        return None
    largest = max((number for number, _ in answers if number), default=0)  # type: ignore[misc]
    paid = (rule.pay, *(change.pay for change in rule.changes))
    if not any(name in monomial.counters for term in paid for monomial in machine.form(term)):
        return largest
    # It pays by the counter, so it must not fire from there on.
    needed = [
        _answer(_difference(machine, values, part), part.relation, name)
        for part in _needed(rule.guard)
        if isinstance(part, Compare)
    ]
    silent = [answer[0] for answer in needed if answer is not None and not answer[1]]
    return max(largest, min(silent)) if silent else None


def _needed(guard: Guard) -> Iterator[Guard]:
    """The parts of a guard that must all hold."""
    yield from guard.guards if isinstance(guard, And) else (guard,)


def _difference(machine: Machine, values: Mapping[str, float], compare: Compare) -> Form:
    """What is compared with 0, with values in the holes."""
    form = add(machine.form(compare.left), scale(machine.form(compare.right), Fraction(-1)))
    filled: list[Form] = []
    for monomial, coefficient in form.items():
        value = Fraction(1) if monomial.hole is None else exact(values[monomial.hole])
        filled.append({Monomial(None, monomial.counters, monomial.signals): coefficient * value})
    return add(*filled)


def _answer(form: Form, relation: str, name: str) -> tuple[int, bool] | None:
    """From which number of the counter on the comparison has one answer, and that answer; (0, True) if it does not read the counter.
    None: it depends on something else as well."""
    if not any(name in monomial.counters for monomial in form):
        return 0, True
    slope = form.get(Monomial(None, (name,)), Fraction(0))
    if set(form) - {ONE, Monomial(None, (name,))}:
        return None
    begin = max(
        0, floor(-form.get(ONE, Fraction(0)) / slope) + 2
    )  # one more than where it crosses 0, whatever rounding makes of it
    return begin, COMPARE[relation](float(slope * begin + form.get(ONE, Fraction(0))))
