"""What the checks say of random machines, held against the reference evaluator: proofs are never broken by what happens, and
witnesses do what they claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from srm.evaluate.reference import Ambiguous, Attributes, Judgement, Walk, happenings
from srm.machine.checks.check import check, compare
from srm.machine.checks.core.conditions import Reading
from srm.machine.checks.core.rules import find_living
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.terms import Cell
from srm.machine.vocabulary import NOTHING, pack_cell
from tests.machines import WORDS, Stream, machines, quarters, streams

Happened = Mapping[str, Attributes]


def assigned(draw: st.DataObject, machine: Machine) -> dict[str, float]:
    """The machine's own values, and any for the holes it leaves open."""
    return {hole.name: hole.value if hole.value is not None else draw.draw(quarters()) for hole in machine.holes}


def run(machine: Machine, assignment: Mapping[str, float], stream: Stream) -> Iterator[tuple[Walk, Judgement]]:
    """Every real step of every env, each env as one episode; a walk ends where two rules hold."""
    told = happenings(stream.events, WORDS)
    for env in range(stream.events.envs):
        walk = Walk(machine, WORDS, assignment)
        for step in range(stream.events.steps):
            signals = {s.name: float(stream.events.signals[step, env, i]) for i, s in enumerate(WORDS.signals)}
            yield walk, walk.step(told[step][env], signals)


@settings(max_examples=25)
@given(machines(), streams(), st.data())
def test_machines_said_to_be_deterministic_are(machine, stream, data):
    report = check(machine, WORDS, "none")
    if report.of("determinism", "error") or report.of("determinism", "warning"):
        return
    for _ in run(machine, assigned(data, machine), stream):
        pass


@settings(max_examples=25)
@given(machines(deterministic=True), streams(), st.data())
def test_facts_about_counters_hold_and_dead_rules_never_fire(machine, stream, data):
    subject = Subject(machine, WORDS)
    living, _ = find_living(subject, Prover(subject))
    for walk, said in run(machine, assigned(data, machine), stream):
        assert said.rule not in living.dead
        assert walk.node in living.reached
        reading = Reading(counters=said.counts)
        assert all(reading.holds(fact) for fact in living.facts[said.node])


@settings(max_examples=25)
@given(machines())
def test_an_example_of_two_rules_holding_is_one(machine):
    for finding in check(machine, WORDS, "none").of("determinism", "error"):
        walk = at_witness(machine, finding.witness)
        with pytest.raises(Ambiguous):
            walk.step(happened(finding.witness.events), signals_of(finding.witness.signals))


@settings(max_examples=25)
@given(machines(deterministic=True, values=True))
def test_a_loop_that_can_be_repeated_is_and_gains(machine):
    for finding in check(machine, WORDS, "none").of("farming", "warning"):
        if ": can be repeated without end" not in finding.message:
            continue
        walk = at_witness(machine, finding.witness)
        walk.node = finding.witness.steps[0].node
        for _ in range(3):
            gained = 0.0
            for number, step in enumerate(finding.witness.steps, start=1):
                readings = {
                    s.name: finding.witness.signals.get(f"{s.name} at step {number}", "0") for s in WORDS.signals
                }
                said = walk.step(happened(step.events), signals_of(readings))
                assert (said.node, said.rule) == (step.node, step.rule)
                gained += said.pay
            assert gained > 0
            assert walk.node == finding.witness.steps[0].node


@settings(max_examples=60)
@given(machines(deterministic=True, values=True), streams(most_worlds=1, most_steps=4))
def test_a_trace_that_gains_whenever_it_is_repeated_is_not_said_to_be_impossible(machine, stream):
    if any(rule.hindsight for _, rule, _ in machine.rules):
        return  # what is paid at once may be taken back
    told = [steps[0] for steps in happenings(stream.events, WORDS)]
    walk = Walk(machine, WORDS, machine.values())
    gains = []
    for _ in range(100):  # counters are compared with numbers far below
        walk.forget()
        for step, happened_now in enumerate(told):
            walk.step(
                happened_now, {s.name: float(stream.events.signals[step, 0, i]) for i, s in enumerate(WORDS.signals)}
            )
        gains.append(sum(walk.pay))
    accepts = any(machine.node(said.node).accepting for said in walk.held)
    if min(gains[-20:]) > 0 and not accepts:
        event("gains")
        assert check(machine, WORDS, "none").of("farming", "warning")


@settings(max_examples=25)
@given(machines(), machines())
def test_two_machines_differ_where_they_are_said_to(machine, other):
    report = compare(machine, other, WORDS, "none", most_steps=3, seconds=1)
    for finding in report.of("against", "error"):
        steps = finding.witness.steps
        walks = [at_witness(m, finding.witness, machine if m is other else other) for m in (machine, other)]
        for walk in walks:
            walk.begin_episode()
            for number, step in enumerate(steps, start=1):
                readings = {
                    s.name: finding.witness.signals.get(f"{s.name} at step {number}", "0") for s in WORDS.signals
                }
                walk.step(happened(step.events), signals_of(readings))
        assert [value_of(step.pay) for step in steps] == pytest.approx(walks[0].pay)
        assert [value_of(step.other_pay) for step in steps] == pytest.approx(walks[1].pay)
        assert walks[0].pay != pytest.approx(walks[1].pay)


@settings(max_examples=25)
@given(machines())
def test_a_machine_pays_as_its_copy_with_other_names_does(machine):
    copy = parse(re.sub(r"count(\d)", r"tally\1", re.sub(r"room(\d)", r"hall\1", str(machine))))
    report = compare(machine, copy, WORDS, "none")
    assert "pays the same on every trace; proved by induction" in report.of("against", "note")[0].message


# Reading witnesses


def at_witness(machine: Machine, witness, other: Machine | None = None) -> Walk:
    values = {hole.name: hole.value for m in (other, machine) if m for hole in m.holes if hole.value is not None}
    assignment = {name: float(Fraction(text)) for name, text in witness.assignment.items()} | values
    walk = Walk(machine, WORDS, {name: assignment[name] for name in machine.hole_names})
    walk.node = witness.node or machine.start
    walk.counts |= witness.counters
    return walk


def happened(events: tuple[str, ...]) -> Happened:
    """From the words of a witness, `pick where colour = red, place = (1, 2)`, to attributes."""
    found: dict[str, Attributes] = {}
    for text in events:
        name, _, tests = text.partition(" where ")
        attributes = dict.fromkeys(WORDS.events[WORDS.event_index[name]].attributes, NOTHING)
        told = (
            tests.replace(", (", " (").replace("), ", ");").replace(", colour", ";colour").replace(", place", ";place")
        )
        for test in filter(None, told.split(";")):
            attribute, value = test.split(" = ")
            attributes[attribute] = attribute_value(attribute, value)
        found[name] = attributes
    return found


def attribute_value(attribute: str, text: str) -> int:
    if text == "none":
        return NOTHING
    values = WORDS.attributes[WORDS.attribute_index[attribute]].values
    if values is not None:
        return values.index(text)
    x, y = text.strip("()").split(", ")
    cell = Cell(int(x), int(y))
    return pack_cell(cell.x, cell.y)


def signals_of(readings: Mapping[str, str]) -> dict[str, float]:
    return {signal.name: float(Fraction(readings.get(signal.name, "0"))) for signal in WORDS.signals}


def value_of(pay: str) -> float:
    """`?find_key - ?open = 0.25` comes to 0.25."""
    return float(Fraction(pay.rsplit(" = ", 1)[-1]))
