"""What makes a machine invalid, each problem with the part it is about.

`find_problems` asks only what the machine itself can answer; `find_foreign_words` asks whether a vocabulary has the events,
signals, attributes and values that the machine uses. A parser turns the parts into places in the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator

from srm.errors import near
from srm.machine.affine import Form, NotAffine, expand
from srm.machine.model import (
    Atom,
    Counter,
    EveryHole,
    Machine,
    Node,
    Problem,
    RepayEvery,
    RepayLast,
    Rule,
    RuleOf,
)
from srm.machine.terms import (
    AttributeOf,
    Cell,
    Compare,
    CounterTerm,
    Guard,
    Happens,
    HoleTerm,
    NamedTerm,
    Number,
    SignalTerm,
    Term,
    Test,
    events_of,
    parts,
)
from srm.machine.words import Words

RESERVED = frozenset(
    "machine words holes counters counts rule at resets on let start node accept constraint every hole except "
    "always otherwise and or not where next to none hindsight since last".split()
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
LONGEST_NAME = 100


def find_problems(machine: Machine) -> Iterator[Problem]:
    yield from _names(machine)
    yield from _holes(machine)
    known: dict[str, Form] = {}
    yield from _named_terms(machine, known)
    for counter in machine.counters:
        yield from _counter(machine, counter)
    if machine.start not in [node.name for node in machine.nodes]:
        yield Problem("there is no start node; write `start NAME` where the machine begins", machine)
    for node in machine.nodes:
        yield from _node(machine, node, known)
    for constraint in machine.constraints:
        for atom in constraint.atoms:
            yield from _atom(machine, atom, known)


def _names(machine: Machine) -> Iterator[Problem]:
    if machine.words is not None:
        yield from _name("vocabulary", machine.words, machine)
    yield from _name("machine", machine.name, machine)
    rules: list[object] = [rule for node in machine.nodes for rule in node.rules if rule.name is not None]
    kinds: list[tuple[str, Iterable[object]]] = [
        ("hole", machine.holes),
        ("counter", machine.counters),
        ("node", machine.nodes),
        ("rule", rules),
        ("constraint", machine.constraints),
        ("term", machine.terms),
    ]
    for kind, things in kinds:
        seen: Tally[str] = Tally()
        for thing in things:
            name: str = thing[0] if isinstance(thing, tuple) else thing.name  # type: ignore[attr-defined]
            yield from _name(kind, name, thing)
            seen[name] += 1
            if seen[name] == 2:
                yield Problem(f"there are two {kind}s named {name}; rename one", thing, name)


def _name(kind: str, name: str, about: object) -> Iterator[Problem]:
    if name in RESERVED:
        yield Problem(f"{name} is a word of the language and cannot name a {kind}", about, name)
    elif len(name) > LONGEST_NAME:
        yield Problem(f"a {kind}'s name of {len(name)} characters; at most {LONGEST_NAME} are allowed", about)
    elif not _NAME.match(name):
        yield Problem(f"{name!r} cannot name a {kind}; use letters, digits and _", about)


def _holes(machine: Machine) -> Iterator[Problem]:
    for hole in machine.holes:
        if hole.value is not None and not math.isfinite(hole.value):
            yield Problem(f"the value of ?{hole.name} is not a finite number", hole)
        if hole.spread is not None and hole.value is None:
            yield Problem(f"?{hole.name} has a spread but no value", hole)
        if hole.spread is not None and not (math.isfinite(hole.spread) and hole.spread >= 0):
            yield Problem(f"the spread of ?{hole.name} must be a finite number of at least 0", hole)


def _named_terms(machine: Machine, known: dict[str, Form]) -> Iterator[Problem]:
    """Fills `known` with the normal forms on the way."""
    for name, term in machine.terms:
        yield from _term(machine, term, known, f"let {name}")
        try:
            known[name] = expand(term, known)
        except (NotAffine, KeyError):
            known[name] = {}  # reported already; one mistake is one message


def _term(machine: Machine, term: Term, named: dict[str, Form], place: str) -> Iterator[Problem]:
    broken = False
    for part in parts(term):
        match part:
            case HoleTerm(name) if name not in machine.hole_names:
                yield Problem(f"unknown hole ?{name}{near(name, machine.hole_names)}", part)
            case CounterTerm(name) if name not in (counters := [c.name for c in machine.counters]):
                yield Problem(f"unknown counter #{name}{near(name, counters)}", part)
            case NamedTerm(name) if name not in named:
                broken = True
                yield Problem(f"{name} is not a term named by a `let` before {place}", part)
            case SignalTerm(name):
                yield from _name("signal", name, part)
            case Number(value) if not math.isfinite(value):
                broken = True
                yield Problem("a number too large to be held", part)
    if not broken:
        try:
            expand(term, named)
        except NotAffine as wrong:
            yield Problem(str(wrong), wrong.at)


def _guard(machine: Machine, guard: Guard, known: dict[str, Form], place: str) -> Iterator[Problem]:
    for part in parts(guard):
        match part:
            case Compare(left, _, right):
                yield from _term(machine, left, known, place)
                yield from _term(machine, right, known, place)
            case Happens(event, tests):
                yield from _name("event", event, part)
                for test in tests:
                    if isinstance(test.value, AttributeOf):
                        yield Problem(f"{test.value} can be compared with only in hindsight", test)


def _counter(machine: Machine, counter: Counter) -> Iterator[Problem]:
    nodes = [node.name for node in machine.nodes]
    rules = [rule.name for node in machine.nodes for rule in node.rules if rule.name]
    if isinstance(counter.counts, RuleOf) and counter.counts.name not in rules:
        name = counter.counts.name
        yield Problem(
            f"#{counter.name} counts rule {name}, but no rule has that name{near(name, rules)}", counter.counts
        )
    for happens in (counter.counts, *counter.resets):
        if isinstance(happens, Happens):
            yield from _guard(machine, happens, {}, f"#{counter.name}")
    for name in counter.at:
        if name not in nodes:
            yield Problem(f"#{counter.name} counts at {name}, which is not a node{near(name, nodes)}", counter, name)


def _node(machine: Machine, node: Node, known: dict[str, Form]) -> Iterator[Problem]:
    nodes = [n.name for n in machine.nodes]
    tier = 0
    for rule in node.rules:
        if rule.tier not in (tier, tier + 1) or (rule.tier and rule is node.rules[0]):
            yield Problem("`otherwise` must follow a rule it can yield to", rule)
        tier = rule.tier
        place = f"node {node.name}"
        yield from _guard(machine, rule.guard, known, place)
        yield from _term(machine, rule.pay, known, place)
        if rule.target is not None and rule.target not in nodes:
            yield Problem(
                f"the rule leads to {rule.target}, which is not a node{near(rule.target, nodes)}", rule, rule.target
            )
        if rule.hindsight:
            yield from _hindsight(machine, rule, known, place)


def _hindsight(machine: Machine, rule: Rule, known: dict[str, Form], place: str) -> Iterator[Problem]:
    assert rule.hindsight is not None
    if not rule.hindsight.changes:
        yield Problem("hindsight that changes nothing; write what is paid anew below it", rule)
    if rule.hindsight.since is not None:
        yield from _name("event", rule.hindsight.since, rule)
    present = events_of(rule.guard)
    for change in rule.hindsight.changes:
        yield from _term(machine, change.pay, known, place)
        match change:
            case RepayEvery(events):
                for event in events:
                    yield from _name("event", event, change)
            case RepayLast(milestone):
                yield from _name("event", milestone.event, change)
                for test in milestone.tests:
                    if isinstance(test.value, AttributeOf) and test.value.event not in present:
                        yield Problem(
                            f"{test.value}: the rule's guard does not speak of {test.value.event}"
                            f"{near(test.value.event, present)}",
                            test,
                        )


def _atom(machine: Machine, atom: Atom, known: dict[str, Form]) -> Iterator[Problem]:
    if atom.relation not in ("<=", ">=", "="):
        yield Problem(
            f"a constraint compares with <=, >= or =, not {atom.relation}: a bound that may be approached but not reached "
            "cannot be optimised over",
            atom,
        )
    if isinstance(atom.left, EveryHole):
        for name in atom.left.excluded:
            if name not in machine.hole_names:
                yield Problem(f"unknown hole ?{name}{near(name, machine.hole_names)}", atom, name)
        terms: tuple[Term, ...] = (atom.right,)
    else:
        terms = (*atom.left, atom.right)
    for term in terms:
        yield from _term(machine, term, known, "the constraint")
        for part in parts(term):
            if isinstance(part, CounterTerm | SignalTerm | NamedTerm):
                yield Problem(f"a constraint is about holes and numbers only, not {part}", part)
    if atom.label is not None and ('"' in atom.label or not atom.label.isprintable()):
        yield Problem("a label must be one line of printable characters without quotation marks", atom)


def find_foreign_words(machine: Machine, words: Words) -> Iterator[Problem]:
    """The words of the machine that the vocabulary does not have."""
    for counter in machine.counters:
        for happens in (counter.counts, *counter.resets):
            if isinstance(happens, Happens):
                yield from _happens(happens, words)
    for _, term in machine.terms:
        yield from _foreign(term, words)
    for node in machine.nodes:
        for rule in node.rules:
            yield from _foreign(rule.guard, words)
            yield from _foreign(rule.pay, words)
            yield from _foreign_hindsight(rule, words)


def _foreign(root: Term | Guard, words: Words) -> Iterator[Problem]:
    for part in parts(root):
        match part:
            case Happens():
                yield from _happens(part, words)
            case SignalTerm(name) if name not in words.signal_index:
                hint = "; it is an event, and a term needs a number" if name in words.event_index else ""
                hint = hint or near(name, words.signal_index)
                yield Problem(f"vocabulary {words.name} has no signal {name}{hint}", part)


def _foreign_hindsight(rule: Rule, words: Words) -> Iterator[Problem]:
    if rule.hindsight is None:
        return
    if rule.hindsight.since is not None:
        yield from _event(rule.hindsight.since, words, rule)
    for change in rule.hindsight.changes:
        yield from _foreign(change.pay, words)
        match change:
            case RepayEvery(events):
                for event in events:
                    yield from _event(event, words, change)
            case RepayLast(milestone):
                yield from _happens(milestone, words)


def _event(name: str, words: Words, about: object) -> Iterator[Problem]:
    if name not in words.event_index:
        hint = "; it is a signal, and a guard needs an event or a comparison" if name in words.signal_index else ""
        hint = hint or near(name, words.event_index)
        yield Problem(f"vocabulary {words.name} has no event {name}{hint}", about, name)


def _happens(happens: Happens, words: Words) -> Iterator[Problem]:
    yield from _event(happens.event, words, happens)
    if happens.event in words.event_index:
        for test in happens.tests:
            yield from _test(happens.event, test, words)


def _test(event: str, test: Test, words: Words) -> Iterator[Problem]:
    has = words.events[words.event_index[event]].attributes
    if test.attribute not in has:
        listed = f"it has {', '.join(has)}" if has else "it has none"
        yield Problem(f"{event} has no attribute {test.attribute}; {listed}{near(test.attribute, has)}", test)
        return
    attribute = words.attributes[words.attribute_index[test.attribute]]
    match test.value:
        case str(value) if value != "none" and value not in (attribute.values or ()):
            known = attribute.values or ()
            remedy = near(value, known) or ("; write a cell as (x, y)" if attribute.is_cell else "")
            yield Problem(f"{test.attribute} is never {value}{remedy}", test)
        case Cell() if not attribute.is_cell:
            yield Problem(f"{test.attribute} is not a cell", test)
        case AttributeOf(other, of):
            if other not in words.event_index or of not in words.events[words.event_index[other]].attributes:
                yield Problem(f"{other} has no attribute {of}", test)
            elif words.attributes[words.attribute_index[of]].is_cell != attribute.is_cell:
                yield Problem(
                    f"{test.attribute} cannot be compared with {test.value}: one is a cell, the other is not", test
                )
    if test.relation == "next to" and not attribute.is_cell:
        yield Problem(f"only cells can be next to one another, and {test.attribute} is not a cell", test)
