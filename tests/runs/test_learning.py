"""Runs that are refined: what is played as evidence counts, and a resumed run goes on for as long as it would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.infer.algorithm1.loop import InferConfig
from srm.infer.posterior.live import LiveConfig
from srm.machine.language.parse import find_machine
from srm.rl import evaluation
from srm.rl.make import LearnerConfig
from srm.rl.ppo import PpoConfig
from srm.runs import learning as module
from srm.runs.folder import Checkpoint
from srm.runs.inference import HoleInference
from srm.runs.learning_settings import Learning, read_inputs
from srm.runs.run import Run
from srm.runs.solution import Earned, EarningsComparison, Solution

EARNS_MORE = EarningsComparison(Earned(0.0, 0.0, 9), Earned(1.0, 0.0, 9))
LEARNING = Learning(
    "DoorKey-5x5",
    count=3,
    frames=600,
    refine=1,
    learning=LearnerConfig(ppo=PpoConfig(num_envs=8, num_steps=32)),
    posterior=LiveConfig(sweeps=20, first_look=20),
)


@pytest.fixture(autouse=True)
def _never_a_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)  # as the command line does
    monkeypatch.setattr(evaluation, "MOST_STEPS", 128)
    monkeypatch.setattr(module, "check_solution", lambda *_: Solution(EARNS_MORE, EARNS_MORE, 0.99))


def test_a_refined_run_plays_as_long_again_also_when_it_is_resumed(tmp_path: Path) -> None:
    run = Run.begin(LEARNING, tmp_path / "run")
    rounds = run.rounds()
    first = next(stand for stand in rounds if stand.row["frames"] >= 600)
    second = next(rounds)
    assert second.row["frames"] > first.row["frames"] + 8 * 32  # the play that became evidence is counted
    assert second.frames > 1200
    rounds.close()
    again = Run.resume(tmp_path / "run")
    assert again.frames == second.frames
    assert [stand.row["frames"] for stand in again.rounds()][-1] >= second.frames
    assert len(again.finish()["refined"]) == 1


def test_a_run_that_was_stopped_before_it_could_be_refined_is_refined_when_it_is_resumed(tmp_path: Path) -> None:
    rounds = Run.begin(LEARNING, tmp_path / "run").rounds()
    last = next(stand for stand in rounds if stand.row["frames"] >= 600)
    rounds.close()
    again = Run.resume(tmp_path / "run")
    assert next(again.rounds()).row["frames"] > last.row["frames"]
    assert again.frames > 1200


@pytest.mark.parametrize("damage", [{"until": "x"}, {"refined": None}, {"frames": -1}, {"recent": [[1.0], [2.0, 3.0]]}])
def test_a_damaged_state_is_refused_in_one_line(damage: dict[str, Any], tmp_path: Path) -> None:
    state = {"round": 3, "frames": 600, "until": 900, "seconds": 1.0, "recent": [], "refined": []} | damage
    with pytest.raises(RunError, match=r"round-3 is damaged; delete it"):
        Run(LEARNING, *read_inputs(LEARNING), Checkpoint(tmp_path / "round-3", {}, state), find_task(LEARNING.task))


@pytest.mark.parametrize(("refresh", "expected"), [(None, 0), (4, 4)], ids=["unless asked for", "asked for"])
def test_a_policy_that_may_farm_is_no_evidence(refresh: int | None, expected: int) -> None:
    task = find_task("doorkey")
    way = HoleInference.of(
        "posterior",
        task,
        find_machine("doorkey"),
        None,
        demos.choose(task, None, 1),
        InferConfig(),
        LiveConfig(refresh=refresh),
        0,
        allow_farming=True,
    )
    assert way.posterior.refresh == expected
