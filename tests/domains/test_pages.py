"""The pages about experts, demonstrations and tasks of one's own: what they show is what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from srm.cli import main
from tests.test_readme import matches

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "number"), [("experts.md", 3), ("own_task.md", 4)])
def test_commands_print_what_the_page_shows(capsys: pytest.CaptureFixture[str], page: str, number: int) -> None:
    text = "".join(blocks(page, "console"))
    commands = re.findall(r"^\$ srm (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    assert len(commands) == number
    for command, output in commands:
        main(shlex.split(command))
        printed = "".join(capsys.readouterr())
        assert matches(printed, output), f"srm {command} printed\n{printed}"


@pytest.mark.parametrize("page", ["experts.md", "demonstrations.md"])
def test_the_examples_run(page: str) -> None:
    (code,) = blocks(page, "python")
    names: dict[str, object] = {}
    exec(code, names)  # written above, not read from anywhere else
    assert len(names["demonstrations"]) == 10  # type: ignore[arg-type]


def test_the_machine_of_the_mountain_car_is_the_one_that_ships() -> None:
    (text,) = blocks("own_task.md", "srm")
    assert (ROOT / "examples" / "mountain_car.srm").read_text().endswith(text)
