"""Where the guards of a machine cut the readings of a signal: `speed < ?safe` cuts speed at the value of ?safe."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from srm.machine.affine import add, exact, scale
from srm.machine.model import Machine
from srm.machine.terms import Compare, parts


def thresholds(machine: Machine, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """For each signal the comparisons that cut it, as {text: number}, in the order of the rules.

    A comparison in which a counter, a second signal or a product of signals stands has no one number, and is left out.
    """
    cuts: dict[str, dict[str, float]] = defaultdict(dict)
    for _, rule, _ in machine.rules:
        for part in parts(rule.guard):
            if not isinstance(part, Compare):
                continue
            form = add(machine.form(part.left), scale(machine.form(part.right), Fraction(-1)))
            slopes: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
            counted = False
            for monomial, coefficient in form.items():
                hole = exact(values[monomial.hole]) if monomial.hole else 1
                slopes[monomial.signals] += coefficient * hole
                counted |= bool(monomial.counters)
            level = slopes.pop((), Fraction(0))
            if counted or len(slopes) != 1:
                continue
            ((signals, slope),) = slopes.items()
            if len(signals) == 1 and slope:
                cuts[signals[0]][str(part)] = float(-level / slope)
    return dict(cuts)
