"""Demonstrations written as seeds and actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import srm
from srm.cli import main
from srm.domains.base import Task
from srm.domains.record import record
from srm.domains.scripts import MOST_ACTIONS, import_script
from srm.domains.tasks import find_task


def pendulum() -> Task:
    return srm.Vocabulary("swing").task(
        "Pendulum-v1", expert=lambda observation: [-observation[2]], success=lambda trajectory: True
    )


@pytest.fixture
def corridor() -> Task:
    return find_task("examples.corridor:TASK")


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_json_and_csv_give_what_was_recorded(tmp_path: Path) -> None:
    shown = record(find_task("DoorKey-5x5"), 2, seed=0)
    episodes = [
        {"seed": seed, "actions": episode.actions.tolist(), "return": episode.total_reward}
        for seed, episode in zip(shown.seeds, shown.trajectories, strict=True)
    ]
    rows = [f"{episode['seed']},{action}" for episode in episodes for action in episode["actions"]]
    files = [
        written(tmp_path / "bare.json", episodes),
        written(tmp_path / "under.json", {"episodes": episodes}),
        written(tmp_path / "rows.csv", "\n".join(["seed,action", *rows])),
    ]
    for file in files:
        read = srm.demonstrations(file, task="DoorKey-5x5")
        assert read.seeds == shown.seeds
        for one, other in zip(read.trajectories, shown.trajectories, strict=True):
            np.testing.assert_array_equal(one.observations, other.observations)
            np.testing.assert_array_equal(one.task_reward, other.task_reward)


def test_actions_may_be_several_numbers(tmp_path: Path) -> None:
    rows = "episode,seed,action_0\n" + "".join(f"{number},5,{0.1 * number}\n" for number in (1, 2) for _ in range(3))
    read = import_script(written(tmp_path / "a.csv", rows), pendulum())
    assert (read.seeds, read.frames) == ((5, 5), 6)
    assert read.trajectories[1].actions.ravel() == pytest.approx([0.2] * 3)
    again = import_script(written(tmp_path / "a.json", [{"seed": 5, "actions": [0.2, 0.2, 0.2]}]), pendulum())
    np.testing.assert_array_equal(again.trajectories[0].observations, read.trajectories[1].observations)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"seed": 0, "actions": [0] * 99}], r"episode 0 \(seed 0\): Corridor-v0 ended it after 40 of its 99 actions"),
        ([{"seed": 0, "actions": [0, 9]}], r"action 1 of episode 0 \(seed 0\) is 9, which is not in Discrete"),
        ([{"seed": 0, "actions": [0], "return": 7}], "has return 0 in Corridor-v0, not 7"),
        ([{"seed": -1, "actions": [0]}], "episode 0: its seed is -1, expected a whole number"),
        ([{"seed": 0.5, "actions": [0]}], "episode 0: its seed is 0.5, expected a whole number"),
        ([{"seed": 0, "actions": []}], "its actions are no list, or an empty one"),
        ([{"seed": 0, "actions": [0, "left"]}], "action 1 is left, expected a number"),
        ([{"seed": 0, "actions": [0, [1]]}], "action 1 has another number of numbers than the first"),
        ([{"seed": 0, "action": [0]}], "has 'seed', 'action', expected seed, actions and perhaps return"),
        ([], "it holds no episode"),
        ({"runs": []}, "it is no list of episodes"),
        ([[1]], "episode 0: is no object with seed and actions"),
        ("{", "docs/demonstrations.md shows what such a file holds"),
        ("[" * 100000, "nested too deep"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, corridor: Task, content: Any, message: str) -> None:
    with pytest.raises(srm.DemonstrationError, match=message) as refusal:
        import_script(written(tmp_path / "x.json", content), corridor)
    assert str(refusal.value).startswith(f"{tmp_path / 'x.json'}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "its first line names no columns seed and action"),
        ("seed,move\n0,1\n", "its first line names no columns seed and action"),
        ("seed,action_1,action_0\n0,1,2\n", "action_0, action_1, ... in order"),
        ("seed,action\n0,1\n0,up\n", "line 3: has no number in one of seed, action"),
        ("seed,action\n0\n", "line 2: has no number"),
        ("seed,action\n0,nan\n", "action 0 is nan, expected a number"),
        ("seed,action\n", "it holds no episode"),
    ],
)
def test_a_table_that_does_not_fit_is_one_line(tmp_path: Path, corridor: Task, content: str, message: str) -> None:
    with pytest.raises(srm.DemonstrationError, match=message):
        import_script(written(tmp_path / "x.csv", content), corridor)


def test_more_rows_than_may_be_played_are_not_read(tmp_path: Path, corridor: Task) -> None:
    path = written(tmp_path / "x.csv", "seed,action\n" + "0,1\n" * (MOST_ACTIONS + 1))
    with pytest.raises(srm.DemonstrationError, match="it has more than 1,000,000 rows"):
        import_script(path, corridor)


@given(
    st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")),
    st.sampled_from(["json", "csv"]),
)
@settings(max_examples=100, deadline=None)
def test_no_text_is_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str, kind: str) -> None:
    path = tmp_path_factory.mktemp("scripts") / f"x.{kind}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(srm.DemonstrationError):
        import_script(path, pendulum())


def test_the_command_line_imports_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "plays.csv", "seed,action\n0,0\n0,0\n")
    assert main(["demo", "import", "plays.csv", "--task", "examples.corridor:TASK"]) == 0
    assert "corridor.npz: 1 demonstration of corridor in Corridor-v0, 2 steps" in capsys.readouterr().out
    assert main(["demo", "import", "absent.csv", "--task", "examples.corridor:TASK", "-o", "y.npz"]) == 2
    assert "absent.csv: cannot be read: No such file or directory" in capsys.readouterr().err
