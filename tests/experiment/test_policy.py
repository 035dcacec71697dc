"""A policy can show how a task is done, and what it shows is what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.cli import main
from srm.errors import RunError
from srm.experiment.policy import read_policy
from srm.task.demos import load
from srm.task.record import replay


def test_the_demonstrations_of_a_run_are_episodes_its_policy_solved(tmp_path: Path) -> None:
    run, shown = tmp_path / "run", tmp_path / "shown.npz"
    small = ["--ppo.worlds", "8", "--ppo.steps", "16", "--frames", "256", "-o", str(run)]
    assert main(["train", "DoorKey-5x5", *small]) == 0
    assert main(["demo", "DoorKey-5x5", "-n", "2", "--from-run", str(run), "-o", str(shown)]) == 0
    found = load(shown)
    assert len(found) == 2
    for index, trajectory in enumerate(found.trajectories):
        assert trajectory.ended
        assert trajectory.total_reward > 0
        assert len(list(replay(found, index))) == trajectory.steps + 1  # from its seed, view by view


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run"):
        read_policy(tmp_path)
