"""`srm suite`: refuses before it runs, can be interrupted and taken up, and one failing run does not stop the others."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from srm.cli import main
from srm.cli.suite import picture
from srm.runs.folder import POLICY, write_weights
from srm.suites.runs import Reached, SuiteRun
from srm.suites.scheduler import RunProgress

SMALL = "--ppo.num-envs 4 --ppo.num-steps 16 --ppo.epochs 1 --ppo.minibatches 2 --network.width 16"


def written(tmp_path: Path, **curves: str) -> str:
    path = tmp_path / "own.toml"
    path.write_text("\n".join(["seeds = 1", "[curves]", *(f"{name} = '{line}'" for name, line in curves.items())]))
    return str(path)


def started(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "srm", "suite", *arguments], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def rounds(folder: Path) -> list[int]:
    with (folder / "log.csv").open() as file:
        return [int(row["round"]) for row in csv.DictReader(file)]


def test_without_a_name_the_suites_are_told_with_what_they_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite"]) == 0
    said = capsys.readouterr().out
    assert "motivating\n    Figure 1(c): " in said
    assert "6 curves, 18 runs, 82 million frames" in said


def test_the_commands_of_a_suite_are_told_without_running_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["suite", "motivating", "--list", "--scale", "0.1", "--only", "learnt"]) == 0
    said = capsys.readouterr().out
    assert "learn   0/3  srm learn keycorridor --infer algorithm1 --frames 250000\n" in said
    assert "learnt  0/3  srm train keycorridor --reward learnt:learn --frames 500000\n" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["doorkeys"], "did you mean doorkey"),
        (["doorkey", "--only", "learn-ppo-cmn"], "did you mean learn-ppo-cnn"),
        (["doorkey", "--scale", "0"], "--scale 0.0"),
        (["doorkey", "--seeds", "0"], "--seeds 0"),
        (["doorkey", "--address", "local"], "--address local would change nothing: it needs --on ray"),
        (["doorkey", "--storage", "s3://a"], "--storage s3://a would change nothing: it needs --on ray"),
        (["own.toml"], "suite own: curve a = 'train doorkey --learner ppoo': invalid choice 'ppoo'"),
    ],
    ids=["suite", "curve", "scale", "seeds", "address", "storage", "flag"],
)
def test_what_a_user_can_mend_is_told_in_a_line_before_anything_runs(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, a="train doorkey --learner ppoo")
    assert main(["suite", *arguments]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]


@pytest.mark.parametrize("listed", [[], ["--list"]], ids=["run", "list"])
def test_what_a_command_names_is_read_before_anything_runs(
    listed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = "train doorkey --reward nofile.srm"
    assert main(["suite", written(tmp_path, bad=command), *listed]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"suite own: curve bad = '{command}': nofile.srm: cannot be read")
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]


def test_a_missing_ray_is_refused_with_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["suite", written(tmp_path, a="train doorkey"), "--on", "ray"]) == 2
    assert 'pip install "symbolic-reward-machines[ray]"' in capsys.readouterr().err


def test_a_damaged_run_does_not_end_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = written(tmp_path, damaged="train DoorKey-5x5 --frames 64", whole=f"train DoorKey-5x5 --frames 64 {SMALL}")
    damaged = tmp_path / "out" / "damaged" / "seed0"
    (damaged / "checkpoint").mkdir(parents=True)
    (damaged / "config.json").write_text("[")
    (damaged / "checkpoint" / "round-00000001.safetensors").write_bytes(b"")
    (damaged / "log.csv").write_bytes(b"round,frames,seconds\n1,\xff,nan\n")
    assert main(["suite", suite, "-o", "out"]) == 1
    out, err = capsys.readouterr()
    assert "1 failed" in out
    assert "1 finished" in out
    assert f"damaged seed 0 failed: {damaged.relative_to(tmp_path)}" in err
    assert "Traceback" not in err


def test_an_interrupted_suite_goes_on_and_a_failing_run_does_not_stop_the_others(tmp_path: Path) -> None:
    plain = f"train MiniGrid-DoorKey-5x5-v0 --frames 400000 {SMALL}"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text(json.dumps({"kind": "train", "training": {}}))
    write_weights(tmp_path / "other" / POLICY, {"net.none": np.zeros(1)}, {})
    suite = written(tmp_path, bad=f"train doorkey --from-run {tmp_path / 'other'}", plain=plain)
    arguments = [suite, "--scale", "0.1", "--cores", "2"]
    run = tmp_path / "runs" / "own-x0.1" / "plain" / "seed0"
    process = started(tmp_path, *arguments)
    wait_for(run / "log.csv", process)
    bad = tmp_path / "runs" / "own-x0.1" / "bad" / "seed0.log"
    while "--from-run needs" not in bad.read_text():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert f"go on with: srm suite {arguments[0]} --scale 0.1 --cores 2" in said
    assert "--from-run needs the --learner, --net and --network of that run" in said
    assert "Traceback" not in said
    before = rounds(run)
    assert list((run / "checkpoint").iterdir())
    assert not (run / "summary.json").exists()

    process = started(tmp_path, *arguments)
    told, said = process.communicate()
    assert process.returncode == 1, said
    assert "2 runs: 1 failed, 1 finished" in told or "2 runs: 1 finished, 1 failed" in told
    assert len(rounds(run)) > len(before)
    assert rounds(run) == list(range(1, len(rounds(run)) + 1))
    assert json.loads((run / "summary.json").read_text())["frames"] >= 40_000
    assert run.with_name("seed0.log").read_text().count(f"train --resume {run.relative_to(tmp_path)}\n") >= 1


@pytest.mark.slow
def test_a_killed_suite_takes_its_runs_with_it_and_can_be_taken_up(tmp_path: Path) -> None:
    arguments = [written(tmp_path, plain=f"train DoorKey-5x5 --frames 60000 --checkpoint-seconds 0.1 {SMALL}")]
    run = tmp_path / "runs" / "own" / "plain" / "seed0"
    process = started(tmp_path, *arguments)
    wait_for(run / "log.csv", process)
    process.kill()
    process.communicate()
    assert not (run / "summary.json").exists()
    assert main(["suite", *arguments, "-o", str(tmp_path / "runs" / "own")]) == 0
    assert (run / "summary.json").exists()


@pytest.mark.slow
def test_a_run_that_was_interrupted_on_a_cluster_goes_on_here(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    suite = written(tmp_path, plain=f"train DoorKey-5x5 --frames 100000000 {SMALL}")
    run = tmp_path / "runs" / "own" / "plain" / "seed0"
    process = started(tmp_path, suite, "--on", "ray", "--address", "local")
    wait_for(run / "log.csv", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert f"go on with: srm suite {suite} --on ray --address local" in said
    before = rounds(run)
    assert f"round-{before[-1]:08d}.safetensors" in os.listdir(run / "checkpoint")

    process = started(tmp_path, suite)
    while len(rounds(run)) <= len(before):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert rounds(run) == list(range(1, len(rounds(run)) + 1))


@pytest.mark.slow
def test_a_learnt_machine_pays_the_run_of_the_same_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    learn = "learn DoorKey-5x5 --frames 600 --ppo.num-envs 8 --ppo.num-steps 32 --posterior.sweeps 60 --episodes 1"
    suite = written(tmp_path, learnt=f"train DoorKey-6x6 --reward learnt:learn --frames 300 {SMALL}", learn=learn)
    assert main(["suite", suite, "--seeds", "2", "-o", "out"]) == 0
    for seed in (0, 1):
        assert os.path.exists(f"out/learn/seed{seed}/report.html")
        config = json.loads(Path(f"out/learnt/seed{seed}/config.json").read_text())
        assert config["training"]["reward"] == f"out/learn/seed{seed}/learnt.srm"
        learnt = Path(f"out/learn/seed{seed}/learnt.srm").read_text()
        assert (
            learnt.split("constraint")[0].split("holes")[1].split()[:3]
            == (Path(f"out/learnt/seed{seed}/machine.srm").read_text().split("holes")[1].split()[:3])
        )


def test_too_many_runs_for_the_terminal_leave_those_that_matter() -> None:
    def progress(seed: int, state: str) -> RunProgress:
        return RunProgress(
            SuiteRun("plain", seed, ("train", "doorkey"), 10, Path(f"seed{seed}")), state, Reached(5, 1.0, 0.5)
        )  # type: ignore[arg-type]

    many = (*(progress(seed, "waiting") for seed in range(50)), progress(50, "running"), progress(51, "failed"))
    table = picture(many, most=3).renderables[0]
    assert list(table.columns[1].cells) == ["51", "50", "0"]  # type: ignore[attr-defined]
