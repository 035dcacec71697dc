"""Paid step by step, a machine pays what its definition says, whatever the machine and whatever happens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srm.errors import TaskError
from srm.evaluate.places import counter_bounds, places
from srm.evaluate.reference import Ambiguous, Walk, happenings, signals_at
from srm.evaluate.show_node import NodeView
from srm.evaluate.step_payer import StepPayer
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Balance, Event, Vocabulary
from srm.trajectory import Events, Rollout
from tests.evaluate.busy import busy_machine, busy_stream
from tests.evaluate.test_agreement import by_reference, piece
from tests.machines import WORDS, Stream, assignments, machines, streams


class Scripted:
    """Reads what a stream says, whatever is observed: observation t is its step."""

    vocabulary = WORDS

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def read(self, rollout: Rollout) -> Events:
        step = int(rollout.observations[1, 0, 0])
        return piece(self.stream, step, step + 1).events


def seen(step: int, envs: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((envs, 1), step), np.zeros((envs, 0), np.int16)


def assert_pays_as_defined(machine: Machine, stream: Stream, values: dict[str, float]) -> int:
    """Pay, rule, node and counters of every step, and every episode's corrected pay. How many steps hindsight changed."""
    envs, steps, changed = stream.events.envs, stream.events.steps, 0
    payer = StepPayer(machine, Scripted(stream), values, envs=envs, outside_constraint=True)
    payer.begin(seen(-1, envs))
    walks = [Walk(machine, WORDS, values) for _ in range(envs)]
    happened = happenings(stream.events, WORDS)
    for t in range(steps):
        over = stream.terminated[t] | stream.truncated[t]
        judgements = [
            walk.step(happened[t][env], signals_at(stream.events, WORDS, t, env)) if stream.valid[t, env] else None
            for env, walk in enumerate(walks)
        ]
        payer.step(
            np.zeros(envs, np.int64), seen(t, envs), stream.terminated[t], stream.truncated[t], valid=stream.valid[t]
        )
        assert payer.pay.tolist() == [judgement.pay if judgement else 0.0 for judgement in judgements]
        assert payer.labels[payer.rule].tolist() == [judgement.rule if judgement else None for judgement in judgements]
        assert payer.node_names[payer.nodes].tolist() == [walk.node for walk in walks]
        assert payer.counts.tolist() == [list(walk.counts.values()) for walk in walks]
        for env in np.flatnonzero(over):
            if payer.repays:
                assert payer.corrected(env).tolist() == walks[env].pay
                changed += walks[env].pay != [judgement.pay for judgement in walks[env].held]
            walks[env].begin_episode()
        if over.any():
            payer.restart(over)
    return changed


@settings(max_examples=100)
@given(machines(deterministic=True), streams(), st.data())
def test_a_step_is_paid_as_the_reference_pays_it(machine: Machine, stream: Stream, data: st.DataObject) -> None:
    (holes,) = data.draw(assignments(machine, 1))
    assert_pays_as_defined(machine, stream, dict(zip(machine.hole_names, holes.tolist(), strict=True)))


def test_also_where_much_depends_on_the_holes() -> None:
    repaid = 0
    for seed in range(60):
        machine, rng = busy_machine(seed), np.random.default_rng(seed)
        holes = rng.integers(-8, 9, len(machine.holes)) / 4.0
        values = dict(zip(machine.hole_names, holes.tolist(), strict=True))
        repaid += assert_pays_as_defined(machine, busy_stream(seed), values)
    assert repaid > 20  # or the test would say little of hindsight


@settings(max_examples=60)
@given(machines(), streams(), st.data())
def test_two_rules_that_hold_together_are_refused_as_the_reference_does(
    machine: Machine, stream: Stream, data: st.DataObject
) -> None:
    (holes,) = data.draw(assignments(machine, 1))
    values = dict(zip(machine.hole_names, holes.tolist(), strict=True))
    try:
        by_reference(machine, [stream], holes)
    except Ambiguous:
        with pytest.raises(Ambiguous, match="both hold"):
            play(machine, stream, values)
    else:
        play(machine, stream, values)


def play(machine: Machine, stream: Stream, values: dict[str, float]) -> None:
    payer = StepPayer(machine, Scripted(stream), values, envs=stream.events.envs, outside_constraint=True)
    payer.begin(seen(-1, payer.envs))
    nothing = np.zeros(payer.envs, np.int64)
    for t, (terminated, truncated, valid) in enumerate(
        zip(stream.terminated, stream.truncated, stream.valid, strict=True)
    ):
        payer.step(nothing, seen(t, payer.envs), terminated, truncated, valid=valid)
        payer.restart(terminated | truncated)


def test_other_values_pay_from_the_next_step_on_and_the_machine_stays_where_it_is() -> None:
    machine, stream = busy_machine(3), busy_stream(3)
    payer = StepPayer(machine, Scripted(stream), dict.fromkeys(machine.hole_names, 1.0), envs=stream.events.envs)
    payer.begin(seen(-1, payer.envs))
    for t in range(10):
        payer.step(np.zeros(payer.envs, np.int64), seen(t, payer.envs), False, False)
    before = payer.nodes.tolist(), payer.counts.tolist()
    payer.concretize(dict.fromkeys(machine.hole_names, 2.0), outside_constraint=True)
    assert (payer.nodes.tolist(), payer.counts.tolist()) == before


