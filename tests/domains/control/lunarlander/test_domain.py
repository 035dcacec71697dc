"""What LunarLander tells the rest of the package: its machine is proved, its files are checked, and without Box2D only flying is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srm.domains.base import Task
from srm.domains.control.lunarlander.episodes import check_ranges
from srm.domains.controls import action_names, controls_of
from srm.domains.demonstrations import choose
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.evaluate.trace import trace
from srm.machine.language.parse import find_machine, library_text, parse

LANDER, THROTTLED = find_task("lunarlander"), find_task("lunarlander_continuous")


def test_the_machine_is_proved_and_its_atom_is_needed() -> None:
    text = library_text("lunarlander")
    proved = find_machine("lunarlander").check(horizon=1000)
    assert proved.count("error") == proved.count("warning") == 0
    bare = parse(text[: text.index("constraint")]).check(horizon=1000)
    assert "staying can be the better choice" in str(bare)


@pytest.mark.parametrize(
    ("task", "shown"),
    [(LANDER, None), (LANDER, Path("lunarlander_frugal")), (THROTTLED, None)],
    ids=("gentle", "frugal", "throttled"),
)
def test_the_machine_accepts_what_lands(task: Task, shown: Path | None) -> None:
    """Also what lifts off for a moment and comes to rest without touching the ground a second time."""
    machine, values = find_machine("lunarlander"), {hole.name: 0.0 for hole in find_machine("lunarlander").holes}
    for trajectory in choose(task, shown, None).trajectories:
        assert trace(machine, task.event_reader(), trajectory, values).steps[-1].target == "landed"


def test_a_person_flies_in_real_time() -> None:
    env = LANDER.environment(LANDER.env_id)
    controls, names = controls_of(LANDER, env), action_names(LANDER, env)
    assert not controls.turns
    assert {key: names[action] for (key,), action in controls.keys.items()} == {
        "ArrowUp": "main engine",
        "ArrowLeft": "right engine",
        "ArrowRight": "left engine",
    }
    assert controls.noop is not None
    assert names[controls.noop] == "nothing"
    with pytest.raises(TaskError, match="keys choose among a few"):
        controls_of(THROTTLED, THROTTLED.environment(THROTTLED.env_id))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actions": np.full(5, 4)}, "an action outside 0 to 3"),
        ({"actions": np.full((5, 2), 1.5, np.float32)}, "an action outside -1 to 1"),
        ({"actions": np.zeros((5, 3), np.float32)}, r"actions \[3\], expected one of four, or two throttles"),
        ({"observations": np.zeros((6, 7), np.float32)}, r"float32 \[7\], expected float32 \[8\]"),
    ],
)
def test_a_file_of_other_numbers_is_refused(change: dict[str, np.ndarray], problem: str) -> None:
    whole = choose(LANDER, None, 1).trajectories[0]
    short = {"observations": whole.observations[:6], "actions": whole.actions[:5], "poses": whole.poses[:6]}
    first = replace(whole, **short, task_reward=whole.task_reward[:5])
    check_ranges(3, first)
    with pytest.raises(ValueError, match=f"episode 3: .*{problem}"):
        check_ranges(3, replace(first, **change))


WITHOUT = """
import sys
sys.modules["Box2D"] = None
from srm.cli import main
for line in ("tasks", "words lunarlander", "check lunarlander", "demo show lunarlander", "demo doorkey -n 1"):
    assert main(line.split()) == 0, line
assert main("demo lunarlander -n 1".split()) == 2
"""


def test_without_box2d_only_flying_is_refused_and_the_extra_is_named(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'install it with: pip install "symbolic-reward-machines[box2d]"' in done.stderr
