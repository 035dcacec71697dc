"""A machine as text, in columns that a reader's eye can follow: `str(machine)`.

Within a section `//`, `->`, `=` and the relations of a constraint stand under one another, and a long formula continues on
the next line before a `+`, an `and` or an `or`, where the language allows it. Parsing the text gives an equal machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from srm.machine.holes import Atom, Constraint, EveryHole, Hole
from srm.machine.model import Counter, Machine, Node, Rule
from srm.machine.terms import number_text
from srm.machine.vocabulary import Signal

INDENT = 4
WIDTH = 120
WIDEST_GUARD = 72  # a longer guard does not push the pay of its neighbours away

_BREAK = re.compile(r" (?=(?:and|or|\+) )")


def machine_text(machine: Machine) -> str:
    return "\n\n".join("\n".join(lines) for lines in _sections(machine)) + "\n"


def _sections(machine: Machine) -> Iterator[list[str]]:
    yield [f"machine {machine.name}", *_words(machine)]
    if machine.holes:
        yield _holes(machine.holes)
    if machine.counters:
        yield ["counters", *_indented(_counters(machine.counters))]
    if machine.terms:
        yield list(_terms(machine))
    for node in machine.nodes:
        kinds = ["start"] * (node.name == machine.start) + ["accept"] * node.accepting
        yield [f"{' '.join(kinds or ['node'])} {node.name}", *_rules(node)]
    for constraint in machine.constraints:
        name = "" if constraint.name == "default" else f" {constraint.name}"
        yield [f"constraint{name}", *_atoms(constraint)]


# Columns


def columns(rows: Iterable[Sequence[str]], gap: str = "  ") -> list[str]:
    """The rows with their cells padded to columns; a column without any text takes no room."""
    table = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [gap.join(cell.ljust(w) for cell, w in zip(row, widths, strict=True) if w).rstrip() for row in table]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (" " * INDENT + line for line in lines)


def _folded(text: str, first: int, rest: int) -> list[str]:
    """The formula in lines of at most WIDTH, when it begins at column `first` and goes on at column `rest`."""
    lines: list[str] = []
    room = WIDTH - first
    for segment in _BREAK.split(text):
        if lines and len(lines[-1]) + 1 + len(segment) <= room:
            lines[-1] += f" {segment}"
        else:
            lines.append(segment)
            room = WIDTH - (first if len(lines) == 1 else rest)
    return [lines[0], *(" " * rest + line for line in lines[1:])]


# Sections


def _words(machine: Machine) -> Iterator[str]:
    if machine.words is None:
        return
    yield f"words {machine.words}" + (f' "{machine.info.env_id}"' if machine.info else "")
    if machine.info and machine.info.words:
        yield from _indented(
            columns(
                (
                    word.signal.name,
                    f'= "{word.key}"' if word.key != word.signal.name else "",
                    _range(word.signal),
                    "" if word.missing is None else f"or {number_text(word.missing)}",
                )
                for word in machine.info.words
            )
        )


def _range(signal: Signal) -> str:
    if signal.low is None and signal.high is None:
        return ""
    low, high = ("" if bound is None else number_text(bound) for bound in (signal.low, signal.high))
    return " ".join(filter(None, ("in", low, "..", high)))


def _holes(holes: tuple[Hole, ...]) -> list[str]:
    if any(hole.value is not None or hole.space is not None for hole in holes):
        spaces = [hole.space for hole in holes]
        cells = [
            [f"?{hole.name}" for hole in holes],
            _numbers("in", [space.low if space else None for space in spaces]),
            _numbers("..", [space.high if space else None for space in spaces]),
            ["whole" if space and space.whole else "" for space in spaces],
            _numbers("=", [hole.value for hole in holes]),
            ["" if hole.spread is None else f"+- {number_text(hole.spread)}" for hole in holes],
        ]
        return ["holes", *_indented(columns(zip(*cells, strict=True), " "))]
    line = "holes " + " ".join(map(str, holes))
    if len(line) <= WIDTH:
        return [line]
    filled = [""]
    for hole in map(str, holes):
        if len(filled[-1]) + len(hole) + INDENT >= WIDTH:
            filled.append("")
        filled[-1] += f" {hole}" if filled[-1] else hole
    return ["holes", *_indented(filled)]


def _numbers(sign: str, numbers: Iterable[float | None]) -> list[str]:
    """A column of numbers behind a sign, empty where there is none."""
    texts = _on_the_point(["" if number is None else number_text(number) for number in numbers])
    return [f"{sign} {text}" if text else "" for text in texts]


def _on_the_point(numbers: list[str]) -> list[str]:
    """The numbers with spaces before them, so that their decimal points stand under one another."""
    before = [len(re.split(r"[.e]", number)[0]) for number in numbers]
    return [" " * (max(before) - b) + number if number else "" for b, number in zip(before, numbers, strict=True)]


def _counters(counters: tuple[Counter, ...]) -> list[str]:
    return columns(
        (
            f"#{counter.name}",
            f"counts {counter.counts}",
            f"at {', '.join(counter.at)}" if counter.at else "",
            f"resets on {' or '.join(map(str, counter.resets))}" if counter.resets else "",
        )
        for counter in counters
    )


def _terms(machine: Machine) -> Iterator[str]:
    width = max(len(name) for name, _ in machine.terms)
    for name, term in machine.terms:
        head = f"let {name.ljust(width)} = "
        first, *rest = _folded(str(term), len(head), len(head) - 2)
        yield from [head + first, *rest]


def _rules(node: Node) -> Iterator[str]:
    starts = {id(rule): 2 * INDENT if rule.name else INDENT for rule in node.rules}
    ends = [starts[id(rule)] + len(str(rule.guard)) for rule in node.rules]
    pay_at = max((end for end in ends if end <= WIDEST_GUARD), default=0) + 2
    leaving = [len(str(rule.pay)) for rule in node.rules if rule.target]
    tier = 0
    for rule in node.rules:
        if rule.tier != tier:
            yield " " * INDENT + "otherwise"
            tier = rule.tier
        if rule.name:
            yield f"{' ' * INDENT}{rule.name}:"
        yield from _rule(rule, starts[id(rule)], pay_at, max(leaving, default=0))
        yield from _hindsight(rule)


def _rule(rule: Rule, start: int, pay_at: int, pay_width: int) -> list[str]:
    *above, last = _folded(str(rule.guard), start, start + INDENT)
    last = last if above else " " * start + last
    above = [" " * start + above[0], *above[1:]] if above else []
    target = f"  -> {rule.target}" if rule.target else ""
    pay = str(rule.pay).ljust(pay_width) if rule.target else str(rule.pay)
    return [*above, f"{last.ljust(pay_at - 2)}  // {pay}{target}"]


def _hindsight(rule: Rule) -> Iterator[str]:
    if rule.hindsight is None:
        return
    yield " " * 2 * INDENT + "hindsight" + (f" since {rule.hindsight.since}" if rule.hindsight.since else "")
    changes = (str(change).partition("// ") for change in rule.hindsight.changes)
    for line in columns((what.rstrip(), f"// {pay}") for what, _, pay in changes):
        yield " " * 3 * INDENT + line


def _atoms(constraint: Constraint) -> Iterator[str]:
    label_width = max((len(_label(atom)) for atom in constraint.atoms), default=0)
    left_at = INDENT + label_width + (2 if label_width else 0)
    relation_at = left_at + max((len(_left(atom)) for atom in constraint.atoms), default=0) + 1
    for atom in constraint.atoms:
        head = " " * INDENT + _label(atom)
        head = (head.ljust(left_at) + _left(atom)).ljust(relation_at) + f"{atom.relation:<2} "
        first, *rest = _folded(str(atom.right), len(head), len(head))
        yield from [head + first, *rest]


def _label(atom: Atom) -> str:
    return f'"{atom.label}"' if atom.label is not None else ""


def _left(atom: Atom) -> str:
    return str(atom.left) if isinstance(atom.left, EveryHole) else ", ".join(map(str, atom.left))
