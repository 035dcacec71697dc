from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from srm.rl.loop import task_pay, train
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.rl.ride import Ride, RideConfig, intrinsic_reward, loss_forward, loss_inverse, total_pay
from tests.rl.clockwork import Clockwork


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
    batch = one.collect()
    rollout = batch.rollout
    assert batch.visits is not None
    frames = one.net.encode(np.stack([rollout.observations[:-1], rollout.after()]))
    phi = (
        one._model.embed(frames.reshape(-1, 49), np.arange(2 * rollout.actions.size, dtype=np.uint32)).detach().numpy()
    )
    before, after = phi.reshape(2, rollout.steps, rollout.envs, -1)
    truth = np.linalg.norm(after - before, axis=-1) / np.sqrt(batch.visits) * rollout.valid
    np.testing.assert_allclose(one.intrinsic(batch), truth, rtol=1e-4, atol=1e-5)


def test_both_models_learn_what_an_action_does() -> None:
    one = learner(learning_rate=3e-3)
    losses = [round.losses for round in train(one, task_pay, 400)]
    assert losses[-1]["loss_forward"] < losses[0]["loss_forward"] / 2


def test_pay_is_bounded_unless_told_otherwise() -> None:
    pay, intrinsic = np.array([0.5, -0.5, 0.0]), np.array([20.0, -20.0, 1.0])
    assert total_pay(RideConfig(weight=0.1), pay, intrinsic).tolist() == pytest.approx([1, -1, 0.1])
    assert total_pay(RideConfig(weight=0.1, clip=None), pay, intrinsic).tolist() == pytest.approx([2.5, -2.5, 0.1])


def test_an_update_learns_from_both_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    import srm.rl.ride as module

    pays = []
    monkeypatch.setattr(module, "ppo_update", lambda net, adam, batch, pay, *rest: pays.append(pay) or {})
    one = learner(weight=100.0, clip=None)
    batch = one.collect()
    intrinsic = one.intrinsic(batch)
    one.update(batch, batch.rollout.task_reward)
    np.testing.assert_allclose(pays[0], batch.rollout.task_reward + 100 * intrinsic)
