"""Whether a vocabulary has the events, attributes, values and signals that a machine uses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from srm.errors import MOST_SHOWN, near
from srm.machine.model import InvalidMachine, Machine, Problem, RepayEvery, RepayLast, Rule
from srm.machine.terms import AttributeOf, Cell, Guard, Happens, SignalTerm, Term, Test, parts
from srm.machine.vocabulary import Vocabulary


def require_words(machine: Machine, vocabulary: Vocabulary) -> None:
    """Refuses a machine that uses words the vocabulary lacks; for machines that are not being parsed."""
    problems = list(islice(find_foreign_words(machine, vocabulary), MOST_SHOWN + 1))
    if problems:
        raise InvalidMachine(machine.name, problems)


def find_foreign_words(machine: Machine, vocabulary: Vocabulary) -> Iterator[Problem]:
    """The words of the machine that the vocabulary does not have."""
    for counter in machine.counters:
        for happens in counter.happens:
            yield from _happens(happens, vocabulary)
    for _, term in machine.terms:
        yield from _foreign(term, machine, vocabulary)
    for node in machine.nodes:
        for rule in node.rules:
            yield from _foreign(rule.guard, machine, vocabulary)
            yield from _foreign(rule.pay, machine, vocabulary)
            yield from _foreign_hindsight(rule, machine, vocabulary)


def _foreign(root: Term | Guard, machine: Machine, vocabulary: Vocabulary) -> Iterator[Problem]:
    for part in parts(root):
        match part:
            case Happens():
                yield from _happens(part, vocabulary)
            case SignalTerm(name) if name not in vocabulary.signal_index:
                hint = "; it is an event, and a term needs a number" if name in vocabulary.event_index else ""
                hint = f"; did you mean ?{name}?" if name in machine.hole_names else hint
                hint = hint or near(name, vocabulary.signal_index)
                yield Problem(f"vocabulary {vocabulary.name} has no signal {name}{hint}", part)


def _foreign_hindsight(rule: Rule, machine: Machine, vocabulary: Vocabulary) -> Iterator[Problem]:
    if rule.hindsight is None:
        return
    if rule.hindsight.since is not None:
        yield from _event(rule.hindsight.since, vocabulary, rule.hindsight)
    for change in rule.hindsight.changes:
        yield from _foreign(change.pay, machine, vocabulary)
        match change:
            case RepayEvery(events):
                for event in events:
                    yield from _event(event, vocabulary, change)
            case RepayLast(milestone):
                yield from _happens(milestone, vocabulary)


def _event(name: str, vocabulary: Vocabulary, about: object) -> Iterator[Problem]:
    if name not in vocabulary.event_index:
        hint = "; it is a signal, and a guard needs an event or a comparison" if name in vocabulary.signal_index else ""
        hint = hint or near(name, vocabulary.event_index)
        yield Problem(f"vocabulary {vocabulary.name} has no event {name}{hint}", about, name)


def _happens(happens: Happens, vocabulary: Vocabulary) -> Iterator[Problem]:
    yield from _event(happens.event, vocabulary, happens)
    if happens.event in vocabulary.event_index:
        for test in happens.tests:
            yield from _test(happens.event, test, vocabulary)


def _test(event: str, test: Test, vocabulary: Vocabulary) -> Iterator[Problem]:
    has = vocabulary.events[vocabulary.event_index[event]].attributes
    if test.attribute not in has:
        listed = f"it has {', '.join(has)}" if has else "it has none"
        yield Problem(f"{event} has no attribute {test.attribute}; {listed}{near(test.attribute, has)}", test)
        return
    attribute = vocabulary.attributes[vocabulary.attribute_index[test.attribute]]
    if test.relation == "next to" and not attribute.is_cell:
        yield Problem(f"only cells can be next to one another, and {test.attribute} is not a cell", test)
        return
    match test.value:
        case str(value) if value != "none" and value not in (attribute.values or ()):
            remedy = "; write a cell as (x, y)" if attribute.values is None else near(value, attribute.values)
            yield Problem(f"{test.attribute} is never {value}{remedy}", test)
        case Cell() if not attribute.is_cell:
            yield Problem(f"{test.attribute} is not a cell", test)
        case AttributeOf(other, of):
            has = vocabulary.events[vocabulary.event_index[other]].attributes if other in vocabulary.event_index else ()
            if of not in has:
                yield Problem(f"{other} has no attribute {of}{near(of, has)}", test)
            elif vocabulary.attributes[vocabulary.attribute_index[of]].values != attribute.values:
                yield Problem(
                    f"{test.attribute} cannot be compared with {test.value}: what one can be the other cannot", test
                )
