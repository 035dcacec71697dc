from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from srm.train.loop import task_pay, train
from srm.train.nets import NetConfig
from srm.train.ppo import PpoConfig
from srm.train.ride import Ride, RideConfig, intrinsic_reward, loss_forward, loss_inverse
from tests.train.clockwork import Clockwork


def learner(within_step: bool = False, **settings: float) -> Ride:
    net, ppo = NetConfig(width=16, memory=4), PpoConfig(2, 12, 2, 3)
    return Ride(Clockwork(within_step=within_step), "cnn", net, ppo, RideConfig(**settings), seed=0)  # type: ignore[arg-type]


def test_the_reward_is_how_far_the_view_moved_over_the_root_of_visits() -> None:
    assert intrinsic_reward(np.array([[3.0, 4.0], [3.0, 4.0]]), np.array([1, 4])).tolist() == [5, 2.5]


def test_the_forward_loss_is_a_distance_and_not_its_square() -> None:
    after = torch.zeros(2, 2, requires_grad=True)
    loss = loss_forward(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), after)
    assert loss.item() == pytest.approx(3)
    # of a distance the gradient has length 1, over n = 2
    assert torch.autograd.grad(loss, after)[0].tolist() == [pytest.approx([-0.3, -0.4]), pytest.approx([0, -0.5])]


def test_the_inverse_loss_is_the_cross_entropy_of_the_action() -> None:
    logits = torch.log(torch.tensor([[0.25, 0.75]]))
    assert loss_inverse(logits, torch.tensor([0])).item() == pytest.approx(math.log(4))


@pytest.mark.parametrize("within_step", [False, True], ids=["resetting step", "within the step"])
def test_the_last_step_of_an_episode_leads_to_its_true_last_view(within_step: bool) -> None:
    one = learner(within_step)
    rollout = one.collect()
    found = one._intrinsic(one._played)  # type: ignore[arg-type]
    frames = one.net.encode(np.stack([rollout.views[:-1], rollout.after()]))
    phi = (
        one._model.embed(frames.reshape(-1, 49), np.arange(2 * rollout.actions.size, dtype=np.uint32)).detach().numpy()
    )
    before, after = phi.reshape(2, rollout.steps, rollout.worlds, -1)
    truth = np.linalg.norm(after - before, axis=-1) / np.sqrt(one._visited) * rollout.real
    np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-5)


def test_both_models_learn_what_an_action_does() -> None:
    one = learner(learning_rate=3e-3)
    losses = [round.losses for round in train(one, task_pay, 400)]
    assert losses[-1]["loss_forward"] < losses[0]["loss_forward"] / 2


def test_pay_is_bounded_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    import srm.train.ride as module

    paid = []
    monkeypatch.setattr(module, "ppo_update", lambda net, adam, played, pay, *rest: paid.append(pay) or {})
    for clip in (1.0, None):
        one = learner(weight=100.0, clip=clip)
        rollout = one.collect()
        one.update(rollout, rollout.task_reward)
    assert paid[0].max() == 1
    assert paid[1].max() > 1
