"""`srm learn`: refuses before it trains, can be interrupted and resumed, and learns a task of one's own as the docs say."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from srm.cli import learn, main
from srm.evaluate.batched import assignment_of
from srm.machine.language.parse import load
from srm.report.run.read import read_log
from srm.runs.folder import checkpoints
from srm.runs.run import Progress

ROOT = Path(__file__).parents[2]
PLAY = ["--ppo.num-envs", "8", "--ppo.num-steps", "32", "--episodes", "1"]
SMALL = [*PLAY, "--infer", "algorithm1", "--warm-up", "1", "--reward-net.steps", "2", "--cores", "1"]
POSTERIOR = [*PLAY, "--posterior.sweeps", "60", "--posterior.first-look", "60"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["learn", *arguments]) == 2
    return capsys.readouterr().err


def test_bad_input_is_refused_before_any_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["-o", str(tmp_path / "run")]
    contradiction = tmp_path / "contradiction.srm"
    contradiction.write_text("machine m\nholes ?a\nstart s\n  pick_up_key // ?a\nconstraint\n  ?a >= 1\n  ?a <= 0\n")
    foreign = tmp_path / "foreign.srm"
    foreign.write_text("machine m\nwords minigrid\nholes ?a\nstart s\n  pick_up_kee // ?a\n")
    assert main(["demo", "DoorKey-5x5", "-n", "2", "-o", str(tmp_path / "door.npz")]) == 0
    capsys.readouterr()
    assert "name the task" in refused(capsys)
    assert "did you mean doorkey" in refused(capsys, "doorkay", *out)
    unmet = refused(capsys, "doorkey", "--machine", str(contradiction), *out)
    assert "machine m, constraint default: cannot be met, since ?a >= 1, ?a <= 0 contradict each other" in unmet
    both = tmp_path / "both.srm"
    both.write_text("machine both\nholes ?a\nstart s\n  pick_up_key // ?a\n  pick_up_key // 1\n")
    clash = "machine both, node s: rule `pick_up_key // ?a` and rule `pick_up_key // 1` can hold at one step"
    assert clash in refused(capsys, "doorkey", "--machine", str(both), *out)
    assert "did you mean pick_up_key" in refused(capsys, "doorkey", "--machine", str(foreign), *out)
    assert "no holes" in refused(capsys, "keycorridor", "--machine", _closed(tmp_path), *out)
    silent = tmp_path / "silent.srm"
    silent.write_text("machine m\nwords minigrid\nholes ?a\nstart s\n  open_box // ?a\n")
    assert "show no event of machine m" in refused(capsys, "doorkey", "--machine", str(silent), *out)
    assert "no constraint loose" in refused(capsys, "doorkey", "--constraint", "loose", *out)
    assert "shows the task doorkey" in refused(capsys, "keycorridor", "--demos", str(tmp_path / "door.npz"), *out)
    assert "-n must lie in 1..10" in refused(capsys, "doorkey", "-n", "11", *out)
    assert "not a run" in refused(capsys, "--resume", str(tmp_path))
    lost = ["--machine", "x", "--network.width", "3", "--reward-net.steps", "2"]
    assert "leave --machine, --network.width, --reward-net.steps out" in refused(capsys, "--resume", "run", *lost)
    assert "--episodes -1: give a number" in refused(capsys, "doorkey", "--episodes", "-1", *out)
    assert not (tmp_path / "run").exists()


def _closed(tmp_path: Path) -> str:
    path = tmp_path / "closed.srm"
    path.write_text("machine m\nwords minigrid\nstart s\n  pick_up_key // 1\n")
    return str(path)


def test_a_run_explains_itself_and_its_values_keep_the_constraint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["learn", "DoorKey-5x5", "--frames", "800", "-o", str(run), *SMALL]) == 0
    learnt = load(run / "learnt.srm")
    told = json.loads((run / "posterior.json").read_text())
    assert learnt.values() == {hole["name"]: hole["value"] for hole in told["holes"]}
    assert told["margin"] >= 0
    assert {file.name for file in run.iterdir()} >= {
        "config.json", "machine.srm", "demonstrations.npz", "log.csv", "learnt.srm", "posterior.json", "check.json",
        "episodes.json", "policy.safetensors", "summary.json", "report.html",
    }  # fmt: skip
    assert main(["learn", "DoorKey-5x5", "-o", str(run)]) == 2  # never overwritten


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    logs = []
    for name in ("a", "b"):
        main(["learn", "DoorKey-5x5", "--frames", "600", "-o", str(tmp_path / name), *SMALL])
        rows = (tmp_path / name / "log.csv").read_text().splitlines()
        seconds = rows[0].split(",").index("seconds")
        logs.append([[cell for i, cell in enumerate(row.split(",")) if i != seconds] for row in rows])
    assert logs[0] == logs[1]
    assert len(logs[0]) == 4  # a heading and three rounds


@pytest.mark.parametrize("part", ["reward-net", "sampler"])
def test_f_or_q_that_diverges_stops_the_run_and_is_not_saved(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    words = ["DoorKey-5x5", *SMALL, "--frames", "3000", f"--{part}.learning-rate", "1e30", "-o", str(folder)]
    told = refused(capsys, *words).splitlines()[-1]
    assert re.search(r"run: round \d: .* is (nan|inf|-inf); no checkpoint was written before; try a smaller", told)
    assert not checkpoints(folder)


def test_a_run_that_ended_within_its_warm_up_can_be_asked_for_more_and_one_that_ended_is_not_changed(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    assert main(["learn", "DoorKey-5x5", *SMALL, "--frames", "1", "-o", str(run)]) == 0
    assert "loss_policy" not in (run / "log.csv").read_text()
    assert main(["learn", "--resume", str(run), "--frames", "600"]) == 0
    log, learnt = (run / "log.csv").read_text(), (run / "learnt.srm").read_text()
    assert "loss_policy" in log
    posterior = json.loads((run / "posterior.json").read_text())
    assert any(hole["played"] for hole in posterior["holes"])
    assert main(["learn", "--resume", str(run)]) == 2  # nothing is left to do
    assert (run / "summary.json").exists()
    (run / "summary.json").unlink()  # as if it had been killed while it wrote what was learnt
    assert main(["learn", "--resume", str(run), "--frames", "600"]) == 0
    assert ((run / "log.csv").read_text(), (run / "learnt.srm").read_text()) == (log, learnt)
    assert json.loads((run / "posterior.json").read_text()) == posterior


def test_a_run_on_the_posterior_says_what_set_each_hole_and_whether_it_is_a_solution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    words = ["DoorKey-5x5", *POSTERIOR, "--constraint", "none", "--frames", "3000", "-o", str(run)]
    assert main(["learn", *words]) == 0
    printed = capsys.readouterr().out
    assert "?pick + ?drop <= 0" in printed  # against farming, and in the learnt machine
    learnt = load(run / "learnt.srm")
    values = learnt.values()
    assert values["pick"] + values["drop"] <= 1e-6
    assert learnt.constraint("unfarmable") is not None
    posterior = json.loads((run / "posterior.json").read_text())
    assert posterior["kind"] == "posterior"
    assert {hole["set_by"] for hole in posterior["holes"]} >= {"demonstrations"}
    summary = json.loads((run / "summary.json").read_text())
    assert summary["solution"]["plain"]["policy"]["episodes"] > 0
    assert (run / "draws.safetensors").exists()


def test_a_posterior_is_taken_up_where_a_run_was_stopped(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["learn", "DoorKey-5x5", *POSTERIOR, "--frames", "3000", "-o", str(run)]) == 0
    before = (run / "log.csv").read_text().splitlines()
    assert main(["learn", "--resume", str(run), "--frames", "4000"]) == 0
    after = (run / "log.csv").read_text().splitlines()
    assert after[: len(before)] == before
    hole = before[0].split(",").index("hole.goal")
    assert after[len(before)].split(",")[hole] == before[-1].split(",")[hole]


@pytest.mark.parametrize(("way", "constraint"), [("signs", "none"), ("regression", "relational")])
def test_baselines_fill_the_holes_within_the_constraint(way: str, constraint: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["DoorKey-5x5", *PLAY, "--infer", way, "--constraint", constraint, "--frames", "3000", "-o", str(run)]
    assert main(["learn", *words]) == 0
    values = load(run / "learnt.srm").values()
    assert values["goal"] > 0 > values["drop"]


def test_flags_of_another_way_of_inferring_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["-o", str(tmp_path / "run")]
    assert "--as-printed would change nothing: it needs --infer algorithm1" in refused(
        capsys, "doorkey", "--as-printed", *out
    )
    assert "needs --infer posterior" in refused(capsys, "doorkey", "--infer", "signs", "--refine", "1", *out)


@pytest.mark.parametrize("way", [POSTERIOR, SMALL], ids=["posterior", "algorithm1"])
def test_an_interrupted_run_has_the_values_known_so_far_and_says_so(
    way: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    rounds = itertools.count(1)

    def picture(progress: Progress) -> None:
        if next(rounds) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(learn, "shown_progress", lambda: nullcontext(picture))
    assert main(["learn", "DoorKey-5x5", *way, "--frames", "100000", "-o", str(run)]) == 130
    message = f"the values known so far are in {run / 'learnt.srm'}; go on with: srm learn --resume {run}"
    assert message in capsys.readouterr().err
    learnt = load(run / "learnt.srm")
    assignment_of(learnt)  # refused if a value is missing or breaks the constraint
    if way is POSTERIOR:  # the sampler has learnt on from the values that paid the last round
        log = read_log(run / "log.csv")
        assert learnt.values() == pytest.approx({name: log[f"hole.{name}"][-1] for name in learnt.hole_names})
    assert all(hole.spread is not None for hole in learnt.holes)
    assert not (run / "summary.json").exists()
    assert main(["learn", "--resume", str(run), "--frames", "1000"]) == 0


@pytest.mark.slow
def test_an_interrupted_run_goes_on_in_the_same_curve(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "srm", "learn", "DoorKey-5x5", "--frames", "1000000", "-o", str(run), *SMALL]
    process = subprocess.Popen([*command, "--checkpoint-seconds", "0"], cwd=ROOT, stderr=subprocess.DEVNULL)
    log = run / "log.csv"
    while process.poll() is None and (not log.exists() or log.read_text().count("\n") < 4):
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    rounds = log.read_text().count("\n") - 1
    assert main(["learn", "--resume", str(run), "--frames", str(256 * (rounds + 3))]) == 0
    rows = [row.split(",") for row in log.read_text().splitlines()]
    numbers = [int(row[rows[0].index("round")]) for row in rows[1:]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > rounds


@pytest.mark.slow
def test_the_walk_through_a_task_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of docs/own_task.md, in order; those on MiniGrid for a few frames only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "own_task.md").read_text()
    commands = [
        shlex.split(re.sub(r"--frames \d+", "--frames 20000", line) if "rooms" in line else line)
        for block in re.findall(r"```sh\n(.*?)```", page, re.S)
        for line in block.splitlines()
    ]
    assert [command[1] for command in commands] == ["check", "demo", "learn", "trace", "demo", "learn", "train"]
    for command in commands:
        assert main(command[1:]) == 0, command
    for code in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(code, {})  # written above, not read from anywhere else
    assert main(["trace", "corridor-run/learnt.srm", "mine.npz", "--task", "examples.corridor:TASK"]) == 0
    summary = json.loads((tmp_path / "corridor-run" / "summary.json").read_text())
    assert summary["return"] >= 0.75
    worth = load(tmp_path / "corridor-run" / "learnt.srm").values()
    assert worth["door"] >= worth["lamp"] >= 0 >= worth["far"]
