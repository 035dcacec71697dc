"""What a machine reads each of its holes for: to decide a guard, to pay, or not at all."""

from __future__ import annotations

from srm.evaluate.explain import holes_compared
from srm.machine.model import Machine


def read_holes(machine: Machine) -> frozenset[str]:
    """Holes that a guard, a pay or hindsight reads."""
    return paid_holes(machine) | guard_holes(machine)


def guard_holes(machine: Machine) -> frozenset[str]:
    """Holes that a comparison in a guard reads."""
    return frozenset(name for _, rule, _ in machine.rules for name in holes_compared(machine, rule.guard))


def paid_holes(machine: Machine) -> frozenset[str]:
    """Holes that are paid, also in hindsight."""
    pays = [rule.pay for _, rule, _ in machine.rules]
    pays += [change.pay for _, rule, _ in machine.rules if rule.hindsight for change in rule.hindsight.changes]
    return frozenset(m.hole for pay in pays for m in machine.form(pay) if m.hole is not None)
