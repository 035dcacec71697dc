"""Questions about the constraint: can it be met within the spaces of the holes, which atoms contradict each other, which say
nothing new, and whether the values of a concretized machine keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import z3

from srm.machine.affine import add, scale
from srm.machine.checks.core.conditions import TRUE, Condition, Sign, every, hole_form, number_form, sign
from srm.machine.checks.core.report import Finding, Witness, assignment_text, form_text, fraction_text
from srm.machine.checks.core.solve import EFFORT, Answer, Prover, encode_sign, is_whole
from srm.machine.checks.core.subject import Subject, condition_of, margin
from srm.machine.holes import Atom, LinearRow, Within
from srm.machine.terms import HoleTerm

MOST_ROWS = 300  # of atoms and spaces, each of which is asked about; the largest of the shipped machines has 24
MOST_MINIMAL = 50  # that contradict each other: of more, each costs a question to leave out


def check_constraint(subject: Subject, prover: Prover) -> Iterator[Finding]:
    """What there is to say about a constraint that can be met; without one, the spaces of the open holes."""
    if subject.constraint is None:
        if subject.spaces:
            witness = Witness(atoms=tuple(map(str, subject.spaces)))
            yield Finding("note", "constraint", "", "no constraint; holes are held to their spaces alone", witness)
        return
    place = f"constraint {subject.constraint.name}"
    if subject.values:
        yield from _kept(subject, place)
    if not subject.open_holes:
        return
    example = _roomy_example(subject, prover)
    if example.possible:
        witness = Witness(assignment=assignment_text(example.holes))
        yield Finding("note", "constraint", place, "can be met", witness)
    elif example.possible is None:
        yield Finding("warning", "constraint", place, "not decided: whether it can be met")
    else:
        yield Finding("error", "constraint", place, "cannot be met with the values that are given")
    if len(subject.rows) <= MOST_ROWS:
        yield from _redundant(subject)
    else:
        message = f"not decided: which could be left out, since there are more than {MOST_ROWS} atoms and spaces"
        yield Finding("warning", "constraint", place, message)


def _roomy_example(subject: Subject, prover: Prover) -> Answer:
    """An assignment that keeps every atom with room to spare, or at least one that keeps them."""
    room = every(
        sign(condition.form, ">")
        for condition in subject.allowed
        if isinstance(condition, Sign) and condition.relation == ">="
    )
    roomy = prover.example(room)
    return roomy if roomy.possible else prover.example(TRUE)


class TrackedRows:
    """The rows of a constraint in one solver, each behind a name, so that the solver can name those that matter."""

    def __init__(self, rows: Sequence[LinearRow]) -> None:
        self.rows = tuple(rows)
        self.names = [z3.Bool(f"row {index}") for index in range(len(rows))]
        self.solver = z3.Solver()
        self.solver.set("rlimit", EFFORT)
        self.solver.add([z3.Implies(n, encode_row(row)) for n, row in zip(self.names, rows, strict=True)])

    def core(self, chosen: Sequence[LinearRow], broken: Sequence[LinearRow] = ()) -> tuple[LinearRow, ...] | None:
        """A set of the chosen rows, none of which can be left out if they are few, that cannot be kept (while one of the `broken` is broken).

        None: they can.
        """
        self.solver.push()
        if broken:
            self.solver.add(z3.Or([z3.Not(encode_row(row)) for row in broken]))
        wanted = {id(row) for row in chosen}
        kept = [name for name, row in zip(self.names, self.rows, strict=True) if id(row) in wanted]
        smallest = None
        if self.solver.check(kept) == z3.unsat:
            smallest = self._minimal(list(self.solver.unsat_core()))
        self.solver.pop()
        return smallest

    def _minimal(self, core: list[Any]) -> tuple[LinearRow, ...]:
        for name in list(core) if len(core) <= MOST_MINIMAL else ():
            without = [other for other in core if not other.eq(name)]
            if self.solver.check(without) == z3.unsat:
                core = without
        return tuple(
            row for name, row in zip(self.names, self.rows, strict=True) if any(name.eq(kept) for kept in core)
        )


def find_contradiction(subject: Subject) -> Finding | None:
    """Atoms and spaces that contradict each other, none of which can be left out. Spaces alone never do."""
    core = TrackedRows(subject.rows).core(subject.rows)
    if core is None or subject.constraint is None:
        return None
    place = f"constraint {subject.constraint.name}"
    witness = Witness(atoms=_texts(core))
    return Finding(
        "error",
        "constraint",
        place,
        "cannot be met: these contradict each other; what follows is asked without the constraint",
        witness,
    )


def encode_row(row: LinearRow) -> Any:
    """The row as a Z3 formula; that a hole is a whole number is part of what its space says."""
    formula = encode(condition_of(row))
    is_whole_space = isinstance(row.atom, Within) and row.atom.space.whole
    return z3.And(formula, *map(is_whole, row.coefficients)) if is_whole_space else formula


def encode(condition: Condition) -> Any:
    """A condition on holes alone as a Z3 formula."""
    if isinstance(condition, Sign):
        return encode_sign(condition)
    return z3.BoolVal(condition == TRUE)


def _redundant(subject: Subject) -> Iterator[Finding]:
    assert subject.constraint is not None
    tracked = TrackedRows(subject.rows)
    for atom in subject.constraint.atoms:
        own = [row for row in subject.rows if row.atom is atom]
        core = tracked.core([row for row in subject.rows if row.atom is not atom], own) if own else ()
        if core:
            spaces = " and spaces" if any(isinstance(row.atom, Within) for row in core) else ""
            message = f"is implied by the other atoms{spaces}, so it could be left out"
            yield Finding("note", "constraint", str(atom), message, Witness(atoms=_texts(core)))
        elif core is not None:
            yield Finding("note", "constraint", str(atom), "says nothing: it holds for every assignment")


def _kept(subject: Subject, place: str) -> Iterator[Finding]:
    """Whether the values keep each atom that speaks of them alone, with what is least left of it, the tightest first.

    That they lie in their spaces needs no word: a machine with other values does not exist.
    """
    broken = [row for row in subject.broken_rows if isinstance(row.atom, Atom)]
    for row in broken:
        excess = fraction_text(-margin(row, subject.values))
        held = assignment_text({name: subject.values[name] for name in row.coefficients})
        yield Finding(
            "error", "constraint", row_text(row), f"the values break this atom by {excess}", Witness(assignment=held)
        )
    decided = [row for row in subject.decided_rows if isinstance(row.atom, Atom)]
    if decided and not broken:
        least: dict[int, LinearRow] = {}
        for row in sorted(decided, key=lambda row: margin(row, subject.values)):
            least.setdefault(id(row.atom), row)
        room = [f"{fraction_text(margin(row, subject.values))} left in {row_text(row)}" for row in least.values()]
        yield Finding("note", "constraint", place, "the values keep it", Witness(atoms=tuple(room)))


# Text


def _texts(rows: Iterable[LinearRow]) -> tuple[str, ...]:
    """Each row once: both ends of a space read alike."""
    return tuple(dict.fromkeys(map(row_text, rows)))


def row_text(row: LinearRow) -> str:
    """The row as its atom is written or, where the atom speaks of many holes, the part of it that is this row."""
    if isinstance(row.atom, Within) or (isinstance(row.atom.left, tuple) and len(row.atom.left) == 1):
        return str(row.atom)
    label = f'"{row.atom.label}" ' if row.atom.label else ""
    left = {name: c for name, c in row.coefficients.items() if c > 0}
    right = {name: -c for name, c in row.coefficients.items() if c < 0}
    relation = "=" if row.equality else "<="
    if isinstance(row.atom.right, HoleTerm) and row.atom.right.name in left and not row.equality:
        left, right, relation = right, left, ">="
        return f"{label}{_side(left, -row.bound)} {relation} {_side(right, Fraction(0))}"
    return f"{label}{_side(left, Fraction(0))} {relation} {_side(right, row.bound)}"


def _side(coefficients: dict[str, Fraction], number: Fraction) -> str:
    holes = [scale(hole_form(name), c) for name, c in coefficients.items()]
    return form_text(add(*holes, number_form(number)))
