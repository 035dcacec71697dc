from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from srm.infer.algorithm1.reward_net import RewardNetConfig
from srm.infer.algorithm1.sequences import follow
from srm.infer.baselines.imitation import Form, Imitation, ImitationConfig, form_of, loss_discriminator
from srm.trajectory import Rollout
from tests.infer.play import MINIGRID, demonstrations, uniform


@dataclass(frozen=True)
class Played:
    """A rollout of the policy that draws every action alike."""

    rollout: Rollout

    @property
    def log_prob(self) -> np.ndarray:
        return uniform(self.rollout)


def test_the_forms_are_what_their_names_say_of_d() -> None:
    """A logit of log 3 is D = 3/4."""
    logit, said = np.array([math.log(3), 0.0]), np.array([-1.0, -2.0])
    wanted: dict[Form, list[float]] = {
        "difference": [math.log(0.75) - math.log(0.25), 0],
        "bonus": [-math.log(0.25), math.log(2)],
        "penalty": [math.log(0.75), -math.log(2)],
        "net": [-1, -2],
    }
    for form, values in wanted.items():
        assert form_of(form, logit, said) == pytest.approx(values), form


def test_the_loss_is_that_of_one_batch_of_equal_halves() -> None:
    """As in `imitation` 1.0.1: binary cross-entropy of the logits, averaged over demonstrations (1) and play (0) in one batch.

    Logits log 3 and 0 of demonstrations, -log 3 and log 3 of play: D is 3/4, 1/2, 1/4, 3/4, so the mean is
    -(log 3/4 + log 1/2 + log 3/4 + log 1/4) / 4.
    """
    shown, played = torch.tensor([math.log(3), 0.0]), torch.tensor([-math.log(3), math.log(3)])
    by_hand = -(math.log(3 / 4) + math.log(1 / 2) + math.log(3 / 4) + math.log(1 / 4)) / 4
    assert loss_discriminator(shown, played).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("kind", ["gail", "gan_gcl"])
def test_demonstrated_acts_come_to_be_paid_more_than_those_of_play(kind: str, rollouts: list[Rollout]) -> None:
    shown = demonstrations("DoorKey-5x5").as_rollout()
    config = ImitationConfig(reward_net=RewardNetConfig(steps=30, logits="free", floor=None))
    imitation = Imitation(kind, shown, MINIGRID, uniform, config, seed=0)  # type: ignore[arg-type]
    imitation(Played(rollouts[0]))
    losses = imitation.losses
    pay = imitation(Played(rollouts[1]))
    assert imitation.losses["loss_discriminator"] < losses["loss_discriminator"]
    assert imitation.losses["discriminator_right"] > 0.7
    assert not pay[~rollouts[1].valid].any()
    if kind == "gail":  # whose pay is what the net says
        of_shown = follow(imitation.net, shown, np.ones(shown.envs, np.bool_)).f.numpy()[shown.valid]
        assert of_shown.mean() > pay[rollouts[1].valid].mean() + 1


def test_imitation_goes_on_where_it_was_saved(rollouts: list[Rollout]) -> None:
    shown = demonstrations("DoorKey-5x5").as_rollout()
    first, second = (Imitation("gan_gcl", shown, MINIGRID, uniform, ImitationConfig(), seed=0) for _ in range(2))
    first(Played(rollouts[0]))
    second.load(first.tensors(), 1)
    alone = Imitation("gan_gcl", shown, MINIGRID, uniform, ImitationConfig(), seed=0)
    for name, value in second.tensors().items():
        assert torch.equal(value, first.tensors()[name])
    assert second(Played(rollouts[1])).tolist() != alone(Played(rollouts[1])).tolist()
