"""`srm show`, `srm draw` and `srm import`, as a user calls them."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from srm.cli import main
from srm.machine.drawing.draw import dot, mermaid, svg
from srm.machine.language.parse import find_machine, parse

OFFICE = "0 # initial\n[2] # terminal\n(0,0,'!f',ConstantRewardFunction(0))\n(0,2,'f',ConstantRewardFunction(1))\n"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_show_prints_the_machine_as_text_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "doorkey"]) == 0
    assert capsys.readouterr().out == str(find_machine("doorkey"))


def test_show_reads_files_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.srm").write_text("machine mine\nstart s\n  e // 1\n")
    assert main(["show", "mine.srm"]) == 0
    assert capsys.readouterr().out == "machine mine\n\nstart s\n    e  // 1\n"


def test_draw_writes_all_three_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "doorkey"]) == 0
    machine = find_machine("doorkey")
    assert Path("doorkey.svg").read_text() == svg(machine)
    assert Path("doorkey.mmd").read_text() == mermaid(machine)
    assert Path("doorkey.dot").read_text() == dot(machine)
    assert capsys.readouterr().out.splitlines() == ["wrote doorkey.svg", "wrote doorkey.mmd", "wrote doorkey.dot"]


def test_the_suffix_tells_the_format() -> None:
    assert main(["draw", "doorkey", "-o", "pictures/key.DOT"]) == 0
    assert Path("pictures/key.DOT").read_text() == dot(find_machine("doorkey"))


def test_several_machines_go_into_a_folder() -> None:
    assert main(["draw", "doorkey", "keycorridor", "--format", "svg", "-o", "pictures"]) == 0
    assert sorted(path.name for path in Path("pictures").iterdir()) == ["doorkey.svg", "keycorridor.svg"]


def test_a_full_disk_leaves_the_old_picture_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("mine.svg").write_text("old")
    monkeypatch.setattr("os.fsync", full)
    assert main(["draw", "doorkey", "-o", "mine.svg"]) == 2
    assert capsys.readouterr().err.startswith("mine.svg cannot be written: No space left on device; what was saved")
    assert [path.read_text() for path in Path().iterdir()] == ["old"]


def test_draw_can_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "doorkey", "--format", "mermaid", "-o", "-"]) == 0
    assert capsys.readouterr().out == mermaid(find_machine("doorkey"))


def test_draw_shows_the_constraint_asked_for() -> None:
    assert main(["draw", "keycorridor", "-o", "k.svg", "--constraint", "signs"]) == 0
    assert "Constraint signs" in Path("k.svg").read_text()


def test_draw_can_leave_the_constraint_out() -> None:
    assert main(["draw", "keycorridor", "-o", "k.svg", "--constraint", "none"]) == 0
    assert "Constraint" not in Path("k.svg").read_text()


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"srm {version('symbolic-reward-machines')}, Python {platform.python_version()}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", ""], "name a machine: an .srm file, or one of the library (doorkey, "),
        (["draw"], "give the machines to draw"),
        (["draw", "dorkey"], "did you mean doorkey?"),
        (["draw", "doorkey", "-o", "a.png"], "a.png: the suffix names no format"),
        (["draw", "doorkey", "--format", "svg", "-o", "a.dot"], "a.dot is a file of --format dot"),
        (["draw", "doorkey", "keycorridor", "-o", "a.svg"], "a.svg can hold one drawing"),
        (["draw", "doorkey", "-o", "-"], "- can hold one drawing"),
        (["draw", "doorkey", "--constraint", "signs"], "machine doorkey has no constraint signs"),
        (["show", "none.srm"], "cannot be read"),
        (["import", "none.txt"], "cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_import_prints_an_srm_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("office.txt").write_text(OFFICE)
    assert main(["import", "office.txt"]) == 0
    assert parse(capsys.readouterr().out).name == "office"


def test_import_writes_the_file_it_is_told_to() -> None:
    Path("office.txt").write_text(OFFICE)
    assert main(["import", "office.txt", "-o", "office.srm"]) == 0
    assert find_machine("office.srm").start == "u0"


def test_import_renames_and_leaves_holes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("office.txt").write_text(OFFICE)
    assert main(["import", "office.txt", "--rename", "f=fetch", "--rename", "u2=fetched", "--holes"]) == 0
    rules = parse(capsys.readouterr().out).node("u0").rules
    assert [str(rule) for rule in rules] == ["not fetch // 0", "fetch // ?fetch -> fetched"]


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        (["f"], "--rename f: write OLD=NEW, as in k=pick_up_key\n"),
        (["f=a", "f=b"], "--rename f=b: f is renamed to a already; leave one out\n"),
        (["ff=a"], "--rename ff=a: office.txt has no event, node or signal ff; did you mean f?\n"),
    ],
)
def test_import_refuses_a_name_in_one_line(pairs: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("office.txt").write_text(OFFICE)
    assert main(["import", "office.txt", *(word for pair in pairs for word in ("--rename", pair))]) == 2
    assert capsys.readouterr().err == problem


def test_import_writes_over_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("office.txt").write_text(OFFICE)
    Path("office.srm").write_text("mine")
    assert main(["import", "office.txt", "-o", "office.srm"]) == 2
    assert capsys.readouterr().err == "office.srm: exists, and is not written over; choose another name with -o\n"
    assert Path("office.srm").read_text() == "mine"


def test_import_tells_every_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    Path("office.txt").write_text(OFFICE + "(0,2,'a',eval('1'))\n(0)\n")
    assert main(["import", "office.txt"]) == 2
    told = capsys.readouterr().err
    assert "office.txt:5:15: expected a number" in told
    assert "office.txt:6:3: expected ," in told


def test_drawing_starts_without_what_only_learning_needs() -> None:
    heavy = "torch z3 minigrid envpool matplotlib numpy".split()
    code = f"import sys; from srm.cli import main; main(['draw', 'doorkey', '--format', 'dot', '-o', '-']); \
print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr.strip() == "[]"
