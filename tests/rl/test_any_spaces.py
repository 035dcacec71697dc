"""Every learner that can learns in every space, and those that cannot say so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from srm.domains.envs import Envs
from srm.domains.record import play
from srm.errors import SrmError
from srm.infer.baselines.imitation import Imitation, ImitationConfig
from srm.infer.posterior.infer import uniform_play
from srm.rl.actor import Actor
from srm.rl.evaluation import evaluate
from srm.rl.learner import load_weights
from srm.rl.loop import task_pay, train
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.seeding import stream
from srm.trajectory import Rollout, as_rollout
from tests.domains.any_spaces import ACTIONS, OBSERVATIONS, AnySpaces, any_envs

torch.set_num_threads(1)
SMALL = LearnerConfig(
    ppo=PpoConfig(num_envs=4, num_steps=12, epochs=2, minibatches=2), network=NetConfig(width=8, memory=4)
)
EVERY = [(name, "box") for name in OBSERVATIONS] + [("vector", name) for name in ACTIONS] + [("dict", "multi-discrete")]


def envs_of(observations: str, actions: str) -> Envs:
    return any_envs(OBSERVATIONS[observations], ACTIONS[actions])


def demonstrated(observations: str, actions: str) -> Rollout:
    env, rng = AnySpaces(OBSERVATIONS[observations], ACTIONS[actions]), stream(0, "expert")
    space = envs_of(observations, actions).action_space
    return as_rollout([play(env, lambda _: space.draw(rng, 1)[0], seed) for seed in range(3)])


@pytest.mark.parametrize("net", ["auto", "lstm"])
@pytest.mark.parametrize(("observations", "actions"), EVERY)
def test_ppo_learns_and_its_log_probabilities_are_those_it_played_with(
    observations: str, actions: str, net: Any
) -> None:
    envs = envs_of(observations, actions)
    learner = replace(SMALL, net=net).make(envs, seed=1)
    batch = learner.collect()
    first = learner.log_probs(batch.rollout)
    if net == "auto":  # an LSTM remembers what was before the rollout; this is its first
        np.testing.assert_allclose(first, batch.log_prob, atol=2e-4)
    before = {name: value.clone() for name, value in learner.net.state_dict().items()}
    losses = learner.update(batch, task_pay(batch))
    assert all(np.isfinite(list(losses.values())))
    assert any(not torch.equal(before[name], value) for name, value in learner.net.state_dict().items())
    episodes = evaluate(learner.net, envs_of(observations, actions), 6, greedy=True, seed=0, num_steps=8)
    assert (episodes.length == 6).all()
    actor = Actor(learner.net, seed=0)
    assert play(AnySpaces(OBSERVATIONS[observations], ACTIONS[actions]), actor, seed=3).steps == 6


def test_a_policy_is_saved_with_what_it_normalises_by() -> None:
    learner = SMALL.make(envs_of("vector", "box"), seed=1)
    for _ in train(learner, task_pay, 100):
        pass
    saved = learner.tensors()
    assert float(saved["net.encoder.moments.count"]) > 90
    assert float(saved["pay_scale.variance"]) > 0
    again = SMALL.make_net(envs_of("vector", "box"))
    load_weights(again, "net", saved)
    observations = np.random.default_rng(0).normal(0, 3, (5, 3)).astype(np.float32)
    assert np.array_equal(again.encode(observations), learner.net.encode(observations))
    counted = float(learner.net.state_dict()["encoder.moments.count"])
    evaluate(learner.net, envs_of("vector", "box"), 4, greedy=False, seed=0, num_steps=8)
    assert float(learner.net.state_dict()["encoder.moments.count"]) == counted, "playing alone changes nothing"


@pytest.mark.parametrize(("observations", "actions"), [("vector", "box"), ("dict", "multi-discrete"), ("image", "box")])
def test_cloning_makes_demonstrated_actions_likelier(observations: str, actions: str) -> None:
    demos = demonstrated(observations, actions)
    learner = replace(SMALL, learner="bc").make(envs_of(observations, actions), 0, demos)
    first = learner.log_probs(demos)[demos.valid].mean()
    for _ in range(3):
        learner.update(learner.collect(), np.zeros(0))
    assert learner.log_probs(demos)[demos.valid].mean() > first + 0.05


@pytest.mark.parametrize("kind", ["gail", "gan_gcl"])
@pytest.mark.parametrize(
    ("observations", "actions"),
    [("vector", "box"), ("tuple", "multi-binary"), ("dict", "from one on"), ("image", "box")],
)
def test_imitation_pays_every_valid_step(observations: str, actions: str, kind: Any) -> None:
    demos, learner = demonstrated(observations, actions), SMALL.make(envs_of(observations, actions), seed=1)
    imitation = Imitation(kind, demos, learner.player.spaces, learner.log_probs, ImitationConfig(), seed=0)
    batch = learner.collect()
    pay = imitation(batch)
    assert np.isfinite(pay).all()
    assert (pay[~batch.rollout.valid] == 0).all()
    assert imitation.losses["loss_discriminator"] > 0


def test_random_play_is_uniform_in_the_box() -> None:
    demos = demonstrated("vector", "box")
    drawn = uniform_play(envs_of("vector", "box"), demos, stream(0, "random play"), 500)
    assert drawn.rollout.actions.shape == (500, 4, 2)
    assert drawn.log_prob.shape == (500, 4)
    assert not drawn.log_prob.any(), "against the uniform density itself"
    np.testing.assert_allclose(drawn.rollout.actions.reshape(-1, 2).mean(axis=0), [0, 0.5], atol=0.1)
    np.testing.assert_allclose(drawn.rollout.actions.reshape(-1, 2).std(axis=0), [4 / 12**0.5, 1 / 12**0.5], rtol=0.05)


@pytest.mark.parametrize(
    ("learner", "problem"),
    [("agac", "--learner agac needs one of several"), ("ride", "--learner ride looks at cells of a grid")],
)
def test_learners_that_cannot_say_so(learner: Any, problem: str) -> None:
    with pytest.raises(SrmError, match=rf"({problem}).*use --learner ppo"):
        replace(SMALL, learner=learner).make(envs_of("vector", "box"), seed=0)


def test_pay_is_scaled_by_ppo_alone() -> None:
    config = LearnerConfig(learner="agac")
    assert config.settle(envs_of("vector", "discrete")).ppo.scale_pay is False
    with pytest.raises(SrmError, match=r"--ppo.scale-pay would change nothing: it needs --learner ppo"):
        replace(config, ppo=PpoConfig(scale_pay=True)).refuse_idle_parts()


def test_defaults_follow_from_the_kind_of_task_and_flags_override_them() -> None:
    def settled(observations: str, actions: str, **ppo: Any) -> LearnerConfig:
        return LearnerConfig(ppo=PpoConfig(**ppo)).settle(envs_of(observations, actions))

    control = settled("vector", "box")
    assert (control.net, control.network.towers, control.network.width) == ("mlp", "separate", 64)
    assert (control.ppo.epochs, control.ppo.entropy_weight, control.ppo.value_clip) == (10, 0.0, None)
    assert control.ppo.num_envs * control.ppo.num_steps // control.ppo.minibatches == 64
    assert control.ppo.scale_pay
    given = settled("vector", "box", epochs=4, entropy_weight=0.01, value_clip=0.2, minibatches=4, scale_pay=False).ppo
    assert (given.epochs, given.entropy_weight, given.value_clip, given.minibatches, given.scale_pay) == (
        4,
        0.01,
        0.2,
        4,
        False,
    )
    assert settled("vector", "discrete").ppo.epochs == 4
    assert settled("image", "discrete").net == "cnn"
    assert control.settle(envs_of("vector", "box")) == control
    assert json.loads(json.dumps(control.ppo.epochs)) == 10
