from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from srm.cli import main, parse

SMALL = [
    "--ppo.num-envs",
    "4",
    "--ppo.num-steps",
    "16",
    "--ppo.epochs",
    "1",
    "--ppo.minibatches",
    "2",
    "--network.width",
    "16",
]


def rounds(folder: Path) -> list[int]:
    with (folder / "log.csv").open() as file:
        return [int(row["round"]) for row in csv.DictReader(file)]


def started(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "srm", "train", *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )


def wait_for(condition: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "DoorKey-5x5", "--frames", "200", "-o", str(folder), *SMALL]) == 0
    return folder


def test_train_tells_where_the_run_is_and_what_it_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    arguments = [
        "train",
        "DoorKey-5x5",
        "--reward",
        "doorkey_handset",
        "--learner",
        "agac",
        "--net",
        "lstm",
        "--seed",
        "3",
    ]
    assert main([*arguments, "--frames", "100", "--tensorboard", "--profile", "-o", str(folder), *SMALL]) == 0
    said = capsys.readouterr()
    assert str(folder) in said.out
    assert "frames/s" in said.err or "/s  return" in said.err
    assert list((folder / "tensorboard").iterdir())
    assert "collect" in (folder / "profile.txt").read_text()
    recorded = json.loads((folder / "config.json").read_text())["training"]
    assert (recorded["seed"], recorded["learning"]["learner"], recorded["learning"]["net"]) == (3, "agac", "lstm")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "name the task to train"),
        (["DoorKey-9x9"], "there is no task DoorKey-9x9"),
        (["doorkey", "--reward", "doorky"], "did you mean doorkey"),
        (["doorkey", "-o", f"{__file__}/run"], f"{__file__} takes no folders; choose another -o"),
        (["doorkey", "--ppo.recurrence", "7", "--net", "lstm"], "does not divide"),
        (["doorkey", "--ppo.recurrence", "8"], "--ppo.recurrence would change nothing: it needs --net lstm"),
        (["doorkey", "--seed", "-3"], "--seed -3: give a number that is 0 or more"),
        (["doorkey", "--ppo.num-envs", "1", "--ppo.num-steps", "8", "--ppo.minibatches", "8"], "too few"),
        (["doorkey", "--holes", "uniform"], "--holes would change nothing"),
        (
            ["doorkey", "--learner", "ride", "--agac.surprise", "3"],
            "--agac.* would change nothing: it needs --learner agac",
        ),
        (["doorkey", "--framse", "3"], "--framse, 3; did you mean --frames? `srm train --help` lists"),
        (["doorkey", "--net", "rnn"], "invalid choice 'rnn' for argument '--net'"),
        (["doorkey", "--frames", "many"], "--frames: many is no number; `srm train"),
        (["doorkey", "-n", "2.5"], "-n/--count: 2.5 is no whole number; `srm train"),
        (["--resume", "nowhere"], "is not a run"),
        (
            ["--resume", "nowhere", "--seed", "1", "--net", "lstm", "--ppo.num-envs", "8", "-o", "x"],
            "leave --seed, --net, --ppo.num-envs, -o out",
        ),
        (["--resume", "nowhere", "doorkey", "--frames", "9"], "leave doorkey out"),
    ],
    ids=[
        *(
            "no task",
            "unknown task",
            "unknown machine",
            "no place",
            "settings",
            "idle setting",
            "seed",
            "minibatches",
            "idle flag",
        ),
        *("idle part", "unknown flag", "unknown choice", "no number", "no whole number", "no run"),
        *("lost flags", "lost task"),
    ],
)
def test_what_a_user_can_mend_is_told_in_a_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_a_flag_that_may_be_left_out_can_be_told_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    told = parse("train", ["doorkey", "--ppo.value-clip", "None", "--stop-at", "0.5"]).training
    assert (told.learning.ppo.value_clip, told.stop_at) == (None, 0.5)
    with pytest.raises(SystemExit):
        parse("train", ["--help"])
    assert "--stop-at FLOAT " in capsys.readouterr().out


def test_a_million_frames_may_be_told_as_such() -> None:
    assert parse("train", ["doorkey", "--frames", "1e6"]).training.frames == 1_000_000


def test_an_existing_run_is_refused_with_the_way_on(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "DoorKey-5x5", "-o", str(finished), *SMALL]) == 2
    assert f"--resume {finished}" in capsys.readouterr().err


