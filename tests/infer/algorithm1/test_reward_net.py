"""f: its memory begins anew with each episode, and a sequence with stored memory is part of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from srm.domains.spaces import Choice, ObservationPart, ObservationSpace, Spaces
from srm.infer.algorithm1.reward_net import RewardNet, RewardNetConfig
from srm.infer.algorithm1.sequences import cut_sequences, draw_sequences, follow
from srm.trajectory import Rollout
from tests.infer.play import MINIGRID

T, B, A = 12, 3, 7


def numbers(*shape: int) -> Spaces:
    part = ObservationPart("", (), "numbers", shape, np.dtype(np.float32))
    return Spaces(ObservationSpace((part,)), Choice(2))


def rollout(seed: int = 0) -> Rollout:
    """Random observations; env 0 ends at step 4 and spends step 5 on resetting."""
    rng = np.random.default_rng(seed)
    observations = rng.integers(0, 3, (T + 1, B, 7, 7, 3)).astype(np.uint8)
    terminated, valid = np.zeros((T, B), bool), np.ones((T, B), bool)
    terminated[4, 0], valid[5, 0] = True, False
    return Rollout(
        observations,
        rng.integers(0, A, (T, B)),
        np.zeros((T + 1, B, 3), np.int16),
        np.zeros((T, B), np.float32),
        terminated,
        np.zeros((T, B), bool),
        valid,
    )


CHANGES: dict[str, object] = {}


@pytest.fixture(params=["strided", "paper"], autouse=True)
def _trunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHANGES, "trunk", request.param)


def net(**changes: object) -> RewardNet:
    return RewardNet(MINIGRID, replace(RewardNetConfig(), **(CHANGES | changes)), seed=0)  # type: ignore[arg-type]


ALL = np.ones(B, bool)


def test_f_is_a_log_likelihood_within_its_cap() -> None:
    f = follow(net(), rollout(), ALL).f
    assert f.shape == (T, B)
    assert (f < 0).all()
    assert (f > -6 - np.log(A)).all()
    printed = follow(net(logits="sigmoid"), rollout(), ALL).f
    assert (printed > -np.log(A) - 1).all()  # logits in [0, 1] cannot say more


def test_what_came_before_an_episode_does_not_matter() -> None:
    one, f = rollout(), net()
    other = replace(one, observations=one.observations.copy())
    other.observations[:5, 0] = 1  # another first episode of env 0
    a, b = follow(f, one, ALL).f, follow(f, other, ALL).f
    assert a[6:, 0].tolist() == b[6:, 0].tolist()
    assert a[:5, 0].tolist() != b[:5, 0].tolist()
    assert a[:, 1:].tolist() == b[:, 1:].tolist()


def test_what_came_before_a_step_does() -> None:
    one, f = rollout(), net()
    other = replace(one, observations=one.observations.copy())
    other.observations[0, 1] = 2
    assert follow(f, one, ALL).f[3, 1] != follow(f, other, ALL).f[3, 1]


def test_memory_carried_into_the_next_rollout_makes_it_one_episode() -> None:
    whole, f = rollout(), net()
    halves = [
        Rollout(
            whole.observations[low : high + 1],
            whole.actions[low:high],
            whole.poses[low : high + 1],
            whole.task_reward[low:high],
            whole.terminated[low:high],
            whole.truncated[low:high],
            whole.valid[low:high],
        )
        for low, high in ((0, 7), (7, T))
    ]
    first = follow(f, halves[0], ALL)
    second = follow(f, halves[1], np.zeros(B, bool), first.memory[-1])
    together = follow(f, whole, ALL).f
    assert torch.cat([first.f, second.f]).numpy() == pytest.approx(together.numpy(), abs=1e-5)


def test_sequences_with_stored_memory_say_what_the_whole_says() -> None:
    f = net()
    followed = follow(f, rollout(), ALL)
    starts, ends, envs = np.array([0, 3, 8, 10]), np.array([2, 7, T, T]), np.array([0, 0, 2, 1])
    parts = cut_sequences(followed, starts, ends, envs, 4)
    index = parts.index.flatten().numpy()
    found, _ = f(followed.observations, index, parts.episode_start, parts.memory, parts.actions)
    for n, (start, end, env) in enumerate(zip(starts, ends, envs, strict=True)):
        for s in range(4):
            inside = start + s < end
            assert bool(parts.valid[s, n]) == (inside and bool(followed.valid[start + s, env]))
            if inside:
                assert found[s, n].item() == pytest.approx(followed.f[start + s, env].item(), abs=1e-5)


@pytest.mark.parametrize("rng", range(8))
def test_a_few_sequences_are_drawn_whole_with_every_real_step_once(rng: int) -> None:
    followed = follow(net(), rollout(), ALL)
    parts = draw_sequences(followed, RewardNetConfig(recurrence=4), np.random.default_rng(rng))
    times = np.bincount(parts.index[parts.valid].numpy(), minlength=T * B).reshape(T, B)
    assert (times == followed.valid.numpy()).all()


def test_other_views_are_taken_as_plain_numbers() -> None:
    plain = RewardNet(numbers(4), RewardNetConfig(), seed=0)
    one = rollout()
    vectors = replace(one, observations=np.zeros((T + 1, B, 4), np.float32), actions=one.actions % 2)
    assert follow(plain, vectors, ALL).f.shape == (T, B)


def test_pictures_can_be_taken_as_plain_numbers_too() -> None:
    """Of whatever size and content: no cell of MiniGrid holds a 200."""
    plain = RewardNet(numbers(4, 5, 3), RewardNetConfig(trunk="plain"), seed=0)
    one = rollout()
    observations = np.zeros((T + 1, B, 4, 5, 3), np.uint8)
    dark = replace(one, observations=observations, actions=one.actions % 2)
    bright = replace(dark, observations=observations + np.uint8(200))
    assert not np.allclose(follow(plain, dark, ALL).f, follow(plain, bright, ALL).f)
