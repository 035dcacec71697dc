"""A policy can show how a task is done, and what it shows is what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.cli import main
from srm.domains.demonstrations import load
from srm.domains.record import replay
from srm.errors import RunError
from srm.runs import policy
from srm.runs.policy import read_policy


def test_the_demonstrations_of_a_run_are_episodes_its_policy_solved(tmp_path: Path) -> None:
    run, shown = tmp_path / "run", tmp_path / "shown.npz"
    small = ["--ppo.num-envs", "8", "--ppo.num-steps", "16", "--frames", "256", "-o", str(run)]
    assert main(["train", "DoorKey-5x5", *small]) == 0
    assert main(["demo", "DoorKey-5x5", "-n", "2", "--from-run", str(run), "-o", str(shown)]) == 0
    found = load(shown)
    assert len(found) == 2
    for index, trajectory in enumerate(found.trajectories):
        assert trajectory.terminated
        assert trajectory.total_reward > 0
        assert len(list(replay(found, index))) == trajectory.steps + 1  # from its seed, observation by observation


def test_a_policy_that_cannot_show_the_task_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    small = ["--ppo.num-envs", "8", "--ppo.num-steps", "16", "--frames", "1", "-o", str(run)]
    assert main(["train", "DoorKey-5x5", *small]) == 0
    capsys.readouterr()
    monkeypatch.setattr(policy, "TRIES", 1)
    for task, told in (
        (
            "KeyCorridorS3R1",
            f"KeyCorridorS3R1 is of the task keycorridor, but the policy of {run} was trained on doorkey",
        ),
        (
            "DoorKey-16x16",
            f"{run}: its policy has not solved 1 environments of MiniGrid-DoorKey-16x16-v0 in a row; train it",
        ),
    ):
        assert main(["demo", task, "--from-run", str(run), "-o", str(tmp_path / "shown.npz")]) == 2
        said = capsys.readouterr().err
        assert said.startswith(told)
        assert said.count("\n") == 1


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run"):
        read_policy(tmp_path)
