"""What an episode can earn, against counting it out: every step of every episode, for assignments and signals on a grid."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from srm.machine.checks.check import check, forbid_outweighing, subject_of, with_atoms
from srm.machine.checks.core.report import Finding
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Event, Signal, Vocabulary

PARKED = """
machine parking
words lot

holes ?near in 0 .. 5 ?goal in 0 .. 100

start driving
    park        // ?goal              -> parked
    otherwise   // ?near * closeness

accept parked
"""
EVENTS = (Event("park", "the car is parked"), Event("crash", "the car crashes"))


def words(*signals: Signal) -> Vocabulary:
    return Vocabulary("lot", EVENTS, signals=signals or (Signal("closeness", "how near the place is", 0, 1),))


def findings(machine: Machine, vocabulary: Vocabulary, horizon: int | None, severity: str) -> list[Finding]:
    return list(check(machine, vocabulary, horizon=horizon).of("episode", severity))


def test_pay_at_every_step_that_can_outweigh_a_milestone_is_a_warning_with_the_atom_that_forbids_it() -> None:
    machine = parse(PARKED)
    (warning,) = findings(machine, words(), 100, "warning")
    assert "over 100 steps" in warning.message
    assert "100 * ?near" in warning.message
    assert warning.witness is not None
    near, goal = (Fraction(warning.witness.assignment[name]) for name in ("near", "goal"))
    assert 100 * near > goal
    assert warning.witness.atoms == ("forbidden by: 100 * ?near <= ?goal",)


def test_with_the_atom_pasted_it_is_proved_never_to_outweigh() -> None:
    machine = parse(PARKED + 'constraint\n    "pasted"  100 * ?near <= ?goal\n')
    assert not findings(machine, words(), 100, "warning")
    assert any("never pays more" in note.message for note in findings(machine, words(), 100, "note"))
    assert findings(machine, words(), 101, "warning")  # one step more


def test_without_a_horizon_or_a_range_the_report_says_what_is_missing() -> None:
    machine = parse(PARKED)
    (note,) = findings(machine, words(), None, "note")
    assert "--horizon N" in note.message
    unknown = words(Signal("closeness", "how near", 0, None))
    assert any("declare how far closeness can go" in note.message for note in findings(machine, unknown, 9, "note"))


def test_an_open_end_that_no_allowed_weight_turns_to_matters_not() -> None:
    costs = words(Signal("closeness", "a cost", None, 0))
    assert not findings(parse(PARKED), costs, 100, "warning")
    assert any("never pays more" in note.message for note in findings(parse(PARKED), costs, 100, "note"))


def test_cost_that_can_exceed_the_milestone_is_a_note() -> None:
    costs = words(Signal("closeness", "a cost", -1, 0))
    assert any("can cost more than" in note.message for note in findings(parse(PARKED), costs, 100, "note"))


def test_machines_that_pay_by_event_alone_are_not_asked() -> None:
    machine = parse("machine m\nwords lot\nholes ?a\nstart s\n    crash // ?a\n    park // 1 -> t\naccept t")
    assert not check(machine, words(), horizon=10).of("episode")


def test_a_milestone_that_can_be_repeated_is_none() -> None:
    machine = parse(PARKED.replace("accept parked", "node parked\n    crash // 0 -> driving\naccept never"))
    assert not findings(machine, words(), 100, "warning")


# Against counting it out

VALUES = [Fraction(value) for value in (-2, -1, 0, 1, 2)]
RANGES = [(-1, 1), (0, 2), (-2, -1), (0, 0), (1, 1)]


def random_machine(rng: np.random.Generator) -> tuple[Machine, Vocabulary]:
    a, b, c, d = (int(number) for number in rng.integers(-2, 3, 4))
    ranges = [RANGES[i] for i in rng.integers(len(RANGES), size=2)]
    signals = [Signal(name, name, *ends) for name, ends in zip("xy", ranges, strict=True)]
    text = f"""