# Where a machine can stand

COUNTING = """
machine counting
holes ?pay = 1 ?cost = -0.25
counters
    #few  counts knock
    #all  counts ring
    #once counts open
    #paid counts rule knocked
start one
    knocked: knock and #few < 3  // ?pay
    ring                // ?pay + #all * ?cost
    open                // #once * ?pay  -> two
node two
    knock and #paid * ?cost + ?pay > 0  // ?pay + ?cost * #paid
accept three
"""
HOUSE = Vocabulary(
    "house", tuple(Event(name, name) for name in ("knock", "ring", "open")), balances=(Balance(("open",), most=1),)
)


class Quiet:
    """Nothing ever happens in this house."""

    vocabulary = HOUSE

    def read(self, rollout: Rollout) -> Events:
        none = np.zeros(0, np.int32)
        return Events(1, rollout.envs, none, none, none, np.zeros((0, 0), np.int32), np.zeros((1, rollout.envs, 0)))


def test_a_counter_is_bounded_where_it_makes_no_difference_further_on() -> None:
    machine = parse(COUNTING)
    few, all_rings, once, paid = counter_bounds(machine, HOUSE, machine.values())
    assert few is not None
    assert 3 <= few <= 5  # `#few < 3` has one answer from 3 on
    assert all_rings is None  # every ring pays by it
    assert once == 1  # opened at most once
    assert paid is not None
    assert 4 <= paid <= 6  # the rule that pays by it is silent from 4 on


def test_places_are_all_nodes_with_rules_times_all_counts_that_matter() -> None:
    machine = parse(COUNTING)
    nodes, counts = places(machine, (1, None, 1, None), np.array([[7, 5, 9, 2]], np.int32))
    assert nodes.shape == (1, 2 * 2 * 2)
    assert set(nodes[0].tolist()) == {0, 1}
    assert {tuple(row) for row in counts[0].tolist()} == {(a, 5, b, 2) for a in (0, 1) for b in (0, 1)}


@settings(max_examples=60)
@given(machines(deterministic=True), streams(), st.data())
def test_counted_beyond_its_bound_a_counter_changes_nothing(
    machine: Machine, stream: Stream, data: st.DataObject
) -> None:
    (holes,) = data.draw(assignments(machine, 1))
    values = dict(zip(machine.hole_names, holes.tolist(), strict=True))
    bounds = counter_bounds(machine, WORDS, values)
    envs, happened = stream.events.envs, happenings(stream.events, WORDS)
    for env in range(envs):
        plain, beyond = Walk(machine, WORDS, values), Walk(machine, WORDS, values)
        for t in range(stream.events.steps):
            for (name, count), bound in zip(plain.counts.items(), bounds, strict=True):
                if bound is not None and count >= bound:
                    beyond.counts[name] = count + 3
            step = happened[t][env], signals_at(stream.events, WORDS, t, env)
            first, second = plain.step(*step), beyond.step(*step)
            assert (first.rule, first.pay, first.target) == (second.rule, second.pay, second.target)


def test_bounded_counters_are_shown_one_hot_and_others_scaled() -> None:
    view = NodeView.of(StepPayer(parse(COUNTING), Quiet(), None, envs=1), "counters")
    assert view is not None
    shown = view.at(np.array([1], np.int32), np.array([[9, 8, 1, 0]], np.int32))
    assert shown["node"].tolist() == [[0, 1, 0]]
    few, _, once, paid = view.bounds
    assert few is not None
    assert once is not None
    assert paid is not None
    assert shown["counters"].tolist() == [[*[0] * few, 1, 0.5, 0, 1, 1, *[0] * paid]]
    assert shown["counters"].shape[1] == view.sizes["counters"]


# What does not fit


def test_a_step_before_the_first_episode_is_refused() -> None:
    payer = StepPayer(parse(COUNTING), Quiet(), None, envs=1)
    with pytest.raises(TaskError, match=r"call reset\(\) first"):
        payer.step(np.zeros(1, np.int64), seen(0, 1), False, False)


def test_events_of_another_vocabulary_are_refused() -> None:
    class Wrong(Quiet):
        def read(self, rollout: Rollout) -> Events:
            none = np.zeros(0, np.int32)
            return Events(1, 1, none, none, none, np.zeros((0, 0), np.int32), np.zeros((1, 1, 2)))

    payer = StepPayer(parse(COUNTING), Wrong(), None, envs=1)
    payer.begin(seen(0, 1))
    with pytest.raises(TaskError, match="other events than its vocabulary house has"):
        payer.step(np.zeros(1, np.int64), seen(0, 1), False, False)


def test_words_that_cannot_read_these_observations_are_a_sentence() -> None:
    class Far(Quiet):
        def read(self, rollout: Rollout) -> Events:
            assert rollout.after()[..., 6].any()
            return super().read(rollout)

    payer = StepPayer(parse(COUNTING), Far(), None, envs=1)
    payer.begin(seen(0, 1))
    with pytest.raises(TaskError, match=r"the words house cannot read observations of int64 \[1\]: index 6"):
        payer.step(np.zeros(1, np.int64), seen(0, 1), False, False)
