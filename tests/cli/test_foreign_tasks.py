"""Run folders and suites are handed from one person to another: a task that they name is never imported because they name it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest

import srm
from srm.cli import main
from srm.domains import demonstrations as demos
from srm.domains.envs import make_environment, make_envs
from srm.domains.tasks import find_task, task_in_file
from srm.errors import TaskError
from srm.runs.policy import read_policy
from tests.cli.test_train import SMALL

Capture = pytest.CaptureFixture[str]

HOSTILE = """
from dataclasses import replace
from pathlib import Path
from srm.domains.tasks import find_task
Path("ran").touch()
TASK = replace(find_task("DoorKey-5x5"), name="hostile")
LARGER = replace(find_task("DoorKey-6x6"), name="hostile")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was stopped, of a task whose module tells when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("hostile.py").write_text(HOSTILE)
    assert main(["train", "DoorKey-5x5", "--frames", "200", "-o", "run", *SMALL]) == 0
    config = json.loads(Path("run/config.json").read_text())
    config["training"]["task"] = "hostile:TASK"
    Path("run/config.json").write_text(json.dumps(config))
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    return tmp_path / "run"


@pytest.mark.parametrize(
    "command",
    [
        ["train", "--resume", "run", "--frames", "400"],
        ["eval", "run", "--episodes", "2"],
        ["eval", "run", "--env", "DoorKey-6x6", "--episodes", "2"],
        ["demo", "doorkey", "--from-run", "run", "-n", "1"],
        ["infer", "doorkey", "--play", "run"],
    ],
    ids=" ".join,
)
def test_a_folder_says_which_task_to_name_and_runs_none_of_its_code(
    command: list[str], folder: Path, capsys: Capture
) -> None:
    capsys.readouterr()
    assert main(command) == 2
    problem = capsys.readouterr().err
    assert "run asks for the task hostile:TASK, whose code would run" in problem
    assert "name it: --task hostile:TASK" in problem
    assert problem.count("\n") == 1
    assert not Path("ran").exists()


def test_weights_and_pages_of_a_folder_need_none_of_its_code(folder: Path) -> None:
    assert main(["train", "DoorKey-5x5", "--from-run", "run", "--frames", "64", "-o", "next", *SMALL]) == 0
    assert main(["report", "run"]) == 0
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["train", "--resume", "run", "--frames", "400", "--task", "hostile:TASK"],
        ["eval", "run", "--episodes", "2", "--task", "hostile:TASK"],
        ["eval", "run", "--episodes", "2", "--env", "hostile:LARGER"],
    ],
    ids=" ".join,
)
def test_a_task_that_the_user_names_is_used(command: list[str], folder: Path) -> None:
    assert main(command) == 0
    assert Path("ran").exists()


def test_naming_another_task_than_the_folder_asks_for_runs_neither(folder: Path, capsys: Capture) -> None:
    assert main(["eval", "run", "--task", "other:TASK"]) == 2
    assert "name it: --task hostile:TASK" in capsys.readouterr().err
    assert not Path("ran").exists()


def test_python_names_it_as_well(folder: Path) -> None:
    for refused in (lambda: srm.resume(folder, frames=400, progress=False), lambda: srm.evaluate(folder, episodes=2)):
        with pytest.raises(TaskError, match="task='hostile:TASK'"):
            refused()
    assert not Path("ran").exists()
    assert srm.evaluate(folder, episodes=2, task="hostile:TASK").episodes == 2
    srm.resume(folder, frames=400, task="hostile:TASK", progress=False)


def test_a_suite_asks_for_no_task_that_the_user_has_not_named(folder: Path, capsys: Capture) -> None:
    Path("mine.toml").write_text('[curves]\na = "train hostile:TASK --frames 64"\n')
    assert main(["suite", "mine.toml", "--list"]) == 2
    assert "name it: --task hostile:TASK" in capsys.readouterr().err
    assert not Path("ran").exists()
    assert main(["suite", "mine.toml", "--list", "--task", "hostile:TASK"]) == 0


def test_a_task_beside_no_resume_would_change_nothing(folder: Path, capsys: Capture) -> None:
    assert main(["train", "doorkey", "--task", "hostile:TASK"]) == 2
    assert "it needs --resume" in capsys.readouterr().err


def test_the_task_of_a_folder_that_ships_needs_no_naming_and_takes_no_other(finished_again: Path) -> None:
    with pytest.raises(TaskError, match="is of the task DoorKey-5x5, not of keycorridor; leave --task out"):
        read_policy(finished_again, "keycorridor")


@pytest.fixture
def finished_again(tmp_path: Path) -> Path:
    assert main(["train", "DoorKey-5x5", "--frames", "64", "-o", str(tmp_path / "run"), *SMALL]) == 0
    return tmp_path / "run"


def test_a_task_of_two_lines_is_refused_in_one(tmp_path: Path) -> None:
    for name in ("a\nb", "a\n:b", "\x1b[2J.srm"):
        with pytest.raises(TaskError, match="which is no name") as refused:
            task_in_file(name, tmp_path)
        assert str(refused.value).isprintable()


def test_an_environment_that_a_file_names_is_looked_up_and_no_module_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    Path("hostile.py").write_text('from pathlib import Path\nPath("ran").touch()\n')
    shown = replace(demos.load(demos.shipped(find_task("doorkey"))), task="mine", env_id="hostile:E-v0")
    demos.save(shown, Path("shown.npz"))
    Path("m.srm").write_text('machine m\nwords info "hostile:E-v0"\n    x\nstart s\n    always // x\n')
    Path("a.jsonl").write_text('{"format": "srm-preferences 1", "task": "doorkey", "env_id": "hostile:E-v0"}\n')
    for words in (
        ["propose", "--words", "minigrid", "--demos", "shown.npz"],
        ["demo", "show", "shown.npz"],
        ["audit", "shown.npz"],
        ["learn", "m.srm"],
        ["words", "m.srm"],
        ["infer", "doorkey", "--preferences", "a.jsonl", "-o", "out"],
    ):
        assert main(words) == 2, words
        assert capsys.readouterr().err
    for make in (lambda: make_environment("hostile:E-v0"), lambda: make_envs("hostile:E-v0", 1, 0, "gymnasium")):
        with pytest.raises(TaskError, match="Gymnasium has no environment hostile:E-v0"):
            make()
    assert not Path("ran").exists()
    with pytest.raises(gymnasium.error.Error):
        gymnasium.make("hostile:E-v0")
    assert Path("ran").exists()  # as it would have been
