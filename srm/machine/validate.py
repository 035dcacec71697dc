"""What makes a machine invalid, each problem with the part it is about.

Only what the machine itself can answer is asked here; `srm.machine.fit` asks whether a vocabulary has its words. A reader
turns the parts into places in the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from srm.errors import near
from srm.machine.affine import Form, NotAffine, WorkBudget, expand
from srm.machine.holes import Atom, EveryHole, Hole, Space
from srm.machine.model import Counter, Machine, Node, Problem, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import (
    DEEPEST_NESTING,
    RELATIONS,
    And,
    AttributeOf,
    Cell,
    Compare,
    CounterTerm,
    Guard,
    Happens,
    HoleTerm,
    NamedTerm,
    Number,
    Or,
    Product,
    SignalTerm,
    Sum,
    Term,
    Test,
    events_of,
    is_too_deep,
    number_text,
    parts,
)
from srm.machine.vocabulary import INFO, LARGEST_COORDINATE

RESERVED = frozenset(
    "machine words holes counters counts rule at resets on let start node accept constraint every hole except "
    "always otherwise and or not where next to none hindsight since last in".split()
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9_./-]{1,100}\Z")
LONGEST_NAME = 100


@dataclass(frozen=True)
class _Known:
    """The names of a machine. Dictionaries without values: looked up as fast as sets, and in the order of the text."""

    holes: dict[str, None]
    counters: dict[str, None]
    nodes: dict[str, None]
    rules: dict[str, None]
    forms: dict[str, Form] = field(default_factory=dict)  # of the terms named by `let`, as far as they have been read
    budget: WorkBudget = field(default_factory=WorkBudget)


def find_problems(machine: Machine) -> Iterator[Problem]:
    known = _Known(
        holes=dict.fromkeys(hole.name for hole in machine.holes),
        counters=dict.fromkeys(counter.name for counter in machine.counters),
        nodes=dict.fromkeys(node.name for node in machine.nodes),
        rules=dict.fromkeys(rule.name for node in machine.nodes for rule in node.rules if rule.name is not None),
    )
    yield from _names(machine)
    yield from _info(machine)
    yield from _holes(machine)
    yield from _named_terms(machine, known)
    for counter in machine.counters:
        yield from _counter(counter, known)
    if machine.start not in known.nodes:
        yield Problem("there is no start node; write `start NAME` where the machine begins", machine)
    for node in machine.nodes:
        yield from _node(node, known)
    for constraint in machine.constraints:
        for atom in constraint.atoms:
            yield from _atom(atom, known)


def _names(machine: Machine) -> Iterator[Problem]:
    if machine.words is not None:
        yield from _name("vocabulary", machine.words, machine)
    yield from _name("machine", machine.name, machine)
    rules = [rule for node in machine.nodes for rule in node.rules if rule.name is not None]
    kinds: list[tuple[str, Iterable[object]]] = [
        ("hole", machine.holes),
        ("counter", machine.counters),
        ("node", machine.nodes),
        ("rule", rules),
        ("constraint", machine.constraints),
        ("term", machine.terms),
        ("signal", [word.signal for word in machine.info.words] if machine.info else []),
    ]
    for kind, things in kinds:
        seen: Tally[str] = Tally()
        for thing in things:
            name: str = thing[0] if isinstance(thing, tuple) else thing.name  # type: ignore[attr-defined]
            yield from _name(kind, name, thing)
            seen[name] += 1
            if seen[name] == 2:
                again = isinstance(thing, Node) and thing.accepting and not thing.rules
                remedy = f"; a node that is also accepting is begun by `start accept {name}`, or by `accept {name}`"
                yield Problem(f"there are two {kind}s named {name}; rename one{remedy if again else ''}", thing, name)


def _name(kind: str, name: str, about: object) -> Iterator[Problem]:
    a_kind = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    if name in RESERVED:
        yield Problem(f"{name} is a word of the language and cannot name {a_kind}", about, name)
    elif len(name) > LONGEST_NAME:
        yield Problem(f"the name of {a_kind} with {len(name)} characters; at most {LONGEST_NAME} are allowed", about)
    elif not _NAME.match(name):
        yield Problem(f"{name!r} cannot name {a_kind}; use letters, digits and _", about)


def _info(machine: Machine) -> Iterator[Problem]:
    """Words that the machine brings along. An id with a `:` would have Gymnasium import a module, which no file may."""
    info = machine.info
    if info is None:
        if machine.words == INFO:
            yield Problem(f'`words {INFO}` needs its environment: words {INFO} "Hopper-v5"', machine, INFO)
        return
    if machine.words != INFO:
        yield Problem(f"a machine that reads info has words={INFO!r}, not {machine.words!r}", machine)
    if not _ENVIRONMENT.match(info.env_id):
        yield Problem(
            f"{info.env_id!r} is no id of an environment, such as Hopper-v5; a file imports no module", machine, INFO
        )
    named = {name for name, _ in machine.terms}
    for word in info.words:
        if word.signal.name in named:
            yield Problem(f"{word.signal.name} is a signal and a term named by `let`; rename one", word)
        if not 0 < len(word.key) <= LONGEST_NAME or not word.key.isprintable() or '"' in word.key:
            yield Problem(f"{word.key!r} cannot be a key of info here", word)
        if word.missing is not None and not math.isfinite(word.missing):
            yield Problem(f"what stands for {word.signal.name} where it is missing is not a finite number", word)


def _holes(machine: Machine) -> Iterator[Problem]:
    for hole in machine.holes:
        if hole.value is not None and not math.isfinite(hole.value):
            yield Problem(f"the value of ?{hole.name} is not a finite number", hole)
        if hole.spread is not None and hole.value is None:
            yield Problem(f"?{hole.name} has a spread but no value", hole)
        if hole.spread is not None and not (math.isfinite(hole.spread) and hole.spread >= 0):
            yield Problem(f"the spread of ?{hole.name} must be a finite number of at least 0", hole)
        yield from _space(hole)


def _space(hole: Hole) -> Iterator[Problem]:
    space, value = hole.space, hole.value
    if space is None:
        return
    if not (math.isfinite(space.low) and math.isfinite(space.high)):
        yield Problem(f"the space of ?{hole.name} must end at finite numbers; leave out a space that has no end", hole)
    elif space.low > space.high:
        yield Problem(f"the space of ?{hole.name} is empty; write {Space(space.high, space.low, space.whole)}", hole)
    elif space.low == space.high:
        only = number_text(space.low)
        yield Problem(f"the space of ?{hole.name} is the one number {only}; write the number instead of the hole", hole)
    elif space.whole and not (float(space.low).is_integer() and float(space.high).is_integer()):
        yield Problem(f"the space of ?{hole.name} is of whole numbers, so it must begin and end at one", hole)
    elif value is not None and math.isfinite(value) and value not in space:
        remedy = "take a value inside it, or widen the space"
        yield Problem(f"?{hole.name} = {number_text(value)} is outside its space {space}; {remedy}", hole)


def _named_terms(machine: Machine, known: _Known) -> Iterator[Problem]:
    """Fills `known.forms` on the way."""
    for name, term in machine.terms:
        problems = list(_term(term, known, f"let {name}"))
        yield from problems
        known.forms[name] = {} if problems else expand(term, known.forms)


def _unknown(kind: str, mark: str, name: str, known: Iterable[str]) -> str:
    return f"unknown {kind} {mark}{name}{near(mark + name, (mark + other for other in known))}"


def _term(term: Term, known: _Known, place: str) -> Iterator[Problem]:
    if is_too_deep(term):
        yield Problem(f"nested deeper than {DEEPEST_NESTING}; name a part of it with `let`", term)
        return
    can_expand = True
    for part in parts(term):
        match part:
            case HoleTerm(name) if name not in known.holes:
                yield Problem(_unknown("hole", "?", name, known.holes), part)
            case CounterTerm(name) if name not in known.counters:
                yield Problem(_unknown("counter", "#", name, known.counters), part)
            case NamedTerm(name) if name not in known.forms:
                can_expand = False
                yield Problem(f"{name} is not a term named by a `let` before {place}", part)
            case SignalTerm(name):
                yield from _name("signal", name, part)
            case Number(value) if not math.isfinite(value):
                can_expand = False
                yield Problem("a number too large to be held", part)
            case Sum(inner) | Product(inner) if len(inner) < 2:
                yield Problem("a sum or a product of fewer than two parts", part)
    if can_expand:
        try:
            expand(term, known.forms, known.budget)
        except NotAffine as wrong:
            yield Problem(str(wrong), wrong.at)


def _guard(guard: Guard, known: _Known, place: str) -> Iterator[Problem]:
    if is_too_deep(guard):
        yield Problem(f"nested deeper than {DEEPEST_NESTING}", guard)
        return
    for part in parts(guard):
        match part:
            case Compare(left, relation, right):
                if relation not in RELATIONS:
                    yield Problem(f"terms are compared with {', '.join(RELATIONS)}, not {relation}", part)
                yield from _term(left, known, place)
                yield from _term(right, known, place)
            case And(inside) | Or(inside) if len(inside) < 2:
                yield Problem("`and` and `or` join at least two guards", part)
            case Happens():
                yield from _happens(part)


def _happens(happens: Happens, compared: tuple[str, ...] | None = None) -> Iterator[Problem]:
    """`compared` are the events of the rule that looks back; None where there is none."""
    yield from _name("event", happens.event, happens)
    for test in happens.tests:
        yield from _name("attribute", test.attribute, test)
        yield from _test(test, compared)


def _test(test: Test, compared: tuple[str, ...] | None) -> Iterator[Problem]:
    if test.relation not in ("=", "!=", "next to"):
        yield Problem(f"attributes are tested with =, != or `next to`, not {test.relation}", test)
    match test.value:
        case AttributeOf() if compared is None:
            yield Problem(f"{test.value} can be compared with only in hindsight", test)
        case AttributeOf(event) if event not in compared:  # type: ignore[operator]
            message = f"{test.value}: the rule's guard does not speak of {event}{near(event, compared or ())}"
            yield Problem(message, test)
        case Cell(x, y) if not (0 <= x <= LARGEST_COORDINATE and 0 <= y <= LARGEST_COORDINATE):
            yield Problem(f"the numbers of a cell go from 0 to {LARGEST_COORDINATE}", test)
        case str(value):
            if test.relation == "next to":
                yield Problem(f"nothing is next to {value}; write a cell as (x, y)", test)
            elif value != "none":
                yield from _name("value", value, test)


def _counter(counter: Counter, known: _Known) -> Iterator[Problem]:
    if isinstance(counter.counts, RuleOf) and counter.counts.name not in known.rules:
        name = counter.counts.name
        hint = near(name, known.rules)
        yield Problem(f"#{counter.name} counts rule {name}, but no rule has that name{hint}", counter.counts)
    for happens in counter.happens:
        yield from _happens(happens)
    for name in counter.at:
        if name not in known.nodes:
            hint = near(name, known.nodes)
            yield Problem(f"#{counter.name} counts at {name}, which is not a node{hint}", counter, name)


def _node(node: Node, known: _Known) -> Iterator[Problem]:
    tier = 0
    for index, rule in enumerate(node.rules):
        if rule.tier not in (tier, tier + 1) or (rule.tier and index == 0):
            yield Problem("`otherwise` must follow a rule it can yield to", rule)
        tier = rule.tier
        place = f"node {node.name}"
        yield from _guard(rule.guard, known, place)
        yield from _term(rule.pay, known, place)
        if rule.target is not None and rule.target not in known.nodes:
            hint = near(rule.target, known.nodes)
            yield Problem(f"the rule leads to {rule.target}, which is not a node{hint}", rule, rule.target)
        if rule.hindsight:
            yield from _hindsight(rule, known, place)


def _hindsight(rule: Rule, known: _Known, place: str) -> Iterator[Problem]:
    hindsight = rule.hindsight
    assert hindsight is not None
    if not hindsight.changes:
        yield Problem("hindsight that changes nothing; write what is paid anew below it", hindsight)
    if hindsight.since is not None:
        yield from _name("event", hindsight.since, hindsight)
    for change in hindsight.changes:
        yield from _term(change.pay, known, place)
        match change:
            case RepayEvery(events):
                if not events:
                    yield Problem("`every` of no event", change)
                for event in events:
                    yield from _name("event", event, change)
            case RepayLast(milestone):
                yield from _happens(milestone, events_of(rule.guard))


def _atom(atom: Atom, known: _Known) -> Iterator[Problem]:
    if atom.relation not in ("<=", ">=", "="):
        open_ended = ": a bound that may be approached but not reached cannot be optimised over"
        reason = open_ended if atom.relation in ("<", ">") else ""
        yield Problem(f"a constraint compares with <=, >= or =, not {atom.relation}{reason}", atom, atom.relation)
    if isinstance(atom.left, EveryHole):
        for name in atom.left.excluded:
            if name not in known.holes:
                yield Problem(_unknown("hole", "?", name, known.holes), atom, f"?{name}")
        terms: tuple[Term, ...] = (atom.right,)
    else:
        terms = (*atom.left, atom.right)
        if not atom.left:
            yield Problem("an atom that speaks of nothing", atom)
    for term in terms:
        yield from _term(term, known, "the constraint")
        for part in parts(term):
            if isinstance(part, CounterTerm | SignalTerm | NamedTerm):
                hint = f"; did you mean ?{part.name}?" if part.name in known.holes else ""
                yield Problem(f"a constraint is about holes and numbers only, not {part}{hint}", part)
    if atom.label is not None and ('"' in atom.label or not atom.label.isprintable()):
        yield Problem("a label must be one line of printable characters without quotation marks", atom)
