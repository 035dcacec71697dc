"""Learners of Stable-Baselines3 in the policy's place: paid by whoever pays, saved, resumed, and asked how likely they find things."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from srm.cli import main
from srm.domains.tasks import find_task
from srm.errors import RunError, SettingError
from srm.runs.foreign_policy import Sb3Config, make_foreign, refuse_unfit_policy
from srm.sb3.learner import Sb3Learner

DISCRETE: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 16, "batch_size": 32, "n_epochs": 2},
    "A2C": {"n_steps": 16},
    "RecurrentPPO": {"n_steps": 16, "batch_size": 32, "n_epochs": 1},
    "DQN": {"learning_starts": 20, "buffer_size": 200, "train_freq": 4},
}
CONTINUOUS: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 16, "batch_size": 32, "n_epochs": 1},
    "SAC": {"learning_starts": 20, "buffer_size": 200, "batch_size": 16, "policy_kwargs": {"net_arch": [8]}},
    "TD3": {"learning_starts": 20, "buffer_size": 200, "batch_size": 16, "policy_kwargs": {"net_arch": [8]}},
}
KINDS = [("CartPole-v1", name, given) for name, given in DISCRETE.items()] + [
    ("Pendulum-v1", name, given) for name, given in CONTINUOUS.items()
]


def learner(env_id: str, name: str, arguments: dict[str, Any], seed: int = 0) -> Sb3Learner:
    return Sb3Learner(
        name,
        lambda: gymnasium.make(env_id),
        env_id,
        num_envs=2,
        num_steps=16,
        arguments=arguments,
        seed=seed,
    )


@pytest.mark.parametrize(("env_id", "name", "arguments"), KINDS, ids=[f"{name} {env}" for env, name, _ in KINDS])
def test_it_learns_from_the_pay_it_is_given_and_from_nothing_else(
    env_id: str, name: str, arguments: dict[str, Any]
) -> None:
    policy = learner(env_id, name, arguments)
    for _ in range(3):
        batch = policy.collect()
        rollout = batch.rollout
        assert rollout.valid.all()
        pay = np.random.default_rng(0).normal(size=rollout.valid.shape)
        policy.update(batch, pay)
        model = policy.model
        if hasattr(model, "replay_buffer"):
            rows = (model.replay_buffer.pos - 16 + np.arange(16)) % model.replay_buffer.buffer_size
            np.testing.assert_allclose(model.replay_buffer.rewards[rows], pay, rtol=1e-6)
    assert policy.frames == 3 * 16 * 2
    weights = [value.clone() for value in policy.model.policy.parameters()]
    policy.update(policy.collect(), pay)
    assert any((a != b).any() for a, b in zip(weights, policy.model.policy.parameters(), strict=True))


@pytest.mark.parametrize(("env_id", "name", "arguments"), KINDS, ids=[f"{name} {env}" for env, name, _ in KINDS])
def test_log_probabilities_are_those_of_the_policy_or_none(env_id: str, name: str, arguments: dict[str, Any]) -> None:
    policy = learner(env_id, name, arguments)
    batch = policy.collect()
    if name == "TD3":
        assert batch.log_prob is None
        assert policy.log_probs(batch.rollout) is None
        return
    log_prob = policy.log_probs(batch.rollout)
    assert log_prob is not None
    assert log_prob.shape == batch.rollout.valid.shape
    if name in ("PPO", "A2C", "RecurrentPPO") and env_id == "CartPole-v1":
        np.testing.assert_allclose(log_prob, policy.model.rollout_buffer.log_probs, atol=1e-5)
    if name == "DQN":
        rate = policy.model.exploration_rate
        assert set(np.round(np.exp(log_prob).ravel(), 5)) <= {np.round(p, 5) for p in (rate / 2, 1 - rate / 2)}
    if (
        name == "SAC"
    ):  # of actions drawn uniformly the density of any policy averages to 1, measured against the uniform one
        actions = np.random.default_rng(0).uniform(-2, 2, size=(400, 2, 1)).astype(np.float32)
        many = np.repeat(batch.rollout.observations[:1], 401, axis=0)
        no = np.zeros((400, 2), np.bool_)
        from srm.trajectory import Rollout

        still = Rollout(many, actions, np.zeros((401, 2, 0), np.int16), np.zeros((400, 2), np.float32), no, no, ~no)
        density = policy.log_probs(still)
        assert density is not None
        assert np.exp(density).mean() == pytest.approx(1, abs=0.25)


def test_pay_takes_the_place_of_the_reward_before_returns_are_computed() -> None:
    policy = learner("CartPole-v1", "PPO", DISCRETE["PPO"] | {"gae_lambda": 1.0, "gamma": 1.0})
    batch = policy.collect()
    assert not policy.model.rollout_buffer.rewards.any()  # CartPole pays 1 a step
    seen: list[np.ndarray] = []
    inner = policy.model.train

    def train() -> None:
        buffer = policy.model.rollout_buffer
        seen.append(buffer.returns.copy())
        inner()

    policy.model.train = train
    pay = np.arange(32.0).reshape(16, 2)
    last, dones = policy.model.rollout_buffer.last
    policy.update(batch, pay)
    for env in range(2):
        over = (batch.rollout.terminated | batch.rollout.truncated)[:, env]
        later = float(last[env]) * (not dones[env])
        for t in reversed(range(16)):
            later = pay[t, env] + (0 if over[t] else later)
            assert seen[0][t, env] == pytest.approx(later, rel=1e-4)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3], KINDS[5]], ids=["PPO", "DQN", "SAC"])
def test_what_is_saved_goes_on_as_it_was(kind: Any) -> None:
    env_id, name, arguments = kind
    first, second = learner(env_id, name, arguments), learner(env_id, name, arguments, seed=5)
    for _ in range(3):
        batch = first.collect()
        first.update(batch, np.ones(batch.rollout.valid.shape))
    second.load({name: torch.from_numpy(value.numpy().copy()) for name, value in first.tensors().items()})
    kept, read = first.tensors(), second.tensors()
    assert kept.keys() == read.keys()
    assert all(torch.equal(kept[key], read[key]) for key in kept)
    assert second.model.num_timesteps == first.model.num_timesteps


def test_all_that_is_remembered_can_be_re_paid() -> None:
    policy = learner("CartPole-v1", "DQN", DISCRETE["DQN"])
    for _ in range(8):  # 128 steps of each env, of which 100 fit
        policy.collect()
    assert policy.remembers == 100
    pay = np.arange(300.0).reshape(150, 2)
    policy.repay(pay)
    buffer = policy.model.replay_buffer
    order = (buffer.pos + np.arange(100)) % 100
    np.testing.assert_array_equal(buffer.rewards[order], pay[-100:])


def test_the_same_seed_plays_the_same() -> None:
    plays = []
    for _ in range(2):
        policy = learner("CartPole-v1", "PPO", DISCRETE["PPO"], seed=7)
        plays.append(policy.collect().rollout.observations)
    np.testing.assert_array_equal(*plays)


# In a run


def test_a_run_learns_evaluates_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    flags = ["--sb3.num-envs", "4", "--sb3.num-steps", "32", "--posterior.sweeps", "20", "--episodes", "1"]
    arguments = ["--sb3.arguments", '{"batch_size": 64, "n_epochs": 1}']
    assert (
        main(["learn", "DoorKey-5x5", "--policy", "sb3:PPO", "--frames", "1500", *flags, *arguments, "-o", str(out)])
        == 0
    )
    assert (out / "learnt.srm").exists()
    assert main(["eval", str(out), "--episodes", "4"]) == 0
    assert main(["learn", "--resume", str(out), "--frames", "2000"]) == 0
    assert "success" in capsys.readouterr().out


@pytest.mark.parametrize("policy", ["sb3:DQN", "sb3:TD3"])
def test_algorithm_1_takes_who_knows_log_probabilities_and_refuses_the_others(policy: str, tmp_path: Path) -> None:
    task = find_task("DoorKey-5x5")
    if policy == "sb3:TD3":
        with pytest.raises(SettingError, match="knows no log-probabilities"):
            refuse_unfit_policy(policy, True)
        refuse_unfit_policy(policy, False)
        return
    made = make_foreign(policy, Sb3Config(num_envs=2, num_steps=8), task, 0)
    assert made.collect().log_prob is not None


def test_what_is_no_learner_is_refused() -> None:
    for policy, words in (("sac", "write sb3:NAME"), ("sb3:SACK", "there is no such learner")):
        with pytest.raises(SettingError, match=words):
            refuse_unfit_policy(policy, False)
    with pytest.raises(SettingError, match="is not JSON"):
        Sb3Config(arguments="{")
    for arguments, words in (
        ({"tensorboard_log": "elsewhere"}, "tensorboard_log cannot be given"),
        ({"policy_kwargs": {"features_extractor_class": "os.system"}}, "policy_kwargs.features_extractor_class cannot"),
        ({"policy_kwargs": {"net_arch": [10**9]}}, "net_arch is .*of widths from 1 to 16,384"),
        ({"policy_kwargs": 5}, "policy_kwargs is 5: give names and values"),
        ({"gamma": "x"}, "gamma is x: give a number from 0 to 1"),
        ({"n_epochs": True}, "n_epochs is True: give a whole number"),
        ({"policy": "CnnPolicy"}, 'policy is CnnPolicy: give "MlpPolicy"'),
        ({"_init_setup_model": False}, "_init_setup_model cannot be given"),
        ({"\x1b[2J": 1}, r"x1b\[2J cannot be given"),
    ):
        with pytest.raises(SettingError, match=words) as refused:
            Sb3Config(arguments=json.dumps(arguments))
        assert str(refused.value).isprintable()
    kept = {"learning_rate": 1e-3, "ent_coef": "auto", "target_kl": None, "policy_kwargs": {"net_arch": {"pi": [8]}}}
    assert Sb3Config(arguments=json.dumps(kept)).given_arguments() == kept
    with pytest.raises(RunError, match="does not take these environments or arguments"):
        learner("CartPole-v1", "SAC", {})


@pytest.mark.parametrize(
    "arguments",
    [
        {"learning_speed": 1},
        {"policy": {"_target_": "os.system"}},
        {"policy_kwargs": {"activation_fn": "torch.nn.ReLU"}},
        {"policy_kwargs": {"net_arch": [-5]}},
        {"n_steps": 10**12},
        {"stats_window_size": -1},
        {"gamma": "high"},
        {"n_epochs": 0},
    ],
    ids=str,
)
def test_arguments_that_fail_are_refused_with_a_sentence(arguments: dict[str, Any]) -> None:
    def use() -> None:
        policy = learner("CartPole-v1", "PPO", DISCRETE["PPO"] | arguments)
        policy.update(policy.collect(), np.ones((16, 2)))

    sentence = r"^sb3:PPO (does not take|fails with) these environments or arguments: \w+: .+$"
    with pytest.raises(RunError, match=sentence):
        use()
