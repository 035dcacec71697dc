"""Tasks are found by family, environment or import; their parts fit together."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import srm.machine
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, short_name
from srm.errors import TaskError

OWN = replace(FAMILIES["doorkey"], name="own", env_id="MiniGrid-DoorKey-5x5-v0")
NUMBER = 3
WORDLESS = replace(OWN, event_reader=object)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "family", "env_id"),
    [
        ("doorkey", "doorkey", "MiniGrid-DoorKey-8x8-v0"),
        ("keycorridor", "keycorridor", "MiniGrid-KeyCorridorS3R3-v0"),
        ("obstructedmaze", "obstructedmaze", "MiniGrid-ObstructedMaze-2Dlhb-v1"),
        ("DoorKey-16x16", "doorkey", "MiniGrid-DoorKey-16x16-v0"),
        ("MiniGrid-KeyCorridorS6R3-v0", "keycorridor", "MiniGrid-KeyCorridorS6R3-v0"),
        ("ObstructedMaze-Full", "obstructedmaze", "MiniGrid-ObstructedMaze-Full-v1"),
        ("ObstructedMaze-Full-v0", "obstructedmaze", "MiniGrid-ObstructedMaze-Full-v0"),
        ("ObstructedMaze-1Dl", "obstructedmaze", "MiniGrid-ObstructedMaze-1Dl-v0"),
        ("Hopper", "hopper", "Hopper-v5"),
        ("LunarLander-v3", "lunarlander", "LunarLander-v3"),
        ("LunarLanderContinuous", "lunarlander_continuous", "LunarLanderContinuous-v3"),
        ("highway-fast", "highway", "highway-fast-v0"),
        ("merge-v0", "merge", "merge-v0"),
        ("tests.domains.test_tasks:OWN", "own", "MiniGrid-DoorKey-5x5-v0"),
    ],
)
def test_a_task_has_several_names(name: str, family: str, env_id: str) -> None:
    task = find_task(name)
    assert (task.name, task.env_id) == (family, env_id)


def test_every_environment_has_a_name_of_its_own() -> None:
    ids = [env_id for family in ENVIRONMENTS.values() for env_id in family]
    assert len({short_name(env_id) for env_id in ids}) == len(ids) == 31
    assert all(find_task(short_name(env_id)).env_id == env_id for env_id in ids)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("dorkey", r"there is no task dorkey \(`srm tasks` lists them\); did you mean doorkey\?"),
        ("DoorKey-16x61", r"did you mean DoorKey-16x16\?"),
        ("nowhere.at.all:task", "No module named 'nowhere'"),
        ("tests.domains.test_tasks:absent", "has no attribute 'absent'"),
        ("tests.domains.test_tasks:NUMBER", "is of type int, expected srm.Task"),
        ("tests.domains.test_tasks:WORDLESS", "its event reader has not the task's `vocabulary`"),
        (":x", "it is PACKAGE.MODULE:NAME"),
    ],
)
def test_an_unknown_task_is_told_with_a_remedy(name: str, problem: str) -> None:
    with pytest.raises(TaskError, match=problem):
        find_task(name)


@pytest.mark.parametrize(
    ("module", "line", "problem"),
    [
        ("broken_task", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("worthless_task", "raise ValueError('no size')", "ValueError: no size"),
        ("lost_task", "import nowhere_else", "ModuleNotFoundError: No module named 'nowhere_else'"),
        ("stale_task", "from srm.errors import Absent", "ImportError: cannot import name 'Absent'"),
    ],
)
def test_what_a_module_of_ones_own_raises_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, line: str, problem: str
) -> None:
    (tmp_path / f"{module}.py").write_text(f"{line}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(TaskError, match=f"importing {module} raises {problem}.*; mend it"):
        find_task(f"{module}:TASK")


@pytest.mark.parametrize("task", FAMILIES.values(), ids=FAMILIES)
def test_the_parts_of_a_task_fit_together(task: srm.Task) -> None:
    library = Path(srm.machine.__file__).parent / "library"
    assert all((library / f"{machine}.srm").is_file() for machine in task.machines)
    assert task.env_id in ENVIRONMENTS[task.name]
    assert task.event_reader().vocabulary is task.vocabulary
    envs = task.make_envs(2, seed=0)
    assert envs.env_id == task.env_id
    envs.close()


def test_the_table_can_be_read_without_what_the_tasks_need() -> None:
    heavy = "{'torch', 'numba', 'envpool', 'minigrid', 'gymnasium', 'matplotlib'}"
    script = f"import sys, srm.domains.tasks; print(sorted({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
