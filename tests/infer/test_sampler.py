"""q: where it begins, that the constraint holds whatever it learns, and that its gradients are those of the expected cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from srm.infer.project import Floats, Polytope
from srm.infer.sampler import Cost, Sampler, SamplerConfig
from srm.machine.parse import find_machine

Estimator = Literal["pathwise", "score", "score_plain"]


def sampler(name: str = "doorkey", **changes: object) -> Sampler:
    machine = find_machine(name)
    config = replace(SamplerConfig(), **changes)  # type: ignore[arg-type]
    return Sampler(Polytope.of(machine, machine.constraint()), len(machine.holes), config, seed=3)


def towards(goal: Floats) -> object:
    """A cost of |h - goal|^2 / 2, with the idle constant drawn to 1."""

    def cost_of(assignments: Floats, idle: float) -> Cost:
        error = assignments - goal
        return Cost(0.5 * np.square(error).sum(axis=1), error, idle - 1)

    return cost_of


def test_the_mean_begins_at_exactly_nothing() -> None:
    assert sampler().mode().tolist() == [0.0] * 5
    assert sampler().spread().tolist() == pytest.approx([0.4] * 5)
    assert sampler(start_at_zero=False)()[0].abs().min().item() > 0


def test_draws_keep_the_constraint() -> None:
    drawn = sampler("keycorridor").draw(100, np.random.default_rng(0))
    assert sampler("keycorridor").polytope.excess(drawn).max() < 1e-9


@pytest.mark.parametrize("estimator", ["pathwise", "score"])
def test_learning_goes_to_the_cheapest_assignment_that_is_allowed(estimator: Estimator) -> None:
    q = sampler(estimator=estimator, entropy_weight=1e-3, penalty=0.0)
    adam, chance = torch.optim.Adam(q.parameters(), lr=3e-3), np.random.default_rng(0)
    goal = np.array([1.0, 0.5, 0.4, 0.2, -0.3])  # ?close must not be positive: the nearest allowed has it at most 0
    for _ in range(600):
        loss, _ = q.loss(towards(goal), chance)  # type: ignore[arg-type]
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert q.polytope.excess(q.mode()).max() < 1e-9  # at every round
    assert q.mode() == pytest.approx(q.polytope.project(goal), abs=0.15)
    assert q.idle() == pytest.approx(1, abs=0.05)


def test_a_hole_that_was_driven_to_its_widest_comes_back_when_something_pins_it_down() -> None:
    q = sampler(entropy_weight=1.0)
    adam, chance = torch.optim.Adam(q.parameters(), lr=1e-2), np.random.default_rng(0)

    def learn(cost_of: object, steps: int) -> None:
        for _ in range(steps):
            loss, _ = q.loss(cost_of, chance)  # type: ignore[arg-type]
            adam.zero_grad()
            loss.backward()
            adam.step()

    learn(lambda assignments, idle: Cost(np.zeros(len(assignments)), 0 * assignments, 0.0), 300)  # only entropy counts
    assert q.spread().min() > 0.99
    q.config = replace(q.config, entropy_weight=1e-2)
    learn(towards(np.array([1.0, 0.5, -0.5, 0.2, -0.3])), 300)
    assert q.spread()[:2].max() < 0.5  # ?goal and ?unlock, which the projection does not hide


def gradients(q: Sampler, draws: int) -> np.ndarray:
    """Estimates of d E[cost] / d mean, [draws, H]."""
    chance, found = np.random.default_rng(1), []
    for _ in range(draws):
        mean, log_variance, _ = q()
        z, noise = q._raw(mean, log_variance, q.config.samples, chance)
        shown, slopes = q.allowed(z)
        cost = towards(np.array([1.0, 0.5, -1.0, 0.2, -0.3]))(shown, 0.0)  # type: ignore[operator]
        soft = q._soft(cost, z, noise, slopes, mean, log_variance)
        found.append(torch.autograd.grad(soft, mean)[0].numpy())
    return np.array(found)


def test_both_estimators_have_the_same_mean_and_the_pathwise_far_less_noise() -> None:
    pathwise, score = gradients(sampler(), 400), gradients(sampler(estimator="score"), 400)
    noise = np.sqrt(score.var(axis=0) / len(score) + pathwise.var(axis=0) / len(pathwise))
    assert (np.abs(pathwise.mean(axis=0) - score.mean(axis=0)) < 4.5 * noise).all()
    assert (pathwise.var(axis=0) < 0.2 * score.var(axis=0)).all()


def test_a_baseline_takes_noise_away() -> None:
    with_one, without = gradients(sampler(estimator="score"), 200), gradients(sampler(estimator="score_plain"), 200)
    assert with_one.var(axis=0).sum() < without.var(axis=0).sum()
