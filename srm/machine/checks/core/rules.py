"""Questions about rules and nodes: no two rules hold together, each can fire, each node is reached, each hole matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice

from srm.machine.checks.core.conditions import (
    Condition,
    Sign,
    arithmetic_of,
    counter_form,
    counters_of,
    every,
    leaves,
    sign,
)
from srm.machine.checks.core.facts import Facts, counter_facts, reachable
from srm.machine.checks.core.report import Finding, Witness, assignment_text, fraction_text
from srm.machine.checks.core.solve import Answer, Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.dense import is_running
from srm.machine.model import Rule

MOST_CLASHES = 20  # that are listed; of n rules that overlap there are n^2 / 2, each with an example to be found
MOST_PAIRS = 3_000  # of rules of a tier that are looked at, which takes a few seconds; shipped machines have 66 at most
MOST_REPETITIONS = 64  # a rule that can fire after so many counts is not said to stop


@dataclass(frozen=True)
class Living:
    """What is known of a machine's rules and nodes once they were asked about, for later questions."""

    facts: Facts
    dead: frozenset[str]  # labels of rules that never fire
    reached: frozenset[str]  # nodes

    def zeros(self, node: str) -> tuple[str, ...]:
        """The counters that are always 0 at the node."""
        known = {name: sign(counter_form(name), "=") for name in counters_of(*self.facts[node])}
        return tuple(name for name, is_zero in known.items() if is_zero in self.facts[node])


def rule_text(rule: Rule) -> str:
    """A rule as a reader finds it in the file: by its name, or as it is written."""
    return f"rule {rule.name}" if rule.name else f"rule `{rule}`"


def witness_of(answer: Answer, node: str | None = None) -> Witness:
    return Witness(
        node=node,
        events=tuple(map(str, answer.events)),
        counters=answer.counters,
        signals={name: fraction_text(value) for name, value in answer.signals.items()},
        assignment=assignment_text(answer.holes),
    )


# Determinism


def check_determinism(subject: Subject, prover: Prover, facts: Facts) -> Iterator[Finding]:
    clashes = []
    for clash in _clashes(subject, prover, facts):
        clashes.append(clash)
        yield clash
        if sum(clash.severity == "error" for clash in clashes) == MOST_CLASHES:
            message = f"{MOST_CLASHES} pairs of rules that can hold at one step are enough: no others were looked for"
            yield Finding("warning", "determinism", "", message)
            return
    if not clashes:
        yield Finding("note", "determinism", "", "no two rules of a node can hold at one step")


def _clashes(subject: Subject, prover: Prover, facts: Facts) -> Iterator[Finding]:
    pairs = (
        (node.name, *first, *second)
        for node in subject.machine.nodes
        for first, second in combinations(subject.rules_of(node.name), 2)
        if first[0].tier == second[0].tier
    )
    for node, first, first_label, second, second_label in islice(pairs, MOST_PAIRS):
        both = every((subject.fires[first_label], subject.fires[second_label]))
        answer = prover.example(both, facts[node])
        if answer.possible is not False:
            yield _clash(node, first, second, answer)
    if next(pairs, None) is not None:
        message = f"not decided: whether two rules can hold at one step, beyond the first {MOST_PAIRS:,} pairs of them"
        yield Finding("warning", "determinism", "", message)


def _clash(node: str, first: Rule, second: Rule, answer: Answer) -> Finding:
    pair = f"{rule_text(first)} and {rule_text(second)}"
    if answer.possible is None:
        return Finding("warning", "determinism", f"node {node}", f"not decided: whether {pair} can hold at one step")
    remedy = "make their guards exclude each other, or write `otherwise` between them"
    return Finding(
        "error", "determinism", f"node {node}", f"{pair} can hold at one step; {remedy}", witness_of(answer, node)
    )


# Rules that cannot fire


def find_living(subject: Subject, prover: Prover) -> tuple[Living, tuple[Finding, ...]]:
    """Which rules can fire and which nodes are reached, and what there is to say about the others."""
    facts = counter_facts(subject, prover)
    can = {label: prover.can(subject.fires[label], facts[node.name]) for node, _, label in subject.machine.rules}
    dead = frozenset(label for label, fires in can.items() if fires is False)
    living = Living(facts, dead, frozenset(reachable(subject, {subject.machine.start}, dead)))
    findings: list[Finding] = []
    for node, rule, label in subject.machine.rules:
        if can[label] is False:
            message = f"{rule_text(rule)} can never fire{_because(subject, label)}"
            findings.append(Finding("warning", "rules", f"node {node.name}", message))
        elif can[label] is None:
            message = f"not decided: whether {rule_text(rule)} can ever fire"
            findings.append(Finding("warning", "rules", f"node {node.name}", message))
    if not findings:
        findings.append(Finding("note", "rules", "", "every rule can fire"))
    findings += _exhausted(subject, prover, living)
    return living, (*findings, *_nodes(subject, living))


