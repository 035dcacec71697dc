"""Runs that are ended at any moment go on; and what would be lost or torn is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.cli import main
from tests.chaos.run import SMALL, chaos
from tests.chaos.whole import Saved, differing, lost, problems


@pytest.mark.slow
def test_a_run_that_is_ended_three_times_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    tally = chaos(3, 0, tmp_path, only=("train",), a_row=3)
    assert tally.problems == []
    assert tally.kills.total() == 3
    assert tally.finished == 1


def test_what_is_torn_or_lost_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert main(["train", "DoorKey-5x5", "--frames", "500", "-o", str(folder), *SMALL]) == 0
    saved, log = Saved.of(folder), folder / "log.csv"
    assert saved.round == 8
    assert problems(folder) == lost(saved, folder) == differing(folder, folder) == []
    whole = log.read_text()
    for damaged in (
        whole.replace("\n3,", "\n4,"),  # a round twice
        whole.replace("\n3,", "\nx,"),
        "\n".join(whole.split("\n")[:4]) + "\n",
        whole.replace("\n5,320,", "\n5,321,"),
    ):
        log.write_text(damaged)
        assert problems(folder) or lost(saved, folder)
    log.write_text(whole)
    for name in ("summary.json", "config.json", "policy.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-10])
        assert len(problems(folder)) == 1
        (folder / name).write_bytes(content)
    for checkpoint in (folder / "checkpoint").iterdir():
        checkpoint.unlink()
    assert lost(saved, folder)
