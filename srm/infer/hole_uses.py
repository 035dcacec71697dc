"""What a machine reads each of its holes for: to decide a guard, to pay, or not at all."""

from __future__ import annotations

from srm.evaluate.explain import holes_compared
from srm.machine.model import Machine, Rule
from srm.machine.terms import events_of


def read_holes(machine: Machine) -> frozenset[str]:
    """Holes that a guard, a pay or hindsight reads."""
    return paid_holes(machine) | guard_holes(machine)


def guard_holes(machine: Machine) -> frozenset[str]:
    """Holes that a comparison in a guard reads."""
    return frozenset(name for _, rule, _ in machine.rules for name in holes_compared(machine, rule.guard))


def pays_terms(machine: Machine) -> bool:
    """Whether it is a reward of weighted terms: at every node that pays, a rule that waits for no event pays a hole times a signal. What
    such a machine compares in its guards must not be holes."""
    paying = [node for node in machine.nodes if node.rules]
    dense = all(any(_pays_a_term(machine, rule) for rule in node.rules) for node in paying)
    return bool(paying) and dense and not guard_holes(machine)


def _pays_a_term(machine: Machine, rule: Rule) -> bool:
    weighted = any(monomial.hole is not None and monomial.signals for monomial in machine.form(rule.pay))
    return weighted and not events_of(rule.guard)


def paid_holes(machine: Machine) -> frozenset[str]:
    """Holes that are paid, also in hindsight."""
    pays = [rule.pay for _, rule, _ in machine.rules]
    pays += [change.pay for _, rule, _ in machine.rules if rule.hindsight for change in rule.hindsight.changes]
    return frozenset(m.hole for pay in pays for m in machine.form(pay) if m.hole is not None)
