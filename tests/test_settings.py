"""Numbers that cannot work are refused when a config is made, with the flag that says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from srm.errors import SettingError
from srm.infer.algorithm1.gaussian import SamplerConfig
from srm.infer.algorithm1.loop import InferConfig
from srm.infer.algorithm1.reward_net import RewardNetConfig
from srm.infer.baselines.imitation import ImitationConfig
from srm.rl.agac import AgacConfig
from srm.rl.bc import CloneConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.rl.ride import RideConfig
from srm.runs.learning_settings import Learning
from srm.runs.training import Training
from srm.seeding import stream

NAN = float("nan")


@pytest.mark.parametrize(
    ("config", "field", "value", "told"),
    [
        (PpoConfig, "num_envs", 0, "--ppo.num-envs 0: give a number that is 1 or more"),
        (PpoConfig, "minibatches", -1, "--ppo.minibatches -1: give a number that is 1 or more"),
        (PpoConfig, "learning_rate", 0.0, "--ppo.learning-rate 0.0: give a number above 0"),
        (PpoConfig, "learning_rate", NAN, "--ppo.learning-rate nan: give a number above 0"),
        (PpoConfig, "discount", 1.5, "--ppo.discount 1.5: give a number above 0 that is at most 1"),
        (PpoConfig, "gae_lambda", -0.1, "--ppo.gae-lambda -0.1: give a number from 0 to 1"),
        (PpoConfig, "clip_coef", float("inf"), "--ppo.clip-coef inf: give a number above 0"),
        (PpoConfig, "num_envs", 10**12, "--ppo.num-envs 1000000000000: give a number that is 1,000,000 at most"),
        (PpoConfig, "num_steps", 10**12, "--ppo.num-steps 1000000000000: give a number that is 1,000,000 at most"),
        (NetConfig, "width", 10**9, "--network.width 1000000000: give a number that is 16,384 at most"),
        (NetConfig, "stack", 0, "--network.stack 0: give a number that is 1 or more"),
        (AgacConfig, "surprise_frames", 0, "--agac.surprise-frames 0: give a number that is 1 or more"),
        (RideConfig, "minibatches", 0, "--ride.minibatches 0: give a number that is 1 or more"),
        (CloneConfig, "steps", 0, "--bc.steps 0: give a number that is 1 or more"),
        (ImitationConfig, "bound", -5.0, "--imitation.bound -5.0: give a number above 0"),
        (RewardNetConfig, "recurrence", 0, "reward-net.recurrence 0: give a number that is 1 or more"),
        (SamplerConfig, "samples", 0, "--sampler.samples 0: give a number that is 1 or more"),
        (SamplerConfig, "spread", 0.0, "--sampler.spread 0.0: give a number above 0 that is at most 1"),
        (InferConfig, "warm_up", -1, "--warm-up -1: give a number that is 0 or more"),
        (Training, "frames", -1, "--frames -1: give a number that is 0 or more"),
        (Training, "stop_at", NAN, "--stop-at nan: give a number"),
        (Training, "draw", -1, "--draw -1: give a number that is 0 or more"),
        (Learning, "episodes", -1, "--episodes -1: give a number that is 1 or more"),
        (Learning, "stop_at", NAN, "--stop-at nan: give a number"),
    ],
)
def test_a_number_out_of_its_range_is_told_with_its_flag(config: Any, field: str, value: float, told: str) -> None:
    with pytest.raises(SettingError) as refused:
        config(**{field: value})
    assert str(refused.value) == told


def test_what_has_no_number_is_not_out_of_range() -> None:
    assert PpoConfig(value_clip=None).value_clip is None
    assert Training(stop_at=-1.0).stop_at == -1.0


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(SettingError, match="seed -3: seeds are 0 or more"):
        stream(-3, "worlds")
