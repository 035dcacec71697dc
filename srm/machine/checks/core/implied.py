"""What the constraint and the spaces say of each hole without writing it down, and what a label promises that they do not
keep: a hole forced to one value, a sign that is forced, a "reward" that may be negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from srm.machine.affine import add
from srm.machine.checks.core.conditions import TRUE, Condition, hole_form, number_form, sign
from srm.machine.checks.core.report import Finding, Witness, assignment_text, fraction_text
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.holes import Atom, EveryHole
from srm.machine.terms import HoleTerm, Term

PROMISES = {"reward": ">", "award": ">", "encourage": ">", "bonus": ">", "penal": "<", "punish": "<", "discourage": "<"}
SHORTEST_STEM = 3  # letters of a hole's name that must stand in a label to be taken for it


def check_implied(subject: Subject, prover: Prover) -> Iterator[Finding]:
    if not subject.open_holes or (subject.constraint is None and not subject.spaces):
        return
    forced = _forced(subject, prover)
    for name, value in forced.items():
        message = f"the constraint forces ?{name} = {fraction_text(value)}"
        yield Finding("warning", "implied", f"?{name}", message)
    yield from _signs(subject, prover, [name for name in subject.open_holes if name not in forced])
    for atom in subject.constraint.atoms if subject.constraint else ():
        yield from _promise(subject, prover, atom)


def _forced(subject: Subject, prover: Prover) -> dict[str, Fraction]:
    """The holes that can have one value only."""
    example = prover.example(TRUE)
    values = {}
    for name in subject.open_holes if example.possible else ():
        elsewhere = sign(add(hole_form(name), number_form(-example.holes[name])), "!=")
        if prover.can(elsewhere) is False:
            values[name] = example.holes[name]
    return values


def _of(name: str, relation: str) -> Condition:
    return sign(hole_form(name), relation)


def _signs(subject: Subject, prover: Prover, names: Sequence[str]) -> Iterator[Finding]:
    known: dict[str, list[str]] = {"> 0": [], ">= 0": [], "<= 0": [], "< 0": [], "": []}
    for name in names:
        above, below, zero = (prover.can(_of(name, relation)) is not False for relation in (">", "<", "="))
        bound = "" if above and below else ">= 0" if above else "<= 0"
        known[bound if zero or not bound else bound.replace("=", "")].append(f"?{name}")
    for bound, holes in known.items():
        if holes and bound:
            yield Finding("note", "implied", "", f"signs that are forced: {', '.join(holes)} {bound}")
    if known[""]:
        yield Finding("note", "implied", "", f"signs that are not forced: {', '.join(known[''])}")


# Labels


def _promise(subject: Subject, prover: Prover, atom: Atom) -> Iterator[Finding]:
    """A label that speaks of a reward or a penalty names a sign; the constraint should force it."""
    promised = promise_of(atom)
    if promised is None:
        return
    kind = "reward" if promised == ">" else "penalty"
    for meant in holes_meant(atom, subject):
        if meant not in subject.open_holes:
            continue
        wrong = prover.example(_of(meant, "<" if promised == ">" else ">"))
        if wrong.possible:
            message = f"the label speaks of a {kind}, but the constraint does not force ?{meant} {promised}= 0"
            yield Finding("warning", "implied", str(atom), message, Witness(assignment=assignment_text(wrong.holes)))
        elif prover.can(_of(meant, promised)) is False:
            message = f"the label speaks of a {kind}, but the constraint never allows ?{meant} {promised} 0"
            yield Finding("warning", "implied", str(atom), message)


def promise_of(atom: Atom) -> str | None:
    """The sign that the atom's label promises: ">", "<", or None if it promises none."""
    words = re.findall(r"\w+", (atom.label or "").lower())
    promises = (promised for word in words for stem, promised in PROMISES.items() if word.startswith(stem))
    return next(promises, None)


def holes_meant(atom: Atom, subject: Subject) -> tuple[str, ...]:
    """The holes whose sign the label is about; none where the atom is about a sum as a whole.

    An atom about every hole is about the one it compares them with, or (compared with a number) about all; a term with one hole is
    about that one. Of several holes the one whose name the label contains is meant (`?drop_unused`: "penalize dropping unused
    key") or, if the label contains none better than others, the one that stands alone on the side that the label speaks of
    (`?see >= ?open + ?unlock`).
    """
    if isinstance(atom.left, EveryHole):
        if isinstance(atom.right, HoleTerm):
            return (atom.right.name,)
        return tuple(name for name in subject.machine.hole_names if name not in atom.left.excluded)
    rows = list(atom.rows(subject.machine.hole_names, subject.machine.forms))
    alone = [name for row in rows if len(row.coefficients) == 1 for name in row.coefficients]
    if len(rows) != 1 or len(rows[0].coefficients) < 2:
        return tuple(alone)
    likeness = {name: _likeness(name, atom.label or "") for name in rows[0].coefficients}
    best = max(likeness.values())
    nearest = tuple(name for name in likeness if likeness[name] == best)
    return nearest if best > 0 and len(nearest) == 1 else _alone(atom)


def _likeness(name: str, label: str) -> float:
    """The share of the hole's name, part by part, that the label's words contain: drop_used in "dropping used key" is 1."""
    words = re.findall(r"\w+", label.lower())
    pieces = name.lower().split("_")

    def appears(piece: str) -> bool:
        return any(len(piece) >= SHORTEST_STEM and (word.startswith(piece) or piece.startswith(word)) for word in words)

    return sum(map(appears, pieces)) / len(pieces)


def _alone(atom: Atom) -> tuple[str, ...]:
    """The hole that alone makes up the side which the label raises (a reward) or lowers (a penalty)."""
    assert isinstance(atom.left, tuple)
    raised: Term
    lowered: Term
    raised, lowered = (atom.left[0], atom.right) if atom.relation == ">=" else (atom.right, atom.left[0])
    side = raised if promise_of(atom) == ">" else lowered
    return (side.name,) if isinstance(side, HoleTerm) else ()
