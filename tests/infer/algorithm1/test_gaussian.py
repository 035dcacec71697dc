"""q: where it begins, that the constraint holds whatever it learns, and that its gradients are those of the expected cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from srm.errors import SettingError
from srm.infer.algorithm1.estimators import Cost
from srm.infer.algorithm1.gaussian import Sampler, SamplerConfig
from srm.infer.project import Floats, Polytope
from srm.machine.language.parse import find_machine

Estimator = Literal["mixed", "pathwise", "score", "score_plain"]


def sampler(name: str = "doorkey", **changes: object) -> Sampler:
    machine = find_machine(name)
    config = replace(SamplerConfig(), **changes)  # type: ignore[arg-type]
    guard_holes = np.ones(len(machine.holes), np.bool_)
    return Sampler(Polytope.of(machine, machine.constraint()), guard_holes, config, seed=3)


def towards(goal: Floats) -> object:
    """A cost of |h - goal|^2 / 2, with the idle constant drawn to 1."""

    def cost_of(assignments: Floats, idle: float) -> Cost:
        count, holes = assignments.shape
        square, linear = np.broadcast_to(np.eye(holes), (count, holes, holes)), np.broadcast_to(-goal, (count, holes))
        return Cost(square, linear, np.full(count, goal @ goal / 2), idle - 1)

    return cost_of


def test_the_mean_begins_at_exactly_nothing() -> None:
    assert sampler().mode().tolist() == [0.0] * 5
    assert sampler().spread().tolist() == pytest.approx([0.4] * 5)
    assert sampler(start_at_zero=False)()[0].abs().min().item() > 0


def test_draws_keep_the_constraint() -> None:
    drawn = sampler("keycorridor").draw(100, np.random.default_rng(0))
    assert sampler("keycorridor").polytope.excess(drawn).max() < 1e-9


@pytest.mark.parametrize("estimator", ["mixed", "score"])
def test_learning_goes_to_the_cheapest_assignment_that_is_allowed(estimator: Estimator) -> None:
    q = sampler(estimator=estimator, entropy_weight=1e-3, penalty=0.0)
    adam, rng = torch.optim.Adam(q.parameters(), lr=3e-3), np.random.default_rng(0)
    goal = np.array([1.0, 0.5, 0.4, 0.2, -0.3])  # ?close must not be positive: the nearest allowed has it at most 0
    for _ in range(600):
        loss, _ = q.loss(towards(goal), rng)  # type: ignore[arg-type]
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert q.polytope.excess(q.mode()).max() < 1e-9  # at every round
    assert q.mode() == pytest.approx(q.polytope.project(goal), abs=0.15)
    assert q.idle() == pytest.approx(1, abs=0.05)


def test_a_hole_that_was_driven_to_its_widest_comes_back_when_something_pins_it_down() -> None:
    q = sampler(entropy_weight=1.0)
    adam, rng = torch.optim.Adam(q.parameters(), lr=1e-2), np.random.default_rng(0)

    def learn(cost_of: object, steps: int) -> None:
        for _ in range(steps):
            loss, _ = q.loss(cost_of, rng)  # type: ignore[arg-type]
            adam.zero_grad()
            loss.backward()
            adam.step()

    learn(
        lambda assignments, idle: Cost(np.zeros((16, 5, 5)), np.zeros((16, 5)), np.zeros(16), 0.0), 300
    )  # only entropy
    assert q.spread().min() > 0.99
    q.config = replace(q.config, entropy_weight=1e-2)
    learn(towards(np.array([1.0, 0.5, -0.5, 0.2, -0.3])), 300)
    assert q.spread()[:2].max() < 0.5  # ?goal and ?unlock, which the projection does not hide


def gradients(q: Sampler, draws: int) -> np.ndarray:
    """Estimates of d E[cost] / d mean, [draws, H]."""
    rng, found = np.random.default_rng(1), []
    for _ in range(draws):
        mean, log_variance, _ = q()
        draws = q.draws(mean, log_variance, q.config.samples, rng)
        cost = towards(np.array([1.0, 0.5, -1.0, 0.2, -0.3]))(draws.h, 0.0)  # type: ignore[operator]
        soft = q.soft(cost, draws, mean, log_variance)
        found.append(torch.autograd.grad(soft, mean)[0].numpy())
    return np.array(found)


def test_both_estimators_have_the_same_mean_and_the_pathwise_far_less_noise() -> None:
    pathwise, score = gradients(sampler(estimator="pathwise"), 400), gradients(sampler(estimator="score"), 400)
    noise = np.sqrt(score.var(axis=0) / len(score) + pathwise.var(axis=0) / len(pathwise))
    assert (np.abs(pathwise.mean(axis=0) - score.mean(axis=0)) < 4.5 * noise).all()
    assert (pathwise.var(axis=0) < 0.2 * score.var(axis=0)).all()


def test_where_all_draws_decide_the_guards_alike_mixed_is_pathwise() -> None:
    assert gradients(sampler(), 20) == pytest.approx(gradients(sampler(estimator="pathwise"), 20), abs=1e-6)


def test_a_baseline_takes_noise_away() -> None:
    with_one, without = gradients(sampler(estimator="score"), 200), gradients(sampler(estimator="score_plain"), 200)
    assert with_one.var(axis=0).sum() < without.var(axis=0).sum()


def test_only_what_can_move_a_guard_is_learnt_by_the_score_function() -> None:
    machine = find_machine("doorkey")
    guard_holes = np.array([name in ("close", "unlock") for name in machine.hole_names])
    for name, coupled in (("relational", 5), (None, 2)):  # every hole <= ?goal couples all of them
        allowed = Polytope.of(machine, machine.constraint(name) if name else None)
        assert Sampler(allowed, guard_holes, SamplerConfig(), seed=3).deciding.sum() == coupled
    penalised = SamplerConfig(constrain="penalise")
    allowed = Polytope.of(machine, machine.constraint())
    assert Sampler(allowed, guard_holes, penalised, seed=3).deciding.sum() == 2  # no projection, no coupling


def test_mixed_needs_three_draws() -> None:
    with pytest.raises(SettingError, match="samples 2: --sampler"):
        SamplerConfig(samples=2)
    assert SamplerConfig(samples=2, estimator="pathwise").samples == 2


def test_without_bounds_the_spread_goes_where_it_likes() -> None:
    for bounded, widest in ((True, 1.0), (False, 2.0)):
        q = sampler(bounded=bounded)
        with torch.no_grad():
            q.head.bias[5:10] = 2 * np.log(2.0)
        assert q.spread().tolist() == pytest.approx([widest] * 5)
