"""The pages about experts, demonstrations and tasks of one's own: what they show is what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from srm.cli import main
from srm.domains.tasks import find_task
from srm.machine.language.parse import parse
from tests.test_readme import matches

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("experts.md", 3),
        ("mountain_car.md", 4),
        ("acrobot.md", 2),
        ("lander.md", 3),
        ("lunarlander.md", 2),
        ("walking.md", 1),
        ("driving.md", 2),
    ],
)
def test_commands_print_what_the_page_shows(capsys: pytest.CaptureFixture[str], page: str, number: int) -> None:
    if page in ("lander.md", "lunarlander.md"):
        pytest.importorskip("Box2D")
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


@pytest.mark.parametrize("name", ["mountain_car", "acrobot"])
def test_the_machine_of_a_page_is_the_one_that_ships(name: str) -> None:
    (text,) = blocks(f"{name}.md", "srm")
    assert (ROOT / "examples" / f"{name}.srm").read_text().endswith(text)


def test_the_machine_of_hopper_can_be_read_without_mujoco() -> None:
    (text,) = blocks("hopper.md", "srm")
    assert parse(text).hole_names == ("forward", "ctrl", "survive")


@pytest.mark.parametrize("name", ["mountain_car", "acrobot", "lander"])
def test_the_words_of_a_page_are_those_of_its_example(name: str) -> None:
    names: dict[str, Any] = {}
    exec("".join(blocks(f"{name}.md", "python")), names)  # written above, not read from anywhere else
    shown, known = names["words"].vocabulary, find_task(f"examples.{name}:TASK").vocabulary
    assert [event.name for event in shown.events] == [event.name for event in known.events]
    assert {signal.name for signal in shown.signals} <= {signal.name for signal in known.signals}
    assert (shown.balances, shown.exclusive) == (known.balances, known.exclusive)
