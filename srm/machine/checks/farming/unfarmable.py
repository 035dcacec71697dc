"""Atoms that make a machine unfarmable by construction.

For each elementary loop that is not proved harmless (see `loops`), linear conditions on the holes under which it is:

    its pay      no round can pay more than 0                  ?open + ?close <= 0
    its guards   each round takes from a guard what it pays    ?close <= ?drop_key

Pay comes first, and a guard where that would leave no room, or no reward. Loops with the most paid moves come first, and each is
judged with the atoms so far, since an atom for one often proves others harmless. So whoever keeps the constraint and these
atoms cannot gain without end, except by loops that are listed as unproved.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from srm.machine.affine import LARGEST_NUMBER, ONE, Form, Monomial, exact, scale
from srm.machine.checks.core.conditions import FALSE, TRUE, Condition, Every, Sign, every, hole_form, negate, sign
from srm.machine.checks.core.constraint import find_contradiction
from srm.machine.checks.core.report import Finding, place_of
from srm.machine.checks.core.rules import find_living
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject, condition_of
from srm.machine.checks.farming.gain import Loop, can_gain, wears
from srm.machine.checks.farming.loops import Ground, find_grounds, moves_text
from srm.machine.fit import require_words
from srm.machine.holes import Atom, Constraint
from srm.machine.language.print import columns
from srm.machine.model import Machine
from srm.machine.terms import HoleTerm, Negation, Number, Product, Sum, Term
from srm.machine.vocabulary import Vocabulary

NAME = "unfarmable"  # of a constraint that has nothing but these atoms
MOST_PASSES = (
    4  # with new atoms moves may vanish, and guards may serve that did not; the second finds nothing new as a rule
)
LONGEST_LABEL = 100


@dataclass(frozen=True)
class Forbidden:
    """Atoms to add to a constraint, the loop that each is for, and a sentence for each loop that no atom forbids."""

    atoms: tuple[Atom, ...] = ()
    loops: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.atoms) == len(self.loops)

    def __str__(self) -> str:
        """Lines of a constraint; what is unproved as comments."""
        atoms = (
            columns((f'"{atom.label}"', str(replace(atom, label=None))) for atom in self.atoms) if self.atoms else []
        )
        unproved = [f"# unproved: {sentence}" for sentence in self.unproved]
        lines = [*atoms, *unproved] or ["# no loop can be repeated without end for gain: nothing to add"]
        return "\n".join(f"    {line}" for line in lines)


def forbid_farming(machine: Machine, vocabulary: Vocabulary | None, constraint: Constraint | None) -> Forbidden:
    """The atoms that, added to the constraint, let no loop be repeated without end for gain."""
    if vocabulary is not None:
        require_words(machine, vocabulary)
    subject = Subject(machine, vocabulary, constraint)
    if not _can_be_met(subject):
        assumed = f"constraint {constraint.name}" if constraint else "what the holes allow"
        values = " with the values that are given" if subject.values else ""
        return Forbidden(unproved=(f"{assumed}: cannot be met{values}, so no loop was judged",))
    by_pay = _search(subject, guards_first=False)
    if not by_pay.unproved or not by_pay.atoms:
        return by_pay
    return min(by_pay, _search(subject, guards_first=True), key=lambda forbidden: len(forbidden.unproved))


def with_atoms(constraint: Constraint | None, atoms: Iterable[Atom]) -> Constraint:
    """The constraint with these atoms after its own, under its name; one named `unfarmable` where there was none."""
    return replace(constraint, atoms=(*constraint.atoms, *atoms)) if constraint else Constraint(tuple(atoms), NAME)


def _with(subject: Subject, atoms: Sequence[Atom]) -> Subject:
    return replace(subject, constraint=with_atoms(subject.constraint, atoms)) if atoms else subject


def _can_be_met(subject: Subject) -> bool:
    if subject.broken_rows:
        return False
    return find_contradiction(subject) is None and Prover(subject).can(TRUE) is not False


# Judging


def _search(subject: Subject, guards_first: bool) -> Forbidden:
    forbidden = Forbidden()
    for _ in range(MOST_PASSES):
        before = forbidden.atoms
        forbidden = _judge_all(_with(subject, before), forbidden, guards_first)
        if forbidden.atoms == before:
            break
    return _without_implied(subject, forbidden)


def _judge_all(subject: Subject, before: Forbidden, guards_first: bool) -> Forbidden:
    """One pass over all loops, with the atoms of the passes before."""
    prover = Prover(subject)
    living, _ = find_living(subject, prover)
    atoms: list[Atom] = []
    loops = list(before.loops)
    unproved: list[str] = []
    for ground in find_grounds(subject, prover, living):
        if isinstance(ground, Finding):
            unproved.append(f"{ground.place}: {ground.message}" if ground.place else ground.message)
            continue
        ground = _under(ground, atoms)
        for loop in ground.paying_loops:
            if ground.harmless(loop):
                continue
            text = f"{place_of(loop.nodes)}: {moves_text(loop.moves)}"
            answer = _forbid(ground, loop, guards_first)
            if isinstance(answer, str):
                unproved.append(f"{text}: may be farmed, and no atom forbids it: {ground.pay_text(loop)}; {answer}")
            else:
                atoms += answer
                loops += [text] * len(answer)
                ground = _under(ground, answer)
    return Forbidden((*before.atoms, *atoms), tuple(loops), tuple(dict.fromkeys(unproved)))


def _under(ground: Ground, atoms: Sequence[Atom]) -> Ground:
    """The same loops, judged with these atoms too."""
    subject = _with(ground.subject, atoms)
    return replace(ground, subject=subject, prover=Prover(subject)) if atoms else ground


def _forbid(ground: Ground, loop: Loop, guards_first: bool) -> tuple[Atom, ...] | str:
    """The atoms under which the loop is harmless, or why there are none.

    Those that let every hole which the loop is paid for stay a reward are preferred: they leave more to be learnt.
    """
    by_pay, *by_guards = _candidates(ground, loop)
    serving: list[tuple[Atom, ...]] = []
    for condition, label in (*by_guards, by_pay) if guards_first else (by_pay, *by_guards):
        atoms = atoms_for(ground.subject, ground.prover, condition, label)
        if isinstance(atoms, str):
            continue
        trial = _under(ground, atoms)
        if trial.harmless(loop):
            serving.append(atoms)
            if _rewards(trial, loop) == _rewards(ground, loop):
                return atoms
    if serving:
        return serving[0]
    reason = atoms_for(ground.subject, ground.prover, *by_pay)  # what a reader can change
    return reason if isinstance(reason, str) else "not decided"


def _candidates(ground: Ground, loop: Loop) -> Iterator[tuple[Condition, str]]:
    """Conditions on holes, each with a label for its atoms: on the pay, then on each guard that the loop can wear out.

    A guard that never rises may stay level, which is harmless only if a round that takes nothing from it pays nothing.
    """
    subject, recurring = ground.subject, ground.recurring
    yield negate(can_gain(subject, loop, recurring)), _label("no gain from", loop)
    label = _label("no endless gain from", loop)
    for wear in wears(loop, recurring):
        never_rises = every(part for part in _parts(wear.when) if _is_closed(part))
        yield never_rises, label
        yield every((never_rises, negate(can_gain(subject, loop, recurring, beyond=wear.by)))), label


def _rewards(ground: Ground, loop: Loop) -> set[str]:
    """The holes that the loop is paid for and that may be above 0."""
    holes = {monomial.hole for monomial in loop.pay if monomial.hole is not None}
    return {name for name in holes if ground.prover.can(sign(hole_form(name), ">"))}


def _label(head: str, loop: Loop) -> str:
    times = Tally(moves_text((move,)) for move in loop.moves)
    moves = ", ".join(text if count == 1 else f"{count} {text}" for text, count in times.items())
    at = f"at {', '.join(loop.nodes)}"
    label = f"{head} {moves} {at}"
    return label if len(label) <= LONGEST_LABEL else f"{head} a loop of {len(loop.moves)} moves {at}"


# From conditions to atoms


def atoms_for(subject: Subject, prover: Prover, condition: Condition, label: str) -> tuple[Atom, ...] | str:
    """The parts of the condition that are not implied already, as atoms that leave room; or why there are none."""
    if condition == FALSE:
        given = any(hole.value is not None for hole in subject.machine.holes)
        return "the holes have values, which no atom changes" if given else "no value of a hole changes that"
    needed = [part for part in _parts(condition) if prover.can(negate(part)) is not False]
    forms = [_written(part.form) for part in needed if isinstance(part, Sign) and _is_closed(part)]
    if len(forms) < len(needed):
        return "it reads signals without a range, which may be any number"
    atoms = [_atom(form, subject.machine, label) for form in forms if form is not None]
    if len(atoms) < len(forms):
        return "an atom would need numbers that no text holds exactly"
    listed = " and ".join(str(replace(atom, label=None)) for atom in atoms)
    if not prover.can(condition):
        return f"{listed} would contradict the constraint"
    if not prover.can(every(sign(form, ">") for form in forms if form is not None)):
        return f"the constraint would turn {listed} into an equality"
    return tuple(atoms)


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, Every) else (condition,)


def _is_closed(part: Condition) -> bool:
    """Whether an atom can say it: neither a strict comparison, nor one that makes a hole vanish."""
    return isinstance(part, Sign) and part.relation == ">="


def _written(form: Form) -> Form | None:
    """The form scaled to whole numbers, those of its holes if that is enough, as a text holds it exactly."""
    of_holes = {monomial: coefficient for monomial, coefficient in form.items() if monomial != ONE}
    for numbers in (of_holes.values(), form.values()):
        by = Fraction(lcm(*(n.denominator for n in numbers)), gcd(*(n.numerator for n in numbers)))
        scaled = scale(form, by)
        if all(abs(c) < LARGEST_NUMBER and exact(float(c)) == c for c in scaled.values()):
            return scaled
    return None


def _atom(form: Form, machine: Machine, label: str) -> Atom:
    """The form is at least 0: what it takes away stands on the left, and holes in the order of the machine."""
    order = [Monomial(name) for name in machine.hole_names]
    gives = {monomial: form[monomial] for monomial in order if form.get(monomial, 0) > 0}
    takes = {monomial: -form[monomial] for monomial in order if form.get(monomial, 0) < 0}
    constant = form.get(ONE, Fraction(0))
    if takes:
        return Atom((_sum(takes),), "<=", _sum(gives, constant), label)
    return Atom((_sum(gives),), ">=", Number(float(-constant)), label)


def _sum(holes: Form, constant: Fraction = Fraction(0)) -> Term:
    parts: list[Term] = []
    for monomial, coefficient in holes.items():
        assert monomial.hole is not None
        hole = HoleTerm(monomial.hole)
        parts.append(hole if coefficient == 1 else Product((Number(float(coefficient)), hole)))
    if not parts:
        return Number(float(constant))
    if constant:
        number = Number(float(abs(constant)))
        parts.append(number if constant > 0 else Negation(number))
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def _without_implied(subject: Subject, forbidden: Forbidden) -> Forbidden:
    """Leaves out atoms that the constraint and the others imply: a later atom may be stronger than an earlier one."""
    kept = list(zip(forbidden.atoms, forbidden.loops, strict=True))
    for pair in tuple(kept):
        others = [other for other in kept if other is not pair]
        prover = Prover(_with(subject, [atom for atom, _ in others]))
        rows = subject.machine.rows(Constraint((pair[0],)))
        if all(prover.can(negate(condition_of(row, subject.values))) is False for row in rows):
            kept = others
    return Forbidden(tuple(atom for atom, _ in kept), tuple(loop for _, loop in kept), forbidden.unproved)
