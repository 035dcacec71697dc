"""Estimates of d E[J_soft] against brute force: tiny machines whose guards read holes, and quadrature over z."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.evaluate import symbolic
from srm.evaluate.program import Program
from srm.infer.algorithm1.concretizer import SamplerSide
from srm.infer.algorithm1.estimators import guard_effect
from srm.infer.algorithm1.gaussian import Sampler, SamplerConfig
from srm.infer.project import Polytope
from srm.machine.language.parse import parse
from tests.evaluate.scripts import events_of

IDLE = 0.5
QUADRATURE = 5e-4  # its own error, at the edges where guards change
MACHINE = """\
machine picks
words minigrid
holes ?pick ?limit
counters
    #picked counts pick_up_key
start s
    pick_up_key and #picked < ?limit // ?pick
"""
COUPLED = MACHINE + "constraint\n    ?limit <= ?pick\n"
SCRIPT = ["pick_up_key", "", "pick_up_key", "drop_key", "pick_up_key", ""]
F = np.array([[-0.1], [-2.0], [-1.5], [-2.5], [-3.0], [-1.0]])  # f likes the first pick-up, and no other
MEAN, LOG_VARIANCE = np.array([0.7, 0.8]), np.array([-1.0, -0.4])


def side_of(text: str) -> tuple[SamplerSide, Polytope]:
    machine = parse(text)
    valid = np.ones((len(SCRIPT), 1), np.bool_)
    residual, _ = symbolic.read(Program(machine, MINIGRID_WORDS), events_of(SCRIPT), np.zeros_like(valid), valid)
    return SamplerSide(residual, F, valid), Polytope.of(machine, machine.constraint())


def by_quadrature(side: SamplerSide, allowed: Polytope, points: int = 200) -> np.ndarray:
    """d E[J_soft] / d (mean, log-variance), [4]: the cost on a fixed grid of z, under densities that differ a little."""
    deviation = np.exp(LOG_VARIANCE / 2)
    axes = [m + s * np.linspace(-6, 6, points) for m, s in zip(MEAN, deviation, strict=True)]
    z = np.array(list(product(*axes)))
    h, _ = allowed.project_all(z)
    # a few at a time, since every cost is crossed with every other
    cost = np.concatenate([np.diagonal(side.cost(part, IDLE).values(part)) for part in np.array_split(h, len(h) // 64)])

    def expected(parameters: np.ndarray) -> float:
        mean, log_variance = parameters[:2], parameters[2:]
        log_q = -0.5 * (np.square(z - mean) / np.exp(log_variance) + log_variance).sum(axis=1)
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        return float(np.exp(log_q) @ cost * cell / (2 * np.pi))

    at, step = np.concatenate([MEAN, LOG_VARIANCE]), 1e-4
    return np.array([(expected(at + step * e) - expected(at - step * e)) / (2 * step) for e in np.eye(4)])


def estimates(side: SamplerSide, allowed: Polytope, config: SamplerConfig, count: int = 1200) -> np.ndarray:
    """[count, 4]."""
    q = Sampler(allowed, np.array([False, True]), config, seed=0)
    mean = torch.tensor(MEAN, dtype=torch.float32, requires_grad=True)
    log_variance = torch.tensor(LOG_VARIANCE, dtype=torch.float32, requires_grad=True)
    rng, gradients = np.random.default_rng(0), []
    for _ in range(count):
        draws = q.draws(mean, log_variance, config.samples, rng)
        soft = q.soft(side.cost(draws.h, IDLE), draws, mean, log_variance)
        gradients.append(torch.cat(torch.autograd.grad(soft, (mean, log_variance))).numpy())
    return np.array(gradients)


def errors(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """By how many standard errors the mean of the estimates is off, [4]."""
    off: np.ndarray = np.abs(found.mean(axis=0) - truth) / (found.std(axis=0) / np.sqrt(len(found)) + QUADRATURE)
    return off


@pytest.mark.parametrize("text", [MACHINE, COUPLED], ids=["alone", "coupled by the constraint"])
def test_mixed_and_score_are_unbiased_where_a_guard_reads_a_hole_and_pathwise_is_not(text: str) -> None:
    side, allowed = side_of(text)
    truth = by_quadrature(side, allowed)
    mixed = estimates(side, allowed, SamplerConfig())
    score = estimates(side, allowed, SamplerConfig(estimator="score"))
    pathwise = estimates(side, allowed, SamplerConfig(estimator="pathwise"))
    assert errors(mixed, truth).max() < 4
    assert errors(score, truth).max() < 4
    assert errors(pathwise, truth).max() > 20
    assert (mixed.var(axis=0) < score.var(axis=0)).all()


def test_a_hole_that_only_a_guard_reads_has_no_pathwise_gradient() -> None:
    side, allowed = side_of(MACHINE)
    assert not estimates(side, allowed, SamplerConfig(estimator="pathwise"), 5)[:, 1].any()
    assert estimates(side, allowed, SamplerConfig(), 5)[:, 1].any()


def test_few_draws_are_no_less_unbiased() -> None:
    side, allowed = side_of(COUPLED)
    found = estimates(side, allowed, SamplerConfig(samples=3), 2000)
    assert errors(found, by_quadrature(side, allowed)).max() < 4


def test_guards_that_agree_have_no_effect() -> None:
    alike = np.broadcast_to(np.array([3.0, 1.0, 2.0, 5.0]), (4, 4))
    assert guard_effect(alike).tolist() == pytest.approx([0.0] * 4)


def test_the_effect_of_guards_on_three_draws_by_hand() -> None:
    crossed = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 5.0], [3.0, 2.0, 6.0]])
    # draw 0: 4 less the mean of 1 and 3; baseline: draws 1 and 2 by each other's guards, 3 - 2 and 6 - 5
    assert guard_effect(crossed)[0] == pytest.approx((4 - 2) - ((3 - 2) + (6 - 5)) / 2)
