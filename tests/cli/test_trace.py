"""`srm trace` reads a machine and demonstrations, and says what to do where either does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from srm.cli import main

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["trace", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_shipped_machine_on_shipped_demonstrations(capsys: Capture) -> None:
    code, out, _ = run(capsys, "doorkey_handset", "doorkey", "--demo", "1")
    assert code == 0
    assert "reach_goal" in out
    assert "?goal  -> end" in out
    assert "nothing here depends on ?close, ?drop: only the constraint speaks of them" in out


def test_without_demo_the_totals_are_of_all(capsys: Capture) -> None:
    code, out, _ = run(capsys, "doorkey_handset", "doorkey")
    assert code == 0
    assert "return over 10 demonstrations" in out


def test_json_tells_which_demonstration(capsys: Capture) -> None:
    code, out, _ = run(capsys, "doorkey_handset", "doorkey", "--demo", "2", "--json")
    assert code == 0
    (only,) = json.loads(out)["traces"]
    assert only["index"] == 2
    assert only["steps"][-1]["target"] == "end"


def test_values_can_be_told_and_say_what_they_break(capsys: Capture) -> None:
    values = ("--values", "goal=0.2", "unlock=0.5", "close=-0.5", "pick=0.1", "drop=-0.2")
    code, out, _ = run(capsys, "doorkey", "doorkey", "--demo", "0", *values)
    assert code == 0
    assert 'these values break "reward reaching the goal" every hole <= ?goal' in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("doorkey", "doorkey"), "has no value for ?goal, ?unlock, ?close, ?pick, ?drop"),
        (("doorkey_handset", "doorkey", "--demo", "10"), "has demonstrations 0 to 9, not 10"),
        (("doorkey_handset", "nowhere.npz"), "there is no such file"),
        (("doorkey_handsat", "doorkey"), "did you mean doorkey_handset?"),
        (("doorkey_handset", "doorkey", "--values", "goal=much"), "write HOLE=NUMBER"),
        (("doorkey_handset", "doorkey", "--values", "gaol=1"), "has no hole ?gaol; did you mean goal?"),
        (("doorkey_handset", "doorkey", "--values", "goal=nan"), "?goal is not a finite number"),
        (("doorkey_handset", "doorkey", "--task", "dorkey"), "did you mean doorkey?"),
        (("doorkey_handset", "doorkey", "--task", "keycorridor"), "shows the task doorkey, not keycorridor"),
    ],
)
def test_what_does_not_fit_is_named_with_a_remedy(capsys: Capture, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_a_machine_for_other_words_is_refused_at_its_line(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "fly.srm"
    path.write_text("machine fly\nwords minigrid\nstart one\n    fly_away // 1\n")
    code, _, err = run(capsys, str(path), "doorkey")
    assert code == 2
    assert "fly.srm:4" in err
    assert "fly_away" in err
