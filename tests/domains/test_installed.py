"""Tasks and vocabularies that an installed package adds by entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import srm
from srm.cli import main
from srm.domains.tasks import find_task
from srm.installed import additions

LAMPS = '''
import numpy as np
import srm

print("lamps imported")
words = srm.Vocabulary("lamps")

@words.event
def tip(after):
    """the pole leans far"""
    return np.abs(after[..., 2]) > 0.2

@words.signal(low=0)
def lean(after): return np.abs(after[..., 2])

TASK = words.task("CartPole-v1", expert=lambda observation: int(observation[2] > 0), success=lambda trajectory: True)
OTHER = words.task("CartPole-v1", name="another")
'''
ENTRIES = """[srm.tasks]
lamps = lamps_package:TASK
bare = lamps_package:words
wrong = lamps_package:OTHER
number = lamps_package:__name__
broken = no_such_package:TASK
"""
MACHINE = "machine m\nwords lamps\nholes ?a\nstart up\n    tip // ?a\n    otherwise\n    always // 0 - lean\n"


def install(folder: Path) -> None:
    about = folder / "lamps_package-1.5.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps-package\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (folder / "lamps_package.py").write_text(LAMPS)


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the package, and another one to stand in."""
    install(tmp_path / "site")
    (tmp_path / "here").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delitem(sys.modules, "lamps_package", raising=False)
    return tmp_path


def test_the_list_names_them_with_their_package_and_imports_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    listed = capsys.readouterr().out
    assert "lamps: of the package lamps-package 1.5 (lamps_package:TASK)" in listed
    assert "lamps imported" not in listed
    assert "lamps_package" not in sys.modules


def test_a_machine_file_finds_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.srm").write_text(MACHINE)
    assert main(["check", "m.srm"]) == 0
    printed = capsys.readouterr().out
    assert "lamps imported" in printed
    assert "no two rules of a node can hold at one step" in printed
    assert srm.load("m.srm").check().words == "lamps"
    Path("m.srm").write_text(MACHINE.replace("tip //", "tips //"))
    assert main(["check", "m.srm"]) == 2
    assert "vocabulary lamps has no event tips; did you mean tip?" in capsys.readouterr().err


def test_a_machine_in_other_words_imports_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "doorkey"]) == 0
    assert "lamps_package" not in sys.modules


def test_a_task_is_played_by_its_name_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_task("lamps").env_id == "CartPole-v1"
    assert main(["demo", "lamps", "-n", "2"]) == 0
    assert main(["demo", "show", "lamps.npz"]) == 0
    assert "CartPole-v1, episode 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong", "task wrong: lamps_package:OTHER of the package lamps-package 1.5 is the task another"),
        ("bare", "of the package lamps-package 1.5: is of type WrittenVocabulary, expected srm.Task"),
        ("number", "of the package lamps-package 1.5: is of type str, expected srm.Task"),
        (
            "broken",
            "broken: no_such_package:TASK of the package lamps-package 1.5 cannot be loaded: ModuleNotFoundError",
        ),
        ("lampz", "there is no task lampz (`srm tasks` lists them); did you mean lamps?"),
    ],
)
def test_what_is_wrong_with_one_is_one_line(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", name]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert find_task("lamps").name == "lamps"  # the others are as they were


def test_words_of_another_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["words", "bare"]) == 2
    assert "adds the words lamps under the name bare" in capsys.readouterr().err
    assert main(["words", "lamps"]) == 0
    assert "  lean            lean: 0 or more" in capsys.readouterr().out


def test_what_lies_in_the_current_folder_is_not_installed(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", ["", str(packages / "site"), *(p for p in sys.path if not p.endswith("site"))])
    monkeypatch.chdir(packages / "site")
    assert "lamps" not in additions()
    Path("m.srm").write_text(MACHINE)
    assert main(["check", "m.srm"]) == 2
    assert "unknown vocabulary lamps" in capsys.readouterr().err
    assert "lamps_package" not in sys.modules
