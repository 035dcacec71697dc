"""The report on two machines: equal on every trace, different on a shortest one, or equal as far as was looked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srm.machine.affine import Form, Monomial
from srm.machine.checks.compare.induction import pays_the_same
from srm.machine.checks.compare.pair import Pair, pair_of
from srm.machine.checks.compare.search import SearchOutcome, find_difference
from srm.machine.checks.core.conditions import TRUE, Reading
from srm.machine.checks.core.letters import TooManyLetters
from srm.machine.checks.core.report import Finding, Witness, WitnessStep, assignment_text, form_text, fraction_text
from srm.machine.checks.core.solve import Answer, Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.model import Machine

MOST_STEPS = 12
SECONDS = 10.0  # for the search; a proof takes a fraction of a second


def check_against(
    subject: Subject, other: Machine, most_steps: int = MOST_STEPS, seconds: float = SECONDS
) -> Iterator[Finding]:
    # What the comparison leaves out: holes of one machine alone, and what the values of one break in the other
    pair = pair_of(subject, other)
    yield from _unmatched(subject.machine, other)
    kept = pair.first.subject.machine.spaces
    missed = [str(within) for within in subject.machine.spaces if within not in kept]
    if missed:
        message = (
            f"its values lie outside the spaces of {subject.machine.name}: {', '.join(missed)}; asked without these"
        )
        yield Finding("note", "against", other.name, message)
    if _broken(pair):
        yield Finding(
            "note", "against", other.name, "the values that one machine gives break the constraint; asked without it"
        )
        pair = pair_of(replace(subject, constraint=None), other)

    # A proof, and only if there is none a search: the proof takes a fraction of a second, the search all that it is given
    prover = Prover(pair)
    try:
        proof = pays_the_same(pair, prover)
        outcome = find_difference(pair, prover, most_steps, seconds) if proof is None else None
    except TooManyLetters as reason:
        yield Finding("warning", "against", other.name, f"not decided: {reason}")
        return

    if outcome is None:
        assert proof is not None
        message = f"pays the same on every trace; proved by induction over {len(proof)} pairs of nodes"
        yield Finding("note", "against", other.name, message)
        apart = [f"{a} / {b}" for a, b in proof if _accepts(pair, 0, a) != _accepts(pair, 1, b)]
        if apart:
            message = f"one machine may accept where the other does not: at {', '.join(apart)}"
            yield Finding("warning", "against", other.name, message)
    else:
        yield _outcome(pair, other, outcome)


def _broken(pair: Pair) -> bool:
    return bool(pair.first.subject.broken_rows) or Prover(pair).can(TRUE) is False


def _unmatched(machine: Machine, other: Machine) -> Iterator[Finding]:
    for one, two in ((machine, other), (other, machine)):
        alone = [f"?{name}" for name in one.hole_names if name not in two.hole_names]
        if alone:
            yield Finding("note", "against", other.name, f"holes of {one.name} alone: {', '.join(alone)}")


def _accepts(pair: Pair, side: int, node: str) -> bool:
    return (pair.first, pair.second)[side].subject.machine.node(node).accepting


def _outcome(pair: Pair, other: Machine, outcome: SearchOutcome) -> Finding:
    if outcome.walk is None and outcome.complete and outcome.sure:
        return Finding("note", "against", other.name, "pays the same on every trace; all were looked at")
    if outcome.walk is None:
        reach = (
            f"on every trace of up to {outcome.steps} steps" if outcome.sure else "on every trace that could be decided"
        )
        message = f"pays the same {reach}; not decided beyond"
        return Finding("warning", "against", other.name, message)
    assert outcome.example is not None
    example = outcome.example
    steps = [
        WitnessStep(
            nodes[0],
            tuple(map(str, letter.occurrences)),
            None,
            _in_numbers(one, example),
            nodes[1],
            None,
            _in_numbers(two, example),
        )
        for letter, nodes, (one, two) in zip(outcome.walk.trace, outcome.walk.visited, outcome.walk.pays, strict=True)
    ]
    count = len(steps)
    witness = Witness(
        assignment=assignment_text(example.holes),
        signals={name: fraction_text(value) for name, value in example.signals.items()},
        steps=tuple(steps),
    )
    shortest = ", and on none that is shorter" if outcome.sure else ""
    message = f"pays differently on a trace of {count} step{'s' * (count != 1)}{shortest}"
    return Finding("error", "against", other.name, message, witness)


def _in_numbers(form: Form, example: Answer) -> str:
    """A pay as it is written and what it comes to: ?find_key - ?open = 0.25."""
    total = Reading(example.holes, {}, example.signals).value(form)
    plain = set(form) <= {Monomial()}
    return fraction_text(total) if plain else f"{form_text(form)} = {fraction_text(total)}"