def _because(subject: Subject, label: str) -> str:
    """Whether the constraint or else the spaces keep a rule from firing that otherwise could."""
    if not subject.allowed:
        return ""
    unspaced = replace(subject.machine, holes=tuple(replace(hole, space=None) for hole in subject.machine.holes))
    spaced, free = Subject(subject.machine, subject.vocabulary), Subject(unspaced, subject.vocabulary)
    if subject.constraint is not None and Prover(spaced).can(spaced.fires[label]):
        return f" under constraint {subject.constraint.name}"
    return " within the spaces of its holes" if subject.spaces and Prover(free).can(free.fires[label]) else ""


def _exhausted(subject: Subject, prover: Prover, living: Living) -> Iterator[Finding]:
    """Rules that stop for good when a counter has grown; those with the same comparisons are reported together."""
    together: dict[tuple[str, Condition], list[str]] = {}
    for node, rule, label in subject.machine.rules:
        if label not in living.dead and node.name in living.reached and counters_of(subject.fires[label]):
            together.setdefault((node.name, arithmetic_of(subject.fires[label])), []).append(rule_text(rule))
    for (node_name, comparisons), rules in together.items():
        facts = living.facts[node_name]
        stops = {counter: _stop(prover, comparisons, facts, counter) for counter in counters_of(comparisons)}
        limits = " or ".join(f"#{counter} >= {stop}" for counter, stop in stops.items() if stop is not None)
        if limits:
            message = f"{', '.join(rules)} can never fire once {limits}"
            yield Finding("note", "rules", f"node {node_name}", message)


def _stop(prover: Prover, fires: Condition, facts: tuple[Condition, ...], counter: str) -> int | None:
    """The smallest n for which the rule can never fire once #counter >= n; None if there is none up to a limit."""
    if prover.can(fires, facts, {counter: MOST_REPETITIONS}) is not False:
        return None
    possible, impossible = 0, 1
    while impossible < MOST_REPETITIONS and prover.can(fires, facts, {counter: impossible}) is not False:
        possible, impossible = impossible, 2 * impossible
    while impossible - possible > 1:
        middle = (possible + impossible) // 2
        stops = prover.can(fires, facts, {counter: middle}) is False
        possible, impossible = (possible, middle) if stops else (middle, impossible)
    return impossible if prover.can(fires, facts, {counter: possible}) else None


# Nodes and holes


def _nodes(subject: Subject, living: Living) -> Iterator[Finding]:
    unreached = [node for node in subject.machine.nodes if node.name not in living.reached]
    for node in unreached:
        yield Finding("warning", "nodes", f"node {node.name}", "no rules lead here from the start")
    accepting = [node.name for node in subject.machine.nodes if node.accepting]
    if not accepting and is_running(subject.machine):
        yield Finding("note", "nodes", "", "no node is accepting: every step may be paid, as long as an episode lasts")
    elif not accepting:
        yield Finding("warning", "nodes", "", "no node is accepting; write `accept NAME` for where the task is done")
    elif not living.reached & set(accepting):
        yield Finding("error", "nodes", "", f"no accepting node can be reached ({', '.join(accepting)})")
    elif not unreached:
        yield Finding("note", "nodes", "", "every node is reached, and so is an accepting one")


def check_holes(subject: Subject, living: Living) -> Iterator[Finding]:
    opened = Subject(subject.machine.opened())  # a value does not make a hole unused
    used: set[str] = set()
    exercised: set[str] = set()
    for node, rule, label in subject.machine.rules:
        holes = _holes(opened, rule)
        used |= holes
        if label not in living.dead and node.name in living.reached:
            exercised |= holes
    for name in subject.machine.hole_names:
        if name not in used:
            yield Finding("warning", "holes", f"?{name}", "no rule uses this hole")
        elif name not in exercised:
            yield Finding("warning", "holes", f"?{name}", "only rules that can never fire use this hole")
    if exercised >= set(subject.machine.hole_names) and subject.machine.holes:
        yield Finding("note", "holes", "", "every hole is used by a rule that can fire")


def _holes(opened: Subject, rule: Rule) -> set[str]:
    """The holes of a rule that are still there when its terms are multiplied out."""
    forms = [opened.form(term) for term in (rule.pay, *(change.pay for change in rule.changes))]
    forms += [leaf.form for leaf in leaves(opened.condition(rule.guard)) if isinstance(leaf, Sign)]
    return {monomial.hole for form in forms for monomial in form if monomial.hole is not None}