@pytest.mark.parametrize("play", ["sampled", "greedy"])
def test_eval_tells_return_success_and_length_with_intervals(
    finished: Path, play: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(finished), "--episodes", "6", "--play", play, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["env_id"], found["episodes"], found["play"]) == ("MiniGrid-DoorKey-5x5-v0", 6, play)
    for name in ("return", "success", "length"):
        assert found[name]["low"] <= found[name]["mean"] <= found[name]["high"]


def test_eval_carries_a_policy_to_another_environment(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(finished), "--env", "DoorKey-6x6", "--episodes", "2"]) == 0
    assert "MiniGrid-DoorKey-6x6-v0, 2 episodes" in capsys.readouterr().out


def test_eval_refuses_an_environment_of_another_task(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(finished), "--env", "KeyCorridorS3R1", "--episodes", "2"]) == 2
    said = capsys.readouterr().err
    assert f"KeyCorridorS3R1 is of the task keycorridor, but the policy of {finished} was trained on doorkey" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("config", ['{"kind": "train"}', '{"kind": "train", "training": [1]}', '{"kind": "learn"}'])
def test_a_config_that_was_cut_down_is_refused_by_name(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(config)
    verb = json.loads(config)["kind"]
    for command in ([verb, "--resume", str(tmp_path)], ["eval", str(tmp_path)]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"{tmp_path / 'config.json'}: ")
        assert said.endswith("make the run again\n")
        assert said.count("\n") == 1


def test_eval_writes_episodes_that_can_be_shown(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from srm.domains.demonstrations import load

    path = tmp_path / "new" / "replays.npz"
    assert main(["eval", str(finished), "--episodes", "1", "--replays", str(path)]) == 0
    assert f"replays  {path}" in capsys.readouterr().out
    replays = load(path)
    assert (len(replays), replays.env_id) == (10, "MiniGrid-DoorKey-5x5-v0")


@pytest.mark.parametrize(("flag", "value"), [("--episodes", "0"), ("--seed", "-1")])
def test_eval_refuses_a_number_that_cannot_be_before_it_plays(
    flag: str, value: str, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(finished), flag, value]) == 2
    assert f"{flag} {value}: give a number that is" in capsys.readouterr().err


def test_replays_are_never_written_over_a_file(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = finished / "policy.safetensors"
    before = policy.read_bytes()
    assert main(["eval", str(finished), "--episodes", "1", "--replays", str(policy)]) == 2
    assert "exists, and is not written over" in capsys.readouterr().err
    assert policy.read_bytes() == before


def test_eval_refuses_damaged_weights_by_name(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = finished / "policy.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:1000])
    try:
        assert main(["eval", str(finished)]) == 2
    finally:
        weights.write_bytes(whole)
    assert f"{weights}: it is truncated" in capsys.readouterr().err


def test_an_interrupt_leaves_a_checkpoint_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = started("DoorKey-5x5", "--frames", "1000000", "-o", str(folder), *SMALL)
    wait_for(lambda: (folder / "log.csv").exists())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"srm train --resume {folder}" in said
    assert "Traceback" not in said
    assert f"round-{rounds(folder)[-1]:08d}" in os.listdir(folder / "checkpoint")[-1]


def kill_and_resume(folder: Path, kills: int, seed: int) -> None:
    """Kills a run at random moments, resumes it each time, and at last lets it end."""
    rng = random.Random(seed)
    arguments = ["DoorKey-5x5", "--frames", "1000000", "--checkpoint-seconds", "0.05", "-o", str(folder), *SMALL]
    reached = 0
    for _ in range(kills):
        process = started(*arguments)
        log = folder / "log.csv"
        wait_for(lambda log=log, reached=reached: log.exists() and len(log.read_bytes().split(b"\n")) > reached + 2)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        text = log.read_text()
        reached = max(int(line.split(",")[0]) for line in text.split("\n")[1:-1])
        arguments = ["--resume", str(folder)]
    process = started(*arguments, "--frames", str((reached + 5) * 64))
    process.communicate(timeout=300)
    assert process.returncode == 0
    found = rounds(folder)
    assert found == list(range(1, found[-1] + 1))
    assert (folder / "summary.json").exists()
    assert not list(folder.rglob("*.part"))


def test_a_killed_run_goes_on_with_the_same_curve(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "run", kills=1, seed=0)


@pytest.mark.slow
def test_a_run_killed_ten_times_goes_on_with_the_same_curve(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "run", kills=10, seed=1)
