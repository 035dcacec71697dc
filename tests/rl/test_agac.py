from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from srm.rl.agac import (
    Agac,
    AgacConfig,
    AgacTargets,
    agac_targets,
    count_bonus,
    divergence,
    loss_adversary,
    surprise_of,
    surprise_weight,
)
from srm.rl.loop import task_pay, train
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.rl.rollout import Batch
from tests.rl.clockwork import Clockwork

POLICY, ADVERSARY = np.log([[0.5, 0.5], [0.75, 0.25]]), np.log([[0.25, 0.75], [0.75, 0.25]])


def learner(seed: int = 0, kind: str = "cnn", **settings: float) -> Agac:
    net, ppo = NetConfig(width=16, memory=4), PpoConfig(2, 12, 2, 3)
    return Agac(Clockwork(), kind, net, ppo, AgacConfig(adversary_hidden=8, **settings), seed)  # type: ignore[arg-type]


def test_an_action_the_adversary_did_not_expect_is_a_surprise() -> None:
    assert surprise_of(POLICY[0], ADVERSARY[0]).tolist() == pytest.approx([math.log(2), math.log(2 / 3)])


def test_divergence_is_the_surprise_expected() -> None:
    # 1/2 log 2 + 1/2 log 2/3; nothing where both agree
    assert divergence(POLICY, ADVERSARY).tolist() == pytest.approx([0.5 * math.log(4 / 3), 0])


def test_the_adversary_is_drawn_to_the_policy() -> None:
    logits = torch.tensor(ADVERSARY, dtype=torch.float32, requires_grad=True)
    loss = loss_adversary(torch.tensor(POLICY, dtype=torch.float32), logits)
    assert loss.item() == pytest.approx(0.25 * math.log(4 / 3))
    # the gradient of a cross-entropy is adversary - policy, over n = 2
    assert torch.autograd.grad(loss, logits)[0].tolist() == [pytest.approx([-0.125, 0.125]), pytest.approx([0, 0])]


def test_the_weight_of_surprise_falls_to_nothing() -> None:
    config = AgacConfig(surprise=0.4, surprise_frames=100)
    assert [surprise_weight(config, frames) for frames in (0, 50, 100, 200)] == pytest.approx([0.4, 0.2, 0, 0])


def test_the_bonus_is_for_first_visits_or_falls_with_the_root() -> None:
    visits = np.array([1, 4])
    assert count_bonus(AgacConfig(count_weight=0.5), visits).tolist() == [0.5, 0]
    assert count_bonus(AgacConfig(count_weight=0.5, count="root"), visits).tolist() == [0.5, 0.25]


def targets_of(one: Agac) -> tuple[Batch, AgacTargets]:
    batch = one.collect()
    c = surprise_weight(one.config, 0)
    return batch, agac_targets(one.net, batch, batch.rollout.task_reward, one.ppo, one.config, c)


def test_the_bonus_moves_the_policy_but_not_what_the_critic_learns() -> None:
    (_, plain), (_, paid) = (targets_of(learner(surprise=0.0, count_weight=weight)) for weight in (0.0, 0.5))
    assert not np.allclose(plain.advantages, paid.advantages)
    np.testing.assert_allclose(plain.returns, paid.returns)


def test_surprise_is_added_after_the_discounting() -> None:
    (batch, plain), (_, paid) = (targets_of(learner(surprise=weight, count_weight=0.0)) for weight in (0.0, 2.0))
    logits = [batch.outputs[name][:-1].astype(np.float64) for name in ("logits", "adversary")]
    policy, adversary = (log - np.logaddexp.reduce(log, axis=-1, keepdims=True) for log in logits)
    gap = np.take_along_axis(policy - adversary, batch.rollout.actions[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(paid.advantages - plain.advantages, 2 * gap, atol=1e-5)
    np.testing.assert_allclose(paid.returns - plain.returns, 2 * divergence(policy, adversary), atol=1e-5)


@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_three_towers_learn_apart_and_repeatably(kind: str) -> None:
    first, second = learner(kind=kind), learner(kind=kind)
    before = {name: value.clone() for name, value in first.net.state_dict().items()}
    assert [r.losses for r in train(first, task_pay, 40)] == [r.losses for r in train(second, task_pay, 40)]
    for tower in ("actor", "critic", "adversary"):
        heads = [name for name in before if name.startswith(f"towers.{tower}.head.weight")]
        assert heads
        assert not any(torch.equal(before[name], first.net.state_dict()[name]) for name in heads)
