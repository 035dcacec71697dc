"""What a step can be paid at most and at least, for whatever is read: what N steps can come to follows from it.

Signals have ranges and a counter is at most N - 1, so what a step pays lies between the ends of an interval for each reading (a product of counters and signals), and its extremes, as
sums of holes, are at the corners of these intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

from srm.machine.affine import Form, Monomial, add, scale
from srm.machine.checks.core.conditions import sign
from srm.machine.checks.core.ranges import Interval, by_reading, reading_range
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.model import Rule

MOST_CORNERS = 64


@dataclass(frozen=True)
class StepBounds:
    """What one step may be paid: factors that are sums of holes, by reading, and the interval of each reading."""

    parts: Mapping[Monomial, Form]
    ranges: Mapping[Monomial, Interval]

    @staticmethod
    def of(subject: Subject, rule: Rule, steps: int, cancelling: frozenset[str] = frozenset()) -> StepBounds:
        """`cancelling`: changes of signals that, over all the steps, add up to no more than the signal's range is wide."""
        parts, counted = by_reading(subject.form(rule.pay)), Fraction(max(0, steps - 1))
        ranges = {reading: reading_range(reading, subject.vocabulary, counted) for reading in parts}
        for name in cancelling:
            low, high = ranges.get(Monomial(None, (), (name,)), (None, None))
            if low is not None and high is not None:
                ranges[Monomial(None, (), (name,))] = low / steps, high / steps
        return StepBounds(parts, ranges)

    def extremes(self, prover: Prover, largest: bool) -> list[Form] | tuple[str, ...]:
        """The largest (or least) that a step can pay is that of one of these forms, sums of holes and numbers, whatever the holes are.
        If there is none, the signals whose range is open."""
        ends: list[tuple[Fraction, ...]] = []
        missing: list[str] = []
        for reading, part in self.parts.items():
            needed = [
                self.ranges[reading][1 if above == largest else 0]
                for above, relation in ((True, ">"), (False, "<"))
                if prover.can(sign(part, relation)) is not False
            ]
            missing += reading.signals if None in needed else ()
            ends.append(tuple(dict.fromkeys(end for end in needed if end is not None)) or (Fraction(0),))
        if missing:
            return tuple(dict.fromkeys(missing))
        corners: dict[object, Form] = {}
        for chosen in islice(product(*ends), MOST_CORNERS + 1):
            form = add(*(scale(part, end) for part, end in zip(self.parts.values(), chosen, strict=True)))
            corners.setdefault(frozenset(form.items()), form)
        return list(corners.values()) if len(corners) <= MOST_CORNERS else ("too many signals",)