machine random
words lot
holes ?p in -2 .. 2 ?q in -2 .. 2
start here
    park       // {c} * ?q + {d} * ?q * y -> there
    otherwise  // {a} * ?p * x + {b} * ?q + ?p * y * {a + b}
accept there
constraint
    ?p <= {int(rng.integers(-1, 3))}
"""
    return parse(text), words(*signals)


def outweighs(machine: Machine, vocabulary: Vocabulary, steps: int, p: Fraction, q: Fraction) -> bool:
    """Whether some N steps pay more than the milestone at some signals, by trying the ends of their ranges at every step."""
    ends = [dict(zip("xy", pair, strict=True)) for pair in product(*((s.low, s.high) for s in vocabulary.signals))]
    milestone, dense = machine.nodes[0].rules

    def paid(rule_pay: object, at: dict[str, float]) -> Fraction:
        total = Fraction(0)
        for monomial, factor in machine.form(rule_pay).items():  # type: ignore[arg-type]
            product_ = factor * {"p": p, "q": q, None: Fraction(1)}[monomial.hole]
            for name in monomial.signals:
                product_ *= Fraction(at[name])
            total += product_
        return total

    totals = [sum(way) for way in product([paid(dense.pay, at) for at in ends], repeat=steps)]
    return max(totals) > min(paid(milestone.pay, at) for at in ends)


@pytest.mark.parametrize("seed", range(40))
def test_the_answer_is_that_of_counting_it_out(seed: int) -> None:
    machine, vocabulary = random_machine(np.random.default_rng(seed))
    steps = 3
    constraint = machine.constraint()
    assert constraint is not None
    (row,) = constraint.atoms[0].rows(machine.hole_names)
    allowed = [(p, q) for p in VALUES for q in VALUES if p <= row.bound]
    counted = [pair for pair in allowed if outweighs(machine, vocabulary, steps, *pair)]
    warnings = findings(machine, vocabulary, steps, "warning")
    judged = all(machine.form(rule.pay) for rule in machine.nodes[0].rules)  # what pays nothing is no rival
    assert not (judged and counted) or warnings
    for warning in warnings:
        assert warning.witness is not None
        example = {name: Fraction(value) for name, value in warning.witness.assignment.items()}
        assert outweighs(machine, vocabulary, steps, example["p"], example["q"])

    # Under the atoms nothing outweighs, and every assignment that does is forbidden
    forbidden = forbid_outweighing(subject_of(machine, vocabulary, None), steps)
    kept = replace(machine, constraints=(with_atoms(constraint, forbidden.atoms),))
    if not forbidden.unproved:
        assert not findings(kept, vocabulary, steps, "warning")
        rows = [row for atom in forbidden.atoms for row in atom.rows(machine.hole_names)]
        for p, q in counted if judged else []:
            values = {"p": p, "q": q}
            assert any(sum(c * values[name] for name, c in row.coefficients.items()) > row.bound for row in rows)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_and_the_least_total_are_those_of_counting_it_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (int(number) for number in rng.integers(-3, 4, 3))
    low, high = sorted(rng.integers(-2, 3, 2).tolist())
    text = f"""
machine totals
words lot
start here
    park       // {c} -> there
    otherwise  // {a} * x + {b}
node there
    always     // {b} * x
accept end
"""
    machine, vocabulary, steps = parse(text), words(Signal("x", "x", low, high)), 4
    totals = []
    for way in product(*([[("stay", low), ("stay", high), ("go", 0)]] * steps)):
        for ends in product((low, high), repeat=steps):
            total, there = 0, False
            for (choice, x), other in zip(way, ends, strict=True):
                total += b * other if there else c if choice == "go" else a * x + b
                there = there or choice == "go"
            totals.append(total)
    notes = [note.message for note in findings(machine, vocabulary, steps, "note")]
    if a or b:
        assert f"an episode of 4 steps earns {min(totals)} at least and {max(totals)} at most" in notes
