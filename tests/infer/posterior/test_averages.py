"""Averages of episodes as evidence: the definition, when they are the default, and whether weights that are known are covered."""

from __future__ import annotations

from functools import cache
from math import exp, log, log1p, pi, sqrt

import numpy as np
import pytest

from benchmarks.dense import DenseProblem, machine, play, policy_for, reader, recover
from examples.runner import TASK
from srm.domains.record import record
from srm.domains.terms import from_terms
from srm.domains.words import WordReader, WrittenVocabulary
from srm.errors import DemonstrationError, SettingError
from srm.evaluate.program import Program
from srm.infer.hole_uses import pays_terms
from srm.infer.posterior.evidence import Evidence, Play
from srm.infer.posterior.infer import first_plays, infer
from srm.infer.posterior.likelihood import AverageLikelihood
from srm.infer.posterior.near import NearestStep
from srm.infer.posterior.sample import Density, PosteriorConfig
from srm.machine.language.parse import find_machine, library, parse
from srm.seeding import stream
from srm.trajectory import Rollout, Trajectory, as_rollout, masked


@cache
def stairs() -> WordReader:
    words = WrittenVocabulary("stairs")

    @words.event
    def top(after: np.ndarray) -> np.ndarray:
        """at the top"""
        return after[..., 0] >= 9

    @words.signal(low=1, high=1)
    def one(after: np.ndarray) -> np.ndarray:
        """for each step"""
        return np.ones(after.shape[:2])

    return words.reader()


def episode(steps: int, arrives: bool) -> Trajectory:
    heights = np.zeros(steps + 1, np.float32)
    heights[-1] = 9 * arrives
    return Trajectory(
        observations=heights[:, None],
        actions=np.zeros(steps, np.int64),
        poses=np.zeros((steps + 1, 0), np.int16),
        task_reward=np.zeros(steps, np.float32),
        terminated=True,
    )


def rival_of(played: Rollout, demonstrated: Rollout) -> Play:
    return Play(played, np.zeros(played.valid.shape), np.zeros(demonstrated.valid.shape))


def totals(rollout: Rollout, weights: np.ndarray) -> list[float]:
    """What each whole episode earns, step by step."""
    listed = []
    for env in range(rollout.envs):
        steps = np.flatnonzero(rollout.valid[:, env])
        if len(steps) and (rollout.terminated | rollout.truncated)[steps[-1], env]:
            terms = [rollout.info[name][steps, env] for name in ("forward", "effort", "alive")]
            listed.append(float(sum(w * t.sum() for w, t in zip(weights, terms, strict=True))))
    return listed


@pytest.mark.parametrize("demonstrations", [1, 4])
def test_the_likelihood_is_its_definition_episode_by_episode(demonstrations: int) -> None:
    problem = DenseProblem.draw(stream(3, "problem"), "best", demonstrations)
    evidence = Evidence.of(
        Program(machine(), reader().vocabulary), reader(), problem.demonstrated, problem.plays, by_episode=True
    )
    density = Density(evidence, PosteriorConfig())
    for weights in np.random.default_rng(0).uniform(0, 3, (5, 3)):
        ours = np.array(totals(problem.demonstrated, weights))
        theirs = [np.array(totals(rival.rollout, weights)) for rival in problem.plays]
        squares = ((ours - ours.mean()) ** 2).sum() + np.mean([rival.var(ddof=1) for rival in theirs])
        expected, chances = 0.0, 0.0
        for luck in np.linspace(-5, 5, 501):
            earned, chance = ours.mean() + luck * sqrt(squares) / len(ours), exp(-(luck**2) / 2)
            leads = [(earned - t.mean()) / sqrt(1 + pi / 8 * t.var(ddof=1) / len(t)) for t in theirs]
            expected, chances = expected + chance * exp(-sum(log1p(exp(-lead)) for lead in leads)), chances + chance
        assert density(np.append(weights, 0.7)[None])[0] == pytest.approx(log(expected / chances), rel=0.01)


