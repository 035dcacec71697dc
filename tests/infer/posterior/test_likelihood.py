"""Each likelihood against the definition, one step and one episode at a time, on random machines and random streams of events."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from srm.errors import DemonstrationError, TrajectoryError
from srm.evaluate.program import Program
from srm.evaluate.reference import Walk, pay_rollout
from srm.infer.posterior.evidence import FLOOR, Evidence, Play
from srm.infer.posterior.likelihood import StepLikelihood, TotalLikelihood, TrajectoryLikelihood
from srm.infer.posterior.sample import Density, PosteriorConfig
from srm.machine.model import Machine
from srm.trajectory import Events, Rollout
from tests.evaluate.busy import busy_machine, busy_stream
from tests.machines import WORDS, Stream, assignments, machines, streams


class Streams:
    """A vocabulary that reads in each rollout what happened in the stream it was made of."""

    vocabulary = WORDS

    def __init__(self) -> None:
        self.events: dict[int, Events] = {}

    def rollout(self, stream: Stream) -> Rollout:
        steps, envs = stream.valid.shape
        made = Rollout(
            np.zeros((steps + 1, envs), np.uint8),
            np.zeros((steps, envs), np.int64),
            np.zeros((steps + 1, envs, 0), np.int16),
            np.zeros((steps, envs), np.float32),
            stream.terminated,
            stream.truncated,
            stream.valid,
        )
        self.events[id(made)] = stream.events
        return made

    def read(self, rollout: Rollout) -> Events:
        return self.events[id(rollout)]


def evidence_of(machine: Machine, demo: Stream, plays: Sequence[Stream], log_probs: Sequence[float]) -> Evidence:
    """Each policy takes every action with one log-probability of its own."""
    vocabulary = Streams()
    demonstrated = vocabulary.rollout(demo)
    listed = tuple(
        Play(vocabulary.rollout(play), np.full(play.valid.shape, p), np.full(demo.valid.shape, p))
        for play, p in zip(plays, log_probs, strict=True)
    )
    return Evidence.of(Program(machine, WORDS), vocabulary, demonstrated, listed)


def paid(machine: Machine, stream: Stream, assignment: np.ndarray) -> np.ndarray:
    values = dict(zip(machine.hole_names, assignment.tolist(), strict=True))
    walks = [Walk(machine, WORDS, values) for _ in range(stream.valid.shape[1])]
    return pay_rollout(walks, WORDS, stream.events, stream.terminated | stream.truncated, stream.valid)


def episodes(stream: Stream, numbers: np.ndarray) -> list[float]:
    """Sums of numbers [T, B] over the episodes that come to their end."""
    sums = []
    for env in range(stream.valid.shape[1]):
        total = 0.0
        for step in range(stream.valid.shape[0]):
            total += float(numbers[step, env]) if stream.valid[step, env] else 0.0
            if (stream.terminated | stream.truncated)[step, env]:
                sums.append(total)
                total = 0.0
    return sums


def log_sigmoid(x: float) -> float:
    return -log1p(exp(-x)) if x > 0 else x - log1p(exp(x))


def slow_steps(
    machine: Machine, demo: Stream, plays: Sequence[Stream], log_probs: Sequence[float], holes: np.ndarray, c: float
) -> float:
    demonstrated = int(demo.valid.sum())
    total, each = 0.0, 2.0 * demo.valid.shape[1] / demonstrated  # a demonstration counts for two steps
    for play, log_prob in zip(plays, log_probs, strict=True):
        floored = max(log_prob, FLOOR)
        for pay in paid(machine, demo, holes)[demo.valid]:
            total += log_sigmoid(pay - c - floored) * each / len(plays)
        for pay in paid(machine, play, holes)[play.valid]:
            total += log_sigmoid(-(pay - c - floored)) * each * demonstrated / (len(plays) * play.valid.sum())
    return total


def slow_totals(machine: Machine, demo: Stream, plays: Sequence[Stream], holes: np.ndarray) -> float:
    ours = episodes(demo, paid(machine, demo, holes))
    met = [theirs for play in plays if (theirs := episodes(play, paid(machine, play, holes)))]
    if not met:
        return 0.0
    return min(sum(log_sigmoid(mine - other) / len(theirs) for mine in ours for other in theirs) for theirs in met)


def slow_trajectories(
    machine: Machine, demo: Stream, plays: Sequence[Stream], log_probs: Sequence[float], holes: np.ndarray
) -> float:
    total, met = 0.0, 0
    for play, log_prob in zip(plays, log_probs, strict=True):
        ours = episodes(demo, paid(machine, demo, holes) - log_prob)
        theirs = episodes(play, paid(machine, play, holes) - log_prob)
        met += bool(theirs)
        if theirs:
            total += sum(mine - log(exp(mine) + sum(exp(other) for other in theirs)) for mine in ours)
    return total / max(1, met)


def assert_all_agree(
    machine: Machine,
    demo: Stream,
    plays: Sequence[Stream],
    log_probs: Sequence[float],
    holes: np.ndarray,
    c: np.ndarray,
) -> None:
    evidence = evidence_of(machine, demo, plays, log_probs)
    pays = [side.pay(holes) for side in evidence.sides]
    kinds = StepLikelihood.of(evidence, temper=2.0), TotalLikelihood.of(evidence), TrajectoryLikelihood.of(evidence)
    steps, totals, trajectories = (kind(pays, c) for kind in kinds)
    for k, (row, idle) in enumerate(zip(holes, c.tolist(), strict=True)):
        assert steps[k] == pytest.approx(slow_steps(machine, demo, plays, log_probs, row, idle), abs=1e-9)
        assert totals[k] == pytest.approx(slow_totals(machine, demo, plays, row), abs=1e-9)
        assert trajectories[k] == pytest.approx(slow_trajectories(machine, demo, plays, log_probs, row), abs=1e-9)


LOG_PROBS = st.sampled_from((-3.0, -1.25, -0.5))


@settings(max_examples=15)
@given(
    machines(deterministic=True),
    streams(),
    st.lists(st.tuples(streams(), LOG_PROBS), min_size=1, max_size=2),
    st.data(),
)
def test_fast_and_slow_agree_for_every_machine(
    machine: Machine, demo: Stream, played: list[tuple[Stream, float]], data: st.DataObject
) -> None:
    holes = data.draw(assignments(machine, 2))
    assume((paid(machine, demo, holes[0]) != 0).any())  # or there may be nothing to learn from
    assume(all(play.valid.any() for play, _ in played))
    plays, log_probs = [play for play, _ in played], [log_prob for _, log_prob in played]
    assert_all_agree(machine, demo, plays, log_probs, holes, np.array([-1.0, 0.5]))


def test_fast_and_slow_agree_where_much_depends_on_the_holes() -> None:
    for seed in range(0, 40, 4):
        machine, rng = busy_machine(seed), np.random.default_rng(seed)
        holes = rng.integers(-8, 9, (2, len(machine.holes))) / 4.0
        plays = [busy_stream(seed + 1), busy_stream(seed + 2)]
        assert_all_agree(machine, busy_stream(seed), plays, [-1.25, -0.5], holes, rng.normal(size=2))


def test_log_probabilities_of_silent_steps_are_grouped_with_little_loss() -> None:
    machine, vocabulary, rng = busy_machine(0), Streams(), np.random.default_rng(0)
    demo, play = busy_stream(0), busy_stream(1)
    log_probs = [np.log(rng.random(stream.valid.shape)) for stream in (demo, play)]
    demonstrated, played = vocabulary.rollout(demo), vocabulary.rollout(play)
    evidence = Evidence.of(
        Program(machine, WORDS), vocabulary, demonstrated, (Play(played, log_probs[1], log_probs[0]),)
    )
    steps, c = StepLikelihood.of(evidence, evidence.demonstrations.steps / demo.valid.shape[1]), np.array([-1.0])
    silent = 0.0
    for side, log_prob, sign in zip(evidence.sides, log_probs, (1, -1), strict=True):
        quiet = side.valid.copy()
        quiet[side.residual.entries.step, side.residual.entries.env] = False
        weight = 1.0 if sign == 1 else evidence.demonstrations.steps / side.steps
        silent += weight * sum(log_sigmoid(sign * (1.0 - max(x, FLOOR))) for x in log_prob[quiet].tolist())
    assert steps.silent(c).sum() == pytest.approx(silent, rel=2e-3)


def test_steps_are_tempered_and_totals_are_not() -> None:
    machine = busy_machine(0)
    evidence = evidence_of(machine, busy_stream(0), [busy_stream(1)], [-1.25])
    x = np.random.default_rng(0).normal(size=(3, len(machine.holes) + 1))
    steps, totals, both = (
        Density(evidence, PosteriorConfig(likelihood=kind, temper=temper))(x)
        for kind, temper in (("steps", 1.0), ("totals", 0.5), ("both", 0.25))
    )
    assert both == pytest.approx(0.25 * steps + totals)


def test_without_play_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(DemonstrationError, match="no play to compare"):
        evidence_of(busy_machine(0), busy_stream(0), [], [])


def test_log_probabilities_must_be_of_the_same_steps() -> None:
    vocabulary = Streams()
    demo, play = vocabulary.rollout(busy_stream(0)), vocabulary.rollout(busy_stream(1))
    with pytest.raises(TrajectoryError, match="log_prob: shape"):
        Play(play, np.zeros((1, 1)), np.zeros(demo.actions.shape))
    wrong = Play(play, np.zeros(play.actions.shape), np.zeros((1, 1)))
    with pytest.raises(TrajectoryError, match="demonstrated_log_prob: shape"):
        Evidence.of(Program(busy_machine(0), WORDS), vocabulary, demo, (wrong,))
