"""Where that lies which a pay multiplies its holes by: signals have declared ranges, counters are at least 0.

A *reading* is a product of counters and signals: a monomial without a hole. A form is a sum over readings of a form of holes alone times the reading.
"""

from __future__ import annotations

from fractions import Fraction

from srm.machine.affine import Form, Monomial, add, exact
from srm.machine.vocabulary import Vocabulary

Interval = tuple[Fraction | None, Fraction | None]  # None: no bound is known


def by_reading(form: Form) -> dict[Monomial, Form]:
    """The form's parts by the counters and signals they are multiplied with; the parts are forms of holes alone."""
    parts: dict[Monomial, Form] = {}
    for monomial, coefficient in form.items():
        reading = Monomial(None, monomial.counters, monomial.signals)
        parts[reading] = add(parts.get(reading, {}), {Monomial(monomial.hole): coefficient})
    return parts


def signal_range(name: str, vocabulary: Vocabulary | None) -> Interval:
    """Where a signal lies, by its name or by that of one of its readings (`speed at step 2`)."""
    signal = name.split(" ", 1)[0]
    if vocabulary is None or signal not in vocabulary.signal_index:
        return None, None
    declared = vocabulary.signals[vocabulary.signal_index[signal]]
    low, high = (None if bound is None else exact(float(bound)) for bound in (declared.low, declared.high))
    return low, high


def reading_range(reading: Monomial, vocabulary: Vocabulary | None, most_counted: Fraction | None = None) -> Interval:
    """Where a product of counters, each up to `most_counted`, and signals lies; None also where an end is not worked out."""
    counted: list[Interval] = [(Fraction(0), most_counted) for _ in reading.counters]
    ranges = counted + [signal_range(name, vocabulary) for name in reading.signals]
    if len(ranges) == 1:
        return ranges[0]
    squares = not counted and all(reading.signals.count(name) % 2 == 0 for name in reading.signals)
    low, high = Fraction(1), Fraction(1)
    for bottom, top in ranges:
        if bottom is None or top is None:
            positive = squares or all(bottom is not None and bottom >= 0 for bottom, _ in ranges)
            return (Fraction(0) if positive else None), None
        ends = [one * other for one in (low, high) for other in (bottom, top)]
        low, high = min(ends), max(ends)
    return (max(low, Fraction(0)) if squares else low), high
