"""The panels below a picture: holes with their values, counters, named terms, the constraint.

Each panel is measured at its natural width; `arrange` finds places for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite

from srm.machine.drawing.cards import LEADING, NOTE, PAD, SMALL, Text
from srm.machine.drawing.pieces import Font, Line, Piece, fold, lexicon, line_width, text_width, typeset
from srm.machine.drawing.values import hole_value
from srm.machine.holes import Constraint, Hole
from srm.machine.model import Machine

HEADING = Font(10.5, mono=False, bold=True)
TOP = 42.0  # baseline of a panel's first line
NOTE_MEASURE = 250.0  # width of the labels of a constraint
BAR = 110.0  # length of the scale on which values are drawn


@dataclass(frozen=True)
class Bar:
    """A hole's value on a scale: from `zero` to `end`, with its spread from `low` to `high` (both `end` if unknown)."""

    y: float
    zero: float
    end: float
    low: float
    high: float


@dataclass(frozen=True)
class NotePanel:
    title: Text
    width: float
    height: float
    texts: tuple[Text, ...]
    bars: tuple[Bar, ...] = ()
    folds: int = 0  # lines that formulas needed beyond their first


@dataclass(frozen=True)
class Fit:
    """How panels are set: width of their formulas, and how many holes stand abreast."""

    measure: float
    abreast: int


def panels_of(machine: Machine, constraint: Constraint | None) -> Callable[[Fit], list[NotePanel]]:
    """For any fit, the panels there is something to say in: holes, counters, terms, constraint."""

    @cache
    def holes(abreast: int) -> list[NotePanel]:
        return [_holes(machine, abreast)] if machine.holes else []

    @cache
    def formulas(measure: float) -> list[NotePanel]:
        return [
            *([_counters(machine, measure)] if machine.counters else []),
            *([_terms(machine, measure)] if machine.terms else []),
            *([_constraint(machine, constraint, measure)] if constraint and constraint.atoms else []),
        ]

    return lambda fit: holes(fit.abreast) + formulas(fit.measure)


def _panel(title: str, texts: list[Text], bars: Sequence[Bar] = (), right: float = 0.0, folds: int = 0) -> NotePanel:
    heading = Text(PAD, 22, (Piece("heading", title),), HEADING)
    width = max([right, heading.right, *(text.right for text in texts)]) + PAD
    bottom = max((text.y for text in texts), default=heading.y)
    return NotePanel(heading, width, bottom + PAD, tuple(texts), tuple(bars), folds)


def _holes(machine: Machine, abreast: int) -> NotePanel:
    """Names, the spaces that are written, and once they are known the values on one scale; `abreast` of them in a line."""
    title = f"{len(machine.holes)} holes" if len(machine.holes) > 1 else "1 hole"
    known = any(hole.value is not None for hole in machine.holes)
    names: list[Line] = [(Piece("hole", f"?{hole.name}"),) for hole in machine.holes]
    values = [hole_value(hole) or (Piece("faint", "open"),) for hole in machine.holes]
    spaces: list[Line] = [(Piece("faint", _space(hole)),) if hole.space else () for hole in machine.holes]
    space_at = max(line_width(name, SMALL) for name in names) + 14
    value_at = space_at + (max(line_width(space, SMALL) for space in spaces) + 14 if any(spaces) else 0)
    lead = max(line_width(value[:1], SMALL) for value in values)  # values are set flush right, spreads follow
    bar_at = value_at + lead + max(line_width(value[1:], SMALL) for value in values) + 16
    cell = bar_at + BAR + 30 if known else value_at + 6
    deep = -(-len(names) // abreast)
    scale = _Scale.of(machine.holes)
    texts: list[Text] = []
    bars: list[Bar] = []
    for number, (hole, name, space, value) in enumerate(zip(machine.holes, names, spaces, values, strict=True)):
        x, y = PAD + number // deep * cell, TOP + number % deep * LEADING
        texts.append(Text(x, y, name, SMALL))
        if space:
            texts.append(Text(x + space_at, y, space, SMALL))
        if known:
            texts.append(Text(x + value_at + lead - line_width(value[:1], SMALL), y, value, SMALL))
        if hole.value is not None:
            bars.append(scale.bar(hole, x + bar_at, y - 4))
    used = -(-len(names) // deep)
    return _panel(title, texts, bars, right=PAD + used * cell - 30 if known else 0.0)


def _space(hole: Hole) -> str:
    return f"in {hole.space}".replace("-", "−")


@dataclass(frozen=True)
class _Scale:
    """From the lowest to the highest value of any hole, with zero among them."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, holes: Sequence[Hole]) -> _Scale:
        ends = [(hole.value or 0.0) + side * (hole.spread or 0.0) for hole in holes for side in (-1, 1)]
        return cls(min(0.0, *ends), max(0.0, *ends))

    def at(self, value: float) -> float:
        """How far along the scale; values so far apart that their distance is no number are drawn as 0."""
        part = (value - self.lowest) / ((self.highest - self.lowest) or 1.0)
        return BAR * part if isfinite(part) else 0.0

    def bar(self, hole: Hole, x: float, y: float) -> Bar:
        value, spread = hole.value or 0.0, hole.spread or 0.0
        return Bar(y, x + self.at(0.0), x + self.at(value), x + self.at(value - spread), x + self.at(value + spread))


def _counters(machine: Machine, measure: float) -> NotePanel:
    rows = [(f"#{counter.name}", str(counter).split(" ", 1)[1]) for counter in machine.counters]
    return _table("Counters, read before the step", machine, rows, measure)


def _terms(machine: Machine, measure: float) -> NotePanel:
    return _table("Terms", machine, [(name, f"= {term}") for name, term in machine.terms], measure)


def _table(title: str, machine: Machine, rows: list[tuple[str, str]], measure: float) -> NotePanel:
    names = lexicon(machine)
    heads = [names.pieces(head) for head, _ in rows]
    at = PAD + max(line_width(head, SMALL) for head in heads) + 12
    texts, y = [], TOP
    for head, (_, text) in zip(heads, rows, strict=True):
        texts.append(Text(PAD, y, head, SMALL))
        for line in fold(typeset(names.pieces(text)), measure, measure, SMALL):
            texts.append(Text(at, y, line, SMALL))
            y += LEADING
    return _panel(title, texts, folds=len(texts) - 2 * len(rows))


def _constraint(machine: Machine, constraint: Constraint, measure: float) -> NotePanel:
    names = lexicon(machine)
    title = "Constraint" if constraint.name == "default" else f"Constraint {constraint.name}"
    notes = [_words(atom.label or "") for atom in constraint.atoms]
    at = PAD + max((text_width(line, NOTE) for lines in notes for line in lines), default=-16.0) + 16
    texts, y, folds = [], TOP, 0
    for atom, lines in zip(constraint.atoms, notes, strict=True):
        formula = fold(typeset(names.pieces(str(replace(atom, label=None)))), measure, measure, SMALL)
        texts += [Text(PAD, y + n * LEADING, (Piece("note", line),), NOTE) for n, line in enumerate(lines)]
        texts += [Text(at, y + n * LEADING, line, SMALL) for n, line in enumerate(formula)]
        y += max(len(lines), len(formula)) * LEADING
        folds += len(formula) - 1
    return _panel(title, texts, folds=folds)


def _words(label: str) -> list[str]:
    """A label in lines; a word too long for a line is cut."""
    lines: list[str] = []
    for word in (whole[i : i + 40] for whole in label.split() for i in range(0, len(whole), 40)):
        if lines and text_width(f"{lines[-1]} {word}", NOTE) <= NOTE_MEASURE:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
