"""What Hopper tells the rest of the package: its machine is proved, its files are checked, and without MuJoCo only hopping is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srm.domains.control.hopper.expert import POLICIES, STYLES
from srm.domains.control.policies import read_shipped
from srm.domains.control.torques import check_torques
from srm.domains.demonstrations import choose
from srm.domains.record import record
from srm.domains.registry import domain_of_env, domain_of_id
from srm.domains.tasks import find_task
from srm.errors import RunError, TaskError
from srm.machine.language.parse import find_machine
from srm.trajectory import Demonstrations

HOPPER = find_task("hopper")
SHIPPED = {"frugal": "hopper", "fast": "hopper_fast"}


def mean_of(demonstrations: Demonstrations, signal: str) -> float:
    """Of a step."""
    rollout = demonstrations.as_rollout()
    read = HOPPER.event_reader().read(rollout).signals[..., HOPPER.vocabulary.signal_index[signal]]
    return float(read[rollout.valid].mean())


@pytest.mark.parametrize("name", ["hopper", *(f"hopper_{style}" for style in STYLES)])
def test_the_machines_are_proved(name: str) -> None:
    report = find_machine(name).check(horizon=1000)
    assert report.count("error") == report.count("warning") == 0


def test_the_machines_of_the_styles_are_the_machine_with_values() -> None:
    holes = find_machine("hopper").holes
    for style in STYLES:
        valued = find_machine(f"hopper_{style}")
        assert valued.nodes == find_machine("hopper").nodes
        for hole, known in zip(holes, valued.holes, strict=True):
            assert hole.name == known.name
            assert known.value is not None
            assert hole.space is not None
            assert hole.space.low <= known.value <= hole.space.high


def test_the_shipped_styles_trade_speed_against_torque() -> None:
    frugal, fast = (choose(HOPPER, Path(name), None) for name in SHIPPED.values())
    assert len(frugal) == len(fast) == 10
    assert all(HOPPER.solved(trajectory) for shown in (frugal, fast) for trajectory in shown.trajectories)
    assert mean_of(fast, "speed") > 1.04 * mean_of(frugal, "speed")
    assert mean_of(frugal, "torque") < 0.5 * mean_of(fast, "torque")


@pytest.mark.parametrize("style", STYLES)
def test_a_shipped_policy_does_what_was_recorded(style: str) -> None:
    shown = choose(HOPPER, Path(SHIPPED[style]), 1).trajectories[0]
    acted = np.stack([STYLES[style](observation) for observation in shown.observations[:-1]])
    np.testing.assert_allclose(acted, shown.actions, atol=1e-4)
    assert (POLICIES / f"{style}.safetensors").stat().st_size <= 400_000


def test_a_policy_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(RunError, match=r"bad\.safetensors: no policy of two layers"):
        read_shipped(tmp_path / "bad.safetensors")


def test_an_expert_hops_in_the_environment_that_is_the_domains() -> None:
    pytest.importorskip("mujoco")
    env = HOPPER.environment(HOPPER.env_id)
    assert domain_of_env(env) is domain_of_id("Hopper-v5")
    env.close()
    again = record(replace(HOPPER, success=lambda _: True), 1, 0).trajectories[0]
    assert again.steps > 100


def test_an_unknown_style_is_refused_with_those_there_are() -> None:
    domain = domain_of_id("Hopper-v5")
    assert domain is not None
    assert domain.record_with is not None
    with pytest.raises(TaskError, match=r"there is no style fats; choose one of frugal, fast; did you mean fast\?"):
        domain.record_with(HOPPER, 1, 0, habit="fats", noise=0.0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actions": np.full((5, 3), 1.5, np.float32)}, "a torque outside -1 to 1"),
        ({"actions": np.zeros((5, 2), np.float32)}, r"actions float32 \[2\], expected 3 torques"),
        ({"observations": np.zeros((6, 7))}, r"observations float64 \[7\], expected float64 \[11\]"),
    ],
)
def test_a_file_of_other_numbers_is_refused(change: dict[str, np.ndarray], problem: str) -> None:
    whole = choose(HOPPER, None, 1).trajectories[0]
    short = {"observations": whole.observations[:6], "actions": whole.actions[:5], "poses": whole.poses[:6]}
    info = {key: numbers[:5] for key, numbers in whole.info.items()}
    first = replace(whole, **short, task_reward=whole.task_reward[:5], info=info)
    check_torques(3, first, 11, 3, np.float64)
    with pytest.raises(ValueError, match=f"episode 3: .*{problem}"):
        check_torques(3, replace(first, **change), 11, 3, np.float64)


WITHOUT = """
import sys
sys.modules["mujoco"] = None
from srm.cli import main
for line in ("tasks", "words hopper", "check hopper", "demo show hopper", "demo doorkey -n 1"):
    assert main(line.split()) == 0, line
assert main("demo hopper -n 1".split()) == 2
"""


def test_without_mujoco_only_hopping_is_refused_and_the_extra_is_named(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'install it with: pip install "symbolic-reward-machines[mujoco]"' in done.stderr
