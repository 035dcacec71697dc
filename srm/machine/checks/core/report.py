"""What a check found: findings, each with the place it is about, what it says, and a witness the reader can follow.

An *error* makes the machine unfit to run or contradicts its own text; a *warning* is something its designer most likely does
not want; a *note* is something proved, or worth knowing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from srm.machine.affine import LARGEST_NUMBER, Form
from srm.machine.terms import number_text

SEVERITIES = ("error", "warning", "note")
MOST_ALIKE = 20  # findings of one question and severity that are listed
WIDTH = 120  # of a report as text; longer lines are not broken
QUESTIONS = ("constraint", "determinism", "rules", "nodes", "holes", "implied", "farming", "episode", "against")


def fraction_text(value: Fraction) -> str:
    """A decimal where that is exact and short, else a quotient: 0.25, -2, 1/3."""
    if abs(value) <= LARGEST_NUMBER and value.denominator < 10**6 and Fraction(repr(float(value))) == value:
        return number_text(float(value))
    return str(value)


def form_text(form: Form) -> str:
    """A normal form in the words of the file: ?unlock - 2 * #closed * ?close."""
    text = ""
    for monomial, coefficient in sorted(form.items(), key=lambda item: item[1] < 0):  # what is taken away comes last
        size = fraction_text(abs(coefficient))
        name = str(monomial)
        part = size if name == "1" else name if size == "1" else f"{size} * {name}"
        if text:
            text += f" {'-' if coefficient < 0 else '+'} {part}"
        else:
            text = f"-{part}" if coefficient < 0 else part
    return text or "0"


def summed_up(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first twenty of those that answer one question with one severity, and how many more there are.

    One more is as short as the sentence about it. What is said of the whole machine, without a place, is always kept.
    """
    listed = tuple(findings)
    count = Counter((finding.question, finding.severity) for finding in listed if finding.place)
    kept: Counter[tuple[str, str]] = Counter()
    for finding in listed:
        kind = (finding.question, finding.severity)
        kept[kind] += bool(finding.place)
        if not finding.place or kept[kind] <= MOST_ALIKE or count[kind] == MOST_ALIKE + 1:
            yield finding
    for (question, severity), number in count.items():
        if number > MOST_ALIKE + 1:
            yield Finding(severity, question, "", f"{number - MOST_ALIKE:,} more like these {MOST_ALIKE}")


def place_of(nodes: Sequence[str]) -> str:
    return f"node{'s' * (len(nodes) != 1)} {', '.join(nodes)}"


@dataclass(frozen=True)
class WitnessStep:
    """One step of a loop or a trace: what happens, which rules fire (None: idle), and what they pay."""

    node: str
    events: tuple[str, ...]
    rule: str | None
    pay: str
    other_node: str | None = None  # of the machine compared with
    other_rule: str | None = None
    other_pay: str | None = None


@dataclass(frozen=True)
class Witness:
    """An example; parts that do not apply are empty."""

    node: str | None = None
    events: tuple[str, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, str] = field(default_factory=dict)
    assignment: Mapping[str, str] = field(default_factory=dict)
    atoms: tuple[str, ...] = ()
    steps: tuple[WitnessStep, ...] = ()

    def lines(self) -> Iterable[str]:
        if self.events:
            yield f"when {' and '.join(self.events)}"
        if self.counters:
            yield "counters " + ", ".join(f"#{name} = {value}" for name, value in self.counters.items())
        if self.signals:
            yield "signals " + ", ".join(f"{name} = {value}" for name, value in self.signals.items())
        if self.assignment:
            yield "with " + ", ".join(f"?{name} = {value}" for name, value in self.assignment.items())
        yield from self.atoms
        for number, step in enumerate(self.steps, start=1):
            yield f"{number}. {step_text(step)}"


def step_text(step: WitnessStep) -> str:
    happens = " and ".join(step.events) or "nothing happens"
    at = f" at {step.node}" + (f" / {step.other_node}" if step.other_node not in (None, step.node) else "")
    if step.other_pay is None:
        return f"{happens}{at}: pays {step.pay}"
    return f"{happens}{at}: pays {step.pay} against {step.other_pay}"


@dataclass(frozen=True)
class Finding:
    severity: str  # of SEVERITIES
    question: str  # of QUESTIONS
    place: str  # a node, a rule, a hole or an atom, in the words of the file
    message: str
    witness: Witness | None = None

    def __post_init__(self) -> None:
        assert self.severity in SEVERITIES
        assert self.question in QUESTIONS


@dataclass(frozen=True)
class Report:
    """Everything that was found about one machine under one constraint."""

    machine: str
    constraint: str | None
    words: str | None  # the vocabulary whose facts were used
    findings: tuple[Finding, ...]
    other: str | None = None  # the machine it was compared with

    def of(self, question: str, severity: str | None = None) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.question == question and severity in (None, f.severity))

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    def exit_code(self, *, strict: bool = False) -> int:
        return int(self.count("error") > 0 or (strict and self.count("warning") > 0))

    def as_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "constraint": self.constraint,
            "words": self.words,
            "other": self.other,
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "findings": [_without_empty(asdict(finding)) for finding in self.findings],
        }

    def __str__(self) -> str:
        return _printed(self, coloured=False)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The same text in colours, in a notebook."""
        return _printed(self, coloured=True)


def _printed(report: Report, *, coloured: bool) -> str:
    from io import StringIO

    from rich.console import Console

    from srm.machine.checks.core.terminal import print_report  # prints reports, so it cannot be imported before them

    console = Console(file=StringIO(), record=True, width=WIDTH, force_jupyter=False)
    print_report(report, console)
    if not coloured:
        return console.export_text().rstrip()
    lines = "<pre style='white-space:pre-wrap;line-height:1.4'>{code}</pre>"
    return console.export_html(inline_styles=True, code_format=lines)


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    kept = {}
    for key, value in record.items():
        if isinstance(value, dict):
            value = _without_empty(value)
        elif isinstance(value, list | tuple):
            value = [_without_empty(entry) if isinstance(entry, dict) else entry for entry in value]
        if value not in (None, [], {}, ()) or key == "place":
            kept[key] = value
    return kept


def assignment_text(holes: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: fraction_text(value) for name, value in holes.items()}
