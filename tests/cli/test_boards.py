"""The log of a run in programs that draw it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from srm.cli import main
from srm.cli.boards import Boards
from srm.errors import RunError

PLAY = ["DoorKey-5x5", "--frames", "3000", "--ppo.num-envs", "8", "--ppo.num-steps", "64"]
TRAIN = ["train", *PLAY, "--reward", "doorkey_handset"]
LEARN = ["learn", *PLAY, "--infer", "signs", "--episodes", "1"]


class Online:
    """Stands in for a run of Weights & Biases."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.rows: list[tuple[dict[str, float], int]] = []
        self.finished = 0

    def init(self, **given: Any) -> Online:
        self.given = given
        return self

    def log(self, row: dict[str, float], step: int) -> None:
        self.rows.append((row, step))

    def finish(self) -> None:
        self.finished += 1


@pytest.mark.parametrize("words", [TRAIN, LEARN], ids=["train", "learn"])
def test_weights_and_biases_gets_every_row_with_its_rule_rates(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = Online()
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=online.init))  # type: ignore[arg-type]
    run = tmp_path / "run"
    assert main([*words, "--wandb", "-o", str(run)]) == 0
    assert (online.given["name"], online.given["dir"]) == ("run", str(run))
    assert online.given["config"]["kind"] == words[0]
    frames = [int(line.split(",")[1]) for line in (run / "log.csv").read_text().splitlines()[1:]]
    assert [step for _, step in online.rows] == frames
    assert "rule.after_unlocking.reach_goal.rate" in online.rows[-1][0]
    assert all(math.isfinite(value) for row, _ in online.rows for value in row.values())
    assert online.finished == 1


def test_tensorboard_gets_the_rule_rates_of_learn_too(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert main([*LEARN, "--tensorboard", "-o", str(tmp_path / "run")]) == 0
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert {"rule.before_unlocking.unlock_door.rate", "hole.goal", "entropy"} <= {*events.Tags()["scalars"]}


@pytest.mark.parametrize("board", ["tensorboard", "wandb"])
def test_boards_that_lie_elsewhere_are_not_written(board: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / board).symlink_to(tmp_path / "mine")
    with pytest.raises(RunError, match=f"{board} is a link"), Boards(**{board: True}).open(tmp_path / "run"):
        pass
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("words", [TRAIN, LEARN], ids=["train", "learn"])
def test_a_board_that_is_not_installed_is_refused_before_a_folder_is_made(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert main([*words, "--wandb", "-o", str(tmp_path / "run")]) == 2
    assert "--wandb needs wandb" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
