"""Output that cannot be written, and names that are none: one line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from srm.cli import main

FULL = Path("/dev/full")


def ended(*words: str | bytes, stdout: Path | None = None, **environment: str) -> tuple[int, str]:
    command: list[str | bytes] = [sys.executable, "-m", "srm", *words]
    with (stdout or Path(os.devnull)).open("wb") as file:
        done = subprocess.run(
            command, stdout=file, stderr=subprocess.PIPE, env={**os.environ, **environment}, check=False
        )
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("words", [[], ["--version"], ["tasks"], ["check", "--help"]], ids=" ".join)
def test_a_full_disk_is_told_in_one_line(words: list[str]) -> None:
    code, problem = ended(*words, stdout=FULL)
    assert code == 2
    assert "No space left on device" in problem
    assert problem.count("\n") == 1


def test_letters_that_the_output_cannot_write_are_told_in_one_line() -> None:
    code, problem = ended("draw", "doorkey", "--format", "svg", "-o", "-", PYTHONIOENCODING="ascii")
    assert code == 2
    assert "ascii cannot write" in problem
    assert "set PYTHONIOENCODING=utf-8" in problem
    assert problem.count("\n") == 1


@pytest.mark.parametrize("words", [["check", b"\xff.srm"], ["report", b"\xff"], ["demo", "show", b"\xff.npz"]])
def test_a_name_that_is_no_text_is_told_in_one_line(words: list[str | bytes]) -> None:
    code, problem = ended(*words)
    assert code == 2
    assert problem.count("\n") == 1
    assert "Traceback" not in problem


def test_a_name_with_a_nul_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "doorkey", "-o", "a\0b.svg"]) == 2
    assert capsys.readouterr().err.startswith("a flag or a name holds a NUL character")


def test_more_memory_than_there_is_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("srm.cli._run", exhausted)
    assert main(["tasks"]) == 2
    assert capsys.readouterr().err == (
        "tasks: this takes more memory than there is; ask for less, as with fewer --ppo.num-envs\n"
    )
