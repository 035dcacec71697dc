"""A task whose target is a box: shown, read, learnt and judged as one whose target is a ball."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from srm.cli import main
from srm.domains.demonstrations import load
from srm.domains.minigrid.habits import record_with
from srm.domains.minigrid.tasks import minigrid_task
from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.domains.record import play_actions, record
from srm.domains.tasks import find_task
from srm.errors import TaskError
from srm.machine.checks.check import check
from srm.machine.language.parse import parse
from srm.trajectory import as_rollout

TASK = minigrid_task(
    "box",
    name="take_box",
    meaning="unlock the door, put the key down, take the box",
    env_id="MiniGrid-UnlockPickup-v0",
)


def names(trajectories: object) -> Counter[str]:
    events = TASK.event_reader().read(as_rollout(trajectories))  # type: ignore[arg-type]
    return Counter(TASK.vocabulary.events[event].name for event in events.event)


def test_its_episodes_end_with_the_target_and_count_as_solved() -> None:
    shown = record(TASK, 5, seed=0)
    assert all(TASK.solved(trajectory) for trajectory in shown.trajectories)
    counts = names(shown.trajectories)
    assert (counts["pick_up_target"], counts["unlock_door"], counts["pick_up_box"], counts["open_box"]) == (5, 5, 0, 0)
    assert counts["see_target"] > 5


def test_an_episode_in_which_the_box_is_opened_is_not_solved() -> None:
    env = TASK.environment(TASK.env_id)
    env.reset(seed=0)
    assert TASK.expert is not None
    actions = TASK.expert(env)
    assert actions is not None
    opened = play_actions(env, [*actions[:-1], 5, 3], 0)
    assert not TASK.solved(opened)
    assert names([opened])["open_box"] == 1
    with pytest.raises(TaskError, match="this environment has no box"):
        TASK.expert(env)


def test_its_demonstrator_may_be_noisy() -> None:
    shown = record_with(TASK, 5, seed=0, noise=0.3)
    assert all(TASK.solved(trajectory) for trajectory in shown.trajectories)


def test_it_is_demonstrated_and_learnt_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"{__name__}:TASK"
    assert find_task(name) is TASK
    assert main(["demo", name, "-n", "3", "-o", "box.npz"]) == 0
    assert np.mean([trajectory.total_reward for trajectory in load(Path("box.npz"), TASK).trajectories]) > 0.9
    small = ["--ppo.num-envs", "4", "--ppo.num-steps", "16", "--frames", "200", "--episodes", "1"]
    quick = ["--posterior.sweeps", "60", "--posterior.first-look", "60"]
    asked = ["learn", name, "--machine", "keycorridor", "--demos", "box.npz", "-o", "run", *small, *quick]
    assert main(asked) == 0, capsys.readouterr().err
    assert Path("run/learnt.srm").exists()


def test_a_machine_may_speak_of_boxes_and_the_proofs_know_that_they_can_be_taken_again_and_again() -> None:
    text = "machine m\nwords minigrid\nholes ?a ?b\nstart s\n  pick_up_box // ?a\n  drop_box // ?b\n"
    machine = parse(text, {MINIGRID_WORDS.name: MINIGRID_WORDS}, "m.srm")
    findings = [finding.message for finding in check(machine, MINIGRID_WORDS).findings]
    assert any(message.startswith("pick_up_box, drop_box: can be repeated without end") for message in findings), (
        findings
    )
