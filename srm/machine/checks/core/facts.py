"""What is always true of the counters when the machine stands at a node: cheap facts that hold on every trajectory.

    #closed = 0        no way from a step that counts it leads here
    #rewarded <= #opened   every step that counts the first counts the second, and what resets the second resets the first
    0 <= #picked - #dropped <= 1   a balance of the vocabulary, when all its events are counted over the same window

Beyond these, proofs let counters be any whole numbers of at least 0. So "cannot be" holds for every trajectory, while an
example may ask for counters that no trajectory reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from srm.machine.affine import add
from srm.machine.checks.core.conditions import Condition, Occurs, counter_form, every, negated, number_form, sign
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.model import Counter, RuleOf
from srm.machine.terms import And, Guard, Happens
from srm.machine.vocabulary import Balance

Facts = Mapping[str, tuple[Condition, ...]]  # by node


def counter_facts(subject: Subject, prover: Prover) -> Facts:
    everywhere = [*_ordered(subject), *_balanced(subject)]
    positive = {counter.name: _where_positive(subject, prover, counter) for counter in subject.machine.counters}
    return {
        node.name: (
            *(sign(counter_form(name), "=") for name, nodes in positive.items() if node.name not in nodes),
            *everywhere,
        )
        for node in subject.machine.nodes
    }


# Counters that are still 0


def _where_positive(subject: Subject, prover: Prover, counter: Counter) -> set[str]:
    """The nodes at which the counter can be above 0."""
    after: set[str] = set()
    for node in subject.machine.nodes:
        if counter.at and node.name not in counter.at:
            continue
        for rule, label in subject.rules_of(node.name):
            if isinstance(counter.counts, RuleOf):
                can_count = rule.name == counter.counts.name
            else:
                can_count = prover.imaginable(every((subject.fires[label], Occurs(counter.counts))))
            if can_count:
                after.add(rule.target or node.name)
        idles = subject.idles[node.name]
        if isinstance(counter.counts, Happens) and prover.imaginable(every((idles, Occurs(counter.counts)))):
            after.add(node.name)
    return reachable(subject, after)


def reachable(subject: Subject, begin: set[str], dead: frozenset[str] = frozenset()) -> set[str]:
    """The nodes that rules lead to from these, not counting the rules whose labels are `dead`."""
    return closure(begin, lambda node: (rule.target for rule, label in subject.rules_of(node) if label not in dead))


def closure(begin: Iterable[str], leads: Callable[[str], Iterable[str | None]]) -> set[str]:
    """These nodes, and all that `leads` leads to from them; None stays."""
    nodes = set(begin)
    todo = list(nodes)
    while todo:
        ahead = {node for node in leads(todo.pop()) if node is not None} - nodes
        nodes |= ahead
        todo += ahead
    return nodes


# Counters that never exceed others


def _ordered(subject: Subject) -> Iterator[Condition]:
    for less in subject.machine.counters:
        for more in subject.machine.counters:
            if less is not more and _counts_all_of(subject, more, less):
                yield sign(add(counter_form(more.name), negated(counter_form(less.name))), ">=")


def _counts_all_of(subject: Subject, more: Counter, less: Counter) -> bool:
    """Whether each step that counts `less` counts `more`, and each that resets `more` resets `less`."""
    if isinstance(more.counts, RuleOf):
        return False
    events, nodes = _counted_when(subject, less)
    inside = not more.at or nodes <= set(more.at)
    implied = any(_implies(happens, more.counts) for happens in events)
    resets = all(any(_implies(reset, other) for other in less.resets) for reset in more.resets)
    return inside and implied and resets


def _counted_when(subject: Subject, counter: Counter) -> tuple[tuple[Happens, ...], set[str]]:
    """Events that surely happen when the counter counts, and the nodes at which it can."""
    nodes = set(counter.at) or {node.name for node in subject.machine.nodes}
    if isinstance(counter.counts, Happens):
        return (counter.counts,), nodes
    for node, rule, _ in subject.machine.rules:
        if rule.name == counter.counts.name:
            return _required(rule.guard), nodes & {node.name}
    return (), nodes


def _required(guard: Guard) -> tuple[Happens, ...]:
    inside = guard.guards if isinstance(guard, And) else (guard,)
    return tuple(part for part in inside if isinstance(part, Happens))


def _implies(stronger: Happens, weaker: Happens) -> bool:
    return stronger.event == weaker.event and set(weaker.tests) <= set(stronger.tests)


# Balances


def _balanced(subject: Subject) -> Iterator[Condition]:
    for balance in subject.balances:
        windows = dict.fromkeys((counter.at, counter.resets) for counter in subject.machine.counters)
        for at, resets in windows:
            counters = {
                counter.counts.event: counter.name
                for counter in subject.machine.counters
                if (counter.at, counter.resets) == (at, resets)
                and isinstance(counter.counts, Happens)
                and not counter.counts.tests
            }
            if not at and set(balance.plus + balance.minus) <= set(counters):
                yield from _within(balance, counters, since_start=not resets)


def _within(balance: Balance, counters: Mapping[str, str], *, since_start: bool) -> Iterator[Condition]:
    """Over a whole episode the balance keeps its bounds; since a reset it has moved by no more than their distance."""
    difference = add(
        *(counter_form(counters[event]) for event in balance.plus),
        *(negated(counter_form(counters[event])) for event in balance.minus),
    )
    low, high = (balance.least, balance.most) if since_start else (None, None)
    if not since_start and balance.most is not None:
        low, high = balance.least - balance.most, balance.most - balance.least
    if low is not None:
        yield sign(add(difference, number_form(-low)), ">=")
    if high is not None:
        yield sign(add(difference, number_form(-high)), "<=")
