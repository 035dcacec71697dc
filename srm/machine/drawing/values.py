"""What a pay comes to, once holes have values: numbers as a reader wants them, with their spread where it is known."""

from __future__ import annotations

from collections.abc import Iterator

from srm.machine.drawing.pieces import Line, Piece
from srm.machine.holes import Hole
from srm.machine.model import Machine
from srm.machine.terms import Term


def short(number: float) -> str:
    """Three digits are enough for a picture: 0.31, −0.5, 1."""
    text = f"{number:.3g}"
    return "0" if text == "-0" else text.replace("-", "−")


def spread_text(spread: float) -> str:
    return f"± {spread:.2g}"


def sign_kind(number: float) -> str:
    """The kind of piece, and so the colour, in which a value is shown."""
    rounded = float(f"{number:.3g}")
    return "gain" if rounded > 0 else "loss" if rounded < 0 else "number"


def hole_value(hole: Hole) -> Line:
    """`0.31 ± 0.04`, or nothing for a hole that is open."""
    if hole.value is None:
        return ()
    value = Piece(sign_kind(hole.value), short(hole.value))
    return (
        (value, Piece("space", " "), Piece("spread", spread_text(hole.spread))) if hole.spread is not None else (value,)
    )


def value_of(machine: Machine, term: Term) -> Line:
    """What the term comes to with the machine's values: a number, or a sum over counters and signals.

    Nothing where a value is missing, or where the term has no hole and so says it all itself. A spread is given for a hole
    alone: of a sum it depends on how the holes vary together, which the machine does not say.
    """
    form = machine.form(term)
    used = {monomial.hole for monomial in form if monomial.hole is not None}
    holes = {hole.name: hole for hole in machine.holes if hole.name in used}
    if not used or any(hole.value is None for hole in holes.values()):
        return ()
    if len(form) == 1 and len(used) == 1 and next(iter(form)).signals == next(iter(form)).counters == ():
        (coefficient,) = form.values()
        (hole,) = holes.values()
        assert hole.value is not None
        spread = None if hole.spread is None else hole.spread * abs(float(coefficient))
        return hole_value(Hole(hole.name, float(coefficient) * hole.value, spread))
    totals: dict[str, float] = {}
    for monomial, coefficient in form.items():
        value = holes[monomial.hole].value if monomial.hole else 1.0
        assert value is not None
        rest = " · ".join([*(f"#{c}" for c in monomial.counters), *monomial.signals])
        totals[rest] = totals.get(rest, 0.0) + float(coefficient) * value
    return tuple(_sum(totals))


def _sum(totals: dict[str, float]) -> Iterator[Piece]:
    """`0.5 − 0.1 · #opened` from {"": 0.5, "#opened": -0.1}, the constant first."""
    parts = [(rest, total) for rest, total in sorted(totals.items()) if short(total) != "0"]
    if not parts:
        yield Piece("number", "0")
    for index, (rest, total) in enumerate(parts):
        if index:
            yield Piece("sign", " − " if total < 0 else " + ")
        yield Piece("number", short(abs(total) if index else total))
        if rest:
            yield Piece("counter" if rest.startswith("#") else "name", f" · {rest}")
