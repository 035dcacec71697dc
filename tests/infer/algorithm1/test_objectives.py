"""The objectives on numbers worked by hand, and the theorem of the paper on a table of three actions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from srm.infer.algorithm1.objectives import (
    entropy,
    log_density,
    logit_expert_high,
    loss_adv,
    loss_con,
    loss_soft,
    score_estimate,
)


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def test_the_logit_of_the_discriminator_is_f_plus_noise_less_log_pi() -> None:
    f, noise, log_prob = torch.tensor([-1.0]), torch.tensor([0.5]), torch.tensor([-3.0])
    logit = logit_expert_high(f, noise, log_prob)
    assert logit.item() == pytest.approx(2.5)
    share = math.exp(-0.5) / (math.exp(-0.5) + math.exp(-3))  # D_eps = exp(f + eps) / (exp(f + eps) + pi)
    assert torch.sigmoid(logit).item() == pytest.approx(share)


def test_a_floor_under_log_pi_keeps_the_discriminator_from_being_sure() -> None:
    logit = logit_expert_high(torch.tensor([-1.0]), torch.tensor([0.0]), torch.tensor([-9.0]), floor=-2.0)
    assert logit.item() == pytest.approx(1.0)


def test_loss_adv_of_an_undecided_discriminator_is_two_log_two() -> None:
    assert loss_adv(torch.zeros(3), torch.zeros(5)).item() == pytest.approx(2 * math.log(2))


def test_loss_adv_is_the_mean_of_each_side_added() -> None:
    loss = loss_adv(torch.tensor([1.0, 3.0]), torch.tensor([-2.0]))
    assert loss.item() == pytest.approx((softplus(-1) + softplus(-3)) / 2 + softplus(-2))


def test_loss_soft_by_hand() -> None:
    # pay - c - f: 1 - 0.5 + 0.5 = 1, and 0 - 0.5 + 1 = 0.5
    loss = loss_soft(torch.tensor([1.0, 0.0]), 0.5, torch.tensor([-0.5, -1.0]))
    assert loss.item() == pytest.approx((1 + 0.25) / 2 / 2)


@pytest.mark.parametrize(("mean", "broken"), [([1.0, 2.0], 0.0), ([5.0, 2.0], 3.0)], ids=["kept", "broken by 3"])
def test_loss_con_of_one_atom(mean: list[float], broken: float) -> None:  # ?open <= ?key
    loss = loss_con(torch.tensor(mean), torch.tensor([[1.0, -1.0]]), torch.zeros(1))
    assert loss.item() == pytest.approx(softplus(broken))


def test_density_and_entropy_are_those_of_a_diagonal_gaussian_up_to_a_constant() -> None:
    mean, log_variance = torch.tensor([0.5, -1.0]), torch.tensor([0.2, -0.6])
    drawn = torch.tensor([[0.0, 0.0], [1.0, -2.0], [0.5, -1.0]])
    known = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    gap = known.log_prob(drawn).sum(1) - log_density(drawn, mean, log_variance)
    assert gap.tolist() == pytest.approx([gap[0].item()] * 3)
    assert (known.entropy().sum() - entropy(log_variance)).item() == pytest.approx(1 + math.log(2 * math.pi))


def test_score_estimate_of_two_draws_by_hand() -> None:
    """Leave-one-out: each draw's cost less the other's. With costs 3 and 1: 2 and -2, so (2 g1 - 2 g2) / 2."""
    log_q = torch.tensor([0.7, 0.1], requires_grad=True)
    score_estimate(log_q, torch.tensor([3.0, 1.0])).backward()
    assert log_q.grad is not None
    assert log_q.grad.tolist() == pytest.approx([1.0, -1.0])
    log_q.grad = None
    score_estimate(log_q, torch.tensor([3.0, 1.0]), baseline=False).backward()
    assert log_q.grad.tolist() == pytest.approx([1.5, 0.5])


def test_score_estimate_is_unbiased() -> None:
    """E[(z - 1)^2] for z ~ N(m, 1) changes with m at 2 (m - 1)."""
    mean = torch.tensor([0.3], requires_grad=True)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        z = mean.detach() + torch.from_numpy(rng.standard_normal((8, 1))).float()
        loss = score_estimate(log_density(z, mean, torch.zeros(1)), (z - 1).square().sum(1))
        found.append(torch.autograd.grad(loss, mean)[0].item())
    assert np.mean(found) == pytest.approx(2 * (0.3 - 1), abs=4 * np.std(found) / math.sqrt(len(found)))


# Theorem: f = log pi_E = log pi_A is a saddle point of E_eps[J_adv(D_eps)]


def expected_j_adv(f: Tensor, expert: Tensor, agent: Tensor) -> Tensor:
    """E over eps ~ N(0, 1) by Gauss-Hermite quadrature, exact sums over the actions of one state."""
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    eps = torch.from_numpy(points)[:, None]
    logit = f + eps - agent.log()  # [points, A]
    log_d, log_not_d = -torch.nn.functional.softplus(-logit), -torch.nn.functional.softplus(logit)
    value = (expert * log_d + agent * log_not_d).sum(1)
    return (torch.from_numpy(weights) * value).sum() / math.sqrt(2 * math.pi)


EXPERT = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)


def test_f_equal_to_log_pi_is_where_the_discriminator_is_best_against_its_equal() -> None:
    f = EXPERT.log().requires_grad_()
    best = expected_j_adv(f, EXPERT, EXPERT)
    (slope,) = torch.autograd.grad(best, f)
    assert slope.abs().max().item() < 1e-8
    for direction in torch.eye(3, dtype=torch.float64):
        for size in (-0.3, 0.3):
            assert expected_j_adv(f.detach() + size * direction, EXPERT, EXPERT) < best


def test_the_expert_is_where_the_policy_does_best_against_f_equal_to_log_pi() -> None:
    agent = EXPERT.clone().requires_grad_()
    least = expected_j_adv(EXPERT.log(), EXPERT, agent)
    (slope,) = torch.autograd.grad(least, agent)
    assert (slope - slope.mean()).abs().max().item() < 1e-8  # along the simplex nothing changes
    for i, j in ((0, 1), (1, 2), (2, 0)):
        moved = EXPERT.clone()
        moved[i] += 0.05
        moved[j] -= 0.05
        assert expected_j_adv(EXPERT.log(), EXPERT, moved) > least
