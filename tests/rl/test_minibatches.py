"""Minibatches hold every step once, and equal samples are computed once, with the same outputs."""

from __future__ import annotations

import numpy as np
import pytest

from srm.rl.minibatches import Minibatch, Minibatches, sample_hashes
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import Ppo, PpoConfig
from srm.rl.rollout import Batch
from tests.rl.clockwork import Clockwork, Numbers

KINDS = pytest.mark.parametrize(("kind", "recurrence"), [("cnn", 1), ("mlp", 1), ("lstm", 1), ("lstm", 4)])


def drawn(kind: str, recurrence: int = 1, count: int = 3) -> tuple[Ppo, Batch, list[Minibatch]]:
    envs = Numbers() if kind == "mlp" else Clockwork()
    config = PpoConfig(2, 60, 1, count)  # long enough for episodes to repeat themselves
    learner = Ppo(envs, kind, NetConfig(width=16, memory=8), config, seed=0)  # type: ignore[arg-type]
    batch = learner.collect()
    return learner, batch, list(Minibatches(batch, recurrence).epoch(count, np.random.default_rng(0)))


@KINDS
def test_every_real_step_is_in_one_minibatch(kind: str, recurrence: int) -> None:
    _, batch, minibatches = drawn(kind, recurrence)
    index = np.concatenate([minibatch.index.numpy() for minibatch in minibatches])
    assert sorted(index) == np.flatnonzero(batch.rollout.valid).tolist()
    assert all(len(minibatch.inputs.episode_start) == recurrence for minibatch in minibatches)


@KINDS
def test_equal_samples_are_computed_once_and_have_the_outputs_they_were_played_with(kind: str, recurrence: int) -> None:
    learner, batch, minibatches = drawn(kind, recurrence)
    for minibatch in minibatches:
        inverse = minibatch.inputs.inverse
        if kind == "mlp":  # numbers hardly ever repeat, so nobody looks whether they do
            assert inverse is None
        else:
            assert inverse is not None
            assert len(minibatch.inputs.rows) == inverse.max() + 1 < len(inverse)
        truth = batch.outputs["logits"][:-1].reshape(-1, 3)[minibatch.index]
        np.testing.assert_allclose(minibatch.outputs(learner.net)["logits"].detach().numpy(), truth, atol=1e-5)


def test_hashes_differ_where_any_frame_does() -> None:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 3, (50, 4)).astype(np.uint8)
    rows = rng.integers(0, 50, (500, 2))
    samples = [tuple(frames[row].ravel()) for row in rows]
    hashes = sample_hashes(frames, rows).tolist()
    assert len(set(samples)) == len(set(hashes)) < 500
    assert len({*zip(samples, hashes, strict=True)}) == len(set(samples))


def test_sequences_follow_one_env_from_the_memory_stored_at_their_start() -> None:
    learner, batch, minibatches = drawn("lstm", recurrence=4, count=2)
    net = learner.net
    observations, memory = batch.rollout.observations[:-1].reshape(-1, 147), batch.memory.reshape(-1, net.memory)
    for minibatch in minibatches:
        inputs = minibatch.inputs
        assert inputs.inverse is not None
        frames = batch.frames[inputs.rows[inputs.inverse, 0]].reshape(4, len(inputs.memory), -1)
        for sequence, start in enumerate(inputs.memory.numpy()):
            first = np.flatnonzero((memory[:120] == start).all(axis=1))
            ways = [net.encode(observations[step : step + 8 : 2].reshape(-1, 7, 7, 3)) for step in first if step <= 112]
            assert any(np.array_equal(frames[:, sequence], way) for way in ways)
