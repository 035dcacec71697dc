"""Observations of any space reach a network: numbers normalised, one of several as one-hot, pictures as pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from srm.domains.envs import space_of
from srm.domains.spaces import observation_space_of
from srm.errors import TaskError
from srm.rl.nn.nets import kind_for
from srm.rl.nn.senses import FrameEncoder, FrameReader, RunningMoments
from srm.rl.scale import PayScale
from tests.domains.any_spaces import ACTIONS, OBSERVATIONS, AnySpaces
from tests.test_trajectory import rollout


def test_moments_of_batches_are_those_of_all_of_it() -> None:
    rng = np.random.default_rng(0)
    numbers, moments = rng.normal([3, -100], [2, 50], (1000, 2)), RunningMoments(2)
    for part in np.split(numbers, [1, 10, 400, 400]):
        moments.add(part)
    np.testing.assert_allclose(moments.mean, numbers.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(moments.variance, numbers.var(axis=0), rtol=1e-4)
    normal = moments.normalize(numbers)
    assert normal.dtype == np.float32
    np.testing.assert_allclose(normal.mean(axis=0), 0, atol=1e-4)
    assert moments.normalize(np.array([1e9, 0.0]))[0] == 10


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_every_observation_has_a_frame_that_a_network_reads(name: str) -> None:
    env = AnySpaces(OBSERVATIONS[name], ACTIONS["discrete"])
    space = space_of(env)
    env.observation_space.seed(1)  # the first and the fourth are not the same
    observations = np.stack([space.read(env.observation_space.sample()) for _ in range(5)])
    encoder = FrameEncoder(space, cells=False, pictures=True, normalize=True)
    encoder.watch(observations)
    frames = encoder.encode(observations)
    assert frames.shape == (5, len(encoder.blank()))
    assert frames.dtype == encoder.blank().dtype == (np.uint8 if encoder.pictures else np.float32)
    reader = FrameReader(encoder)
    read = reader(frames, np.array([[0], [3], [3]]))
    assert read.shape == (3, reader.out)
    assert torch.equal(read[1], read[2])
    assert not torch.equal(read[0], read[1])
    one = encoder.encode(observations[2])
    assert np.array_equal(one, frames[2])


def test_one_of_several_is_one_hot_and_counted_from_its_first() -> None:
    space = observation_space_of("any", spaces.Tuple((spaces.Discrete(3, start=2), spaces.MultiDiscrete([2, 2]))))
    encoder = FrameEncoder(space, cells=False, pictures=True, normalize=True)
    observation = space.read((4, np.array([1, 0])))
    assert encoder.encode(observation).tolist() == [0, 0, 1, 0, 1, 1, 0]
    outside = observation.copy()
    outside["0"] = 5
    with pytest.raises(TaskError, match=r"an observation in 0 holds .* outside of its own space"):
        encoder.encode(outside)


def test_pixels_and_numbers_share_a_frame() -> None:
    env = AnySpaces(OBSERVATIONS["dict"], ACTIONS["discrete"])
    space = space_of(env)
    observation = space.read(env.observation_space.sample())
    encoder = FrameEncoder(space, cells=False, pictures=True, normalize=False)
    frame = encoder.encode(observation)
    assert np.array_equal(frame[: encoder.pixels], observation["inner.eye"].reshape(-1))
    vector = frame[encoder.pixels :].view(np.float32)
    assert vector.tolist() == [*observation["position"].tolist(), *np.eye(3)[observation["inner.room"]].tolist()]


def test_the_network_follows_from_what_is_observed() -> None:
    def chosen(name: str) -> str:
        return kind_for("auto", observation_space_of("any", OBSERVATIONS[name]))

    assert {name: chosen(name) for name in OBSERVATIONS} == {
        name: "cnn" if name in ("image", "channels first", "dict") else "mlp" for name in OBSERVATIONS
    }
    with pytest.raises(TaskError, match=r"--net cnn looks at .* not at float32 \[3\]; use --net mlp"):
        kind_for("cnn", observation_space_of("any", OBSERVATIONS["vector"]))


def test_pay_is_divided_by_the_spread_of_its_discounted_sum() -> None:
    played = rollout(steps=3, envs=2)
    pay = np.array([[100.0, 0.0], [100.0, 0.0], [100.0, 10.0]])
    scale = PayScale(0.5)
    scaled = scale.scale(played, pay)
    sums = np.array([[100, 0], [150, 0], [175, 10]])
    np.testing.assert_allclose(scaled, pay / sums.std(), rtol=1e-4)
    again = scale.scale(played, np.zeros((3, 2)))
    assert not again.any()
    followed = np.concatenate([sums.ravel(), [87.5, 5, 43.75, 2.5, 21.875, 1.25]])
    assert float(scale.variance) == pytest.approx(followed.var(), rel=1e-4)
