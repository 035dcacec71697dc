"""What driving tells the rest of the package: its machines are proved, its files are checked, and without highway-env only driving is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srm.domains.control.highway.episodes import check_ranges
from srm.domains.controls import action_names, controls_of
from srm.domains.demonstrations import choose
from srm.domains.envs import gather
from srm.domains.tasks import find_task
from srm.evaluate.trace import trace
from srm.machine.language.parse import find_machine

TASKS = ("highway", "merge")


@pytest.mark.parametrize("name", TASKS)
def test_the_machine_is_proved(name: str) -> None:
    proved = find_machine(name).check(horizon=30)
    assert proved.count("error") == proved.count("warning") == 0
    assert "no loop can be repeated without end for gain" in str(proved)


@pytest.mark.parametrize("name", [*TASKS, *(f"{name}_brisk" for name in TASKS)])
def test_the_machine_accepts_what_comes_to_the_end(name: str) -> None:
    task = find_task(name.removesuffix("_brisk"))
    machine = find_machine(task.name)
    values = {hole.name: 0.0 for hole in machine.holes} | {"safe" if task.name == "highway" else "soon": 5.0}
    for trajectory in choose(task, Path(name), None).trajectories:
        assert trace(machine, task.event_reader(), trajectory, values).steps[-1].target == "home"


def test_a_person_drives_with_the_arrow_keys() -> None:
    pytest.importorskip("highway_env")
    task = find_task("highway")
    env = task.environment(task.env_id)
    controls, names = controls_of(task, env), action_names(task, env)
    assert controls.turns
    assert {key: names[action] for (key,), action in controls.keys.items()} == {
        "ArrowUp": "lane left",
        "ArrowDown": "lane right",
        "ArrowRight": "faster",
        "ArrowLeft": "slower",
        " ": "idle",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actions": np.full(5, 5)}, "an action that is not one of 0 to 4"),
        ({"observations": np.zeros((6, 5, 4), np.float32)}, r"float32 \[5, 4\], expected float32 \[5, 5\]"),
        ({"info": {}}, "info has no number crashed, which says how a drive ends"),
    ],
)
def test_a_file_of_other_numbers_is_refused(change: dict[str, np.ndarray], problem: str) -> None:
    whole = choose(find_task("highway"), None, 1).trajectories[0]
    short = {"observations": whole.observations[:6], "actions": whole.actions[:5], "poses": whole.poses[:6]}
    info = {key: numbers[:5] for key, numbers in whole.info.items()}
    first = replace(whole, **short, task_reward=whole.task_reward[:5], info=info)
    check_ranges(3, first)
    with pytest.raises(ValueError, match=f"episode 3: {problem}|episode 3: observations {problem}"):
        check_ranges(3, replace(first, **change))


@pytest.mark.parametrize("name", TASKS)
def test_envpool_says_who_has_crashed(name: str) -> None:
    pytest.importorskip("envpool")
    task = find_task(name).using("envpool")
    envs = task.make_envs(16, seed=0)
    seen, poses = envs.reset()
    steps = [envs.step(np.full(16, 3)) for _ in range(30)]
    rollout = gather(seen, poses, [np.full(16, 3)] * 30, steps)
    ended = rollout.terminated
    assert ended.any()
    assert (rollout.info["crashed"][ended] == 1).all()  # nobody who only speeds up comes to an end
    assert (rollout.info["crashed"][rollout.valid & ~ended] == 0).all()
    envs.close()


WITHOUT = """
import sys
sys.modules["highway_env"] = None
from srm.cli import main
for line in ("tasks", "words highway", "check highway", "check merge", "demo show merge", "demo doorkey -n 1"):
    assert main(line.split()) == 0, line
assert main("demo merge -n 1".split()) == 2
"""


def test_without_highway_env_only_driving_is_refused_and_the_extra_is_named(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'install it with: pip install "symbolic-reward-machines[driving]"' in done.stderr