def test_averages_are_the_default_of_weighted_terms_and_of_machines_of_control() -> None:
    assert PosteriorConfig().resolved(machine()).likelihood == "averages"
    assert PosteriorConfig(likelihood="both").resolved(machine()).likelihood == "both"
    hoppers = ["hopper", "hopper_fast", "hopper_frugal", "hopper_handset"]
    assert [name for name in library() if pays_terms(find_machine(name))] == [*hoppers, "lunarlander"]
    guarded = parse(
        "machine m\nwords runner\nholes ?a ?b\nstart s\n    forward > ?b // ?a * forward",
        {"runner": reader().vocabulary},
    )
    assert not pays_terms(guarded)
    problem = DenseProblem.draw(stream(0, "problem"), "best", 2)
    with pytest.raises(SettingError, match=r"a guard of machine m compares \?b"):
        infer(
            guarded, None, reader(), problem.demonstrated, problem.plays, PosteriorConfig(likelihood="averages"), seed=0
        )


def test_play_without_a_whole_episode_is_refused() -> None:
    problem = DenseProblem.draw(stream(0, "problem"), "best", 2)
    rival = problem.plays[0]
    cut = masked(rival.rollout, np.zeros_like(rival.rollout.valid))
    with pytest.raises(DemonstrationError, match="no episode of play came to its end"):
        infer(
            machine(),
            None,
            reader(),
            problem.demonstrated,
            [type(rival)(cut, rival.log_prob, rival.demonstrated_log_prob)],
        )


def test_the_nearest_step_decides() -> None:
    demonstrated = play(policy_for(np.array([1.0, 0.5, 0.5]), "best"), 3, stream(0, "play"))
    act = NearestStep(demonstrated)
    speed = demonstrated.observations[:-1][demonstrated.valid]
    actions = demonstrated.actions[demonstrated.valid]
    for value in np.unique(speed):
        assert act(np.array([[value]]))[0] in actions[speed[:, 0] == value]


@pytest.mark.slow
def test_known_weights_are_covered_at_about_the_rate_that_is_claimed() -> None:
    problems = [DenseProblem.draw(stream(7, f"{i}"), "best", 10) for i in range(10)]
    by_averages = np.mean([recover("averages", problem, i).covers for i, problem in enumerate(problems)])
    assert by_averages >= 0.8  # of 90 %; 30 intervals, of which those of one problem are not independent
    by_totals = np.mean([recover("totals/1", problem, i).covers for i, problem in enumerate(problems[:5])])
    assert by_totals < 0.8  # why averages are the default


def test_a_task_is_compared_with_random_play_and_with_play_near_the_demonstrations() -> None:
    demos = record(TASK, 4, seed=0).as_rollout()
    built, _ = from_terms(TASK, frames=320)
    plays = first_plays(built, PosteriorConfig(), TASK, demos, seed=0, frames=320)
    assert len(plays) == 6  # at random, two that slip, and a habit for each action
    assert all(
        (p.rollout.terminated | p.rollout.truncated).any(axis=0).all() for p in plays
    )  # every env ends an episode
    earned = [p.rollout.task_reward[p.rollout.valid].mean() for p in plays]
    assert earned[0] < earned[2] < earned[1] < demos.task_reward[demos.valid].mean()  # the fewer slips, the nearer
    posterior = infer(built, built.constraint(), TASK.event_reader(), demos, plays, PosteriorConfig(sweeps=300), seed=0)
    assert posterior.values["forward"] > 0
    assert not posterior.forbidden.unproved


def test_a_rival_that_succeeds_now_and_then_is_compared_by_its_successes_too() -> None:
    """Beside failures every style looks cheap: demonstrators who take two steps are told from a rival who takes five only by what it does when it arrives."""
    climb = parse(
        "machine climb\nwords stairs\nholes ?top in 0 .. 5 ?step in -1 .. 0\nstart s\n    top // ?top -> done\n    otherwise // ?step * one\naccept done",
        {"stairs": stairs().vocabulary},
    )
    demonstrated = as_rollout([episode(2, True) for _ in range(6)])
    often = as_rollout([episode(5, True) for _ in range(6)])
    seldom = as_rollout([episode(5, True) for _ in range(6)] + [episode(5, False) for _ in range(40)])
    evidence = [
        AverageLikelihood.of(
            Evidence.of(
                Program(climb, stairs().vocabulary),
                stairs(),
                demonstrated,
                (rival_of(played, demonstrated),),
                by_episode=True,
            )
        )
        for played in (often, seldom)
    ]
    assert [len(likelihood.played) for likelihood in evidence] == [1, 2]
    assert np.allclose(evidence[1].played[1], evidence[0].played[0])
    dear, cheap = evidence[1](np.array([[5.0, -1.0], [5.0, -0.01]]))
    assert dear > cheap
