"""Reference, symbolic and batched evaluation say the same of every machine, whole or cut into rollouts anywhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srm.evaluate import batched, symbolic
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous, Walk, pay_rollout
from srm.machine.model import Machine
from srm.trajectory import Events
from tests.evaluate.busy import busy_machine, busy_stream
from tests.machines import WORDS, Stream, assignments, machines, streams


def piece(stream: Stream, low: int, high: int) -> Stream:
    """Steps low..high of a stream, as a rollout of its own."""
    events = stream.events
    inside = (events.step >= low) & (events.step < high)
    cut_events = Events(
        high - low,
        events.envs,
        events.step[inside] - np.int32(low),
        events.env[inside],
        events.event[inside],
        events.attributes[inside],
        events.signals[low:high],
    )
    return replace(
        stream,
        events=cut_events,
        terminated=stream.terminated[low:high],
        truncated=stream.truncated[low:high],
        valid=stream.valid[low:high],
    )


def pieces(stream: Stream, cuts: list[int]) -> list[Stream]:
    bounds = sorted({0, stream.events.steps, *(truncated % (stream.events.steps + 1) for truncated in cuts)})
    return [piece(stream, low, high) for low, high in pairwise(bounds)]


def by_reference(machine: Machine, rollouts: list[Stream], assignment: np.ndarray) -> np.ndarray:
    values = dict(zip(machine.hole_names, assignment.tolist(), strict=True))
    walks = [Walk(machine, WORDS, values) for _ in range(rollouts[0].events.envs)]
    paid = [pay_rollout(walks, WORDS, part.events, part.terminated | part.truncated, part.valid) for part in rollouts]
    return np.concatenate(paid)


def by_batch(program: Program, rollouts: list[Stream], holes: np.ndarray) -> np.ndarray:
    carry, paid = None, []
    for part in rollouts:
        residual, carry = symbolic.read(program, part.events, part.terminated | part.truncated, part.valid, carry)
        paid.append(batched.pay(residual, holes).dense())
    return np.concatenate(paid, axis=1)


# One draw serves every claim, since drawing a machine costs more than all evaluations of it. The reference takes each env and
# each assignment alone, so agreement also says that neither envs nor assignments disturb one another.
@settings(max_examples=150)
@given(machines(deterministic=True), streams(), st.lists(st.integers(0, 20), max_size=3), st.data())
def test_batched_pays_what_the_reference_pays_and_knows_its_gradients(
    machine: Machine, stream: Stream, cuts: list[int], data: st.DataObject
) -> None:
    holes = data.draw(assignments(machine, 3))
    program, rollouts = Program(machine, WORDS), pieces(stream, cuts)
    paid = by_batch(program, rollouts, holes)
    for row, assignment in zip(paid, holes, strict=True):
        assert row.tolist() == by_reference(machine, rollouts, assignment).tolist()
    assert_coefficients_are_gradients(program, stream, holes)


def assert_coefficients_are_gradients(program: Program, stream: Stream, holes: np.ndarray) -> int:
    """Wherever a small change of a hole leaves the same guards true, pay moves along its coefficients. How often it did."""
    residual, _ = symbolic.read(program, stream.events, stream.terminated | stream.truncated, stream.valid)
    at = batched.pay(residual, holes, coefficients=True)
    assert at.coefficients is not None
    coefficients, seen = at.coefficients.dense(), 0
    for index in range(holes.shape[1]):
        moved = holes.copy()
        moved[:, index] += 1 / 64
        near = batched.pay(residual, moved)
        same = (near.rule == at.rule).all(axis=1)  # [K]
        assert ((near.pay - at.pay)[same] == coefficients[same, :, index] / 64).all()
        seen += int(same.sum())
    return seen


def test_reference_and_batched_agree_where_much_depends_on_the_holes() -> None:
    dynamic_nodes = dynamic_counters = repayments = unfinished = gradients = 0
    for seed in range(150):
        machine, rng = busy_machine(seed), np.random.default_rng(seed)
        stream = busy_stream(seed)
        rollouts = pieces(stream, rng.integers(0, 41, 3).tolist())
        holes = rng.integers(-8, 9, (2, len(machine.holes))) / 4.0
        program = Program(machine, WORDS)
        paid = by_batch(program, rollouts, holes)
        for row, assignment in zip(paid, holes, strict=True):
            assert row.tolist() == by_reference(machine, rollouts, assignment).tolist(), f"seed {seed}"
        gradients += assert_coefficients_are_gradients(program, stream, holes)
        carry = None
        for part in rollouts:
            residual, carry = symbolic.read(program, part.events, part.terminated | part.truncated, part.valid, carry)
            repayments += len(residual.entries.array("repay_entry")) > 0
            unfinished += len(residual.past) > 0
        dynamic_nodes += program.tables.dynamic_node
        dynamic_counters += program.tables.dynamic > 0
    assert min(dynamic_nodes, dynamic_counters, repayments, unfinished, gradients) > 50  # or the test would say little


def test_what_the_firings_bring_is_what_is_paid_also_with_hindsight() -> None:
    moved = 0
    for seed in range(60):
        machine, stream = busy_machine(seed), busy_stream(seed)
        holes = np.random.default_rng(seed).integers(-8, 9, (2, len(machine.holes))) / 4.0
        residual, _ = symbolic.read(
            Program(machine, WORDS), stream.events, stream.terminated | stream.truncated, stream.valid
        )
        paid = batched.pay(residual, holes, by_rule=True)
        assert paid.contribution is not None
        assert paid.contribution.sum(axis=1).tolist() == paid.pay.sum(axis=1).tolist(), f"seed {seed}"
        assert not paid.contribution[paid.rule == batched.IDLE].any()
        moved += (paid.contribution != paid.pay).any()
    assert moved > 20  # or the test would say little of hindsight


@settings(max_examples=100)
@given(machines(), streams(), st.data())
def test_two_rules_that_hold_together_are_refused_by_both_or_by_none(
    machine: Machine, stream: Stream, data: st.DataObject
) -> None:
    holes, program = data.draw(assignments(machine, 1)), Program(machine, WORDS)
    try:
        expected = by_reference(machine, [stream], holes[0])
    except Ambiguous:
        with pytest.raises(Ambiguous, match="both hold"):
            by_batch(program, [stream], holes)
    else:
        assert by_batch(program, [stream], holes)[0].tolist() == expected.tolist()
