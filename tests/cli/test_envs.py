"""Whoever plays says who steps the envs: in the first line, in config.json and on the page; EnvPool only steps what it is asked for."""

from __future__ import annotations

import json
import sys
from html import unescape
from pathlib import Path

import pytest

from srm.cli import main
from srm.domains.minigrid.envs import COMPILED, OWN_LAYOUTS

ROOT = Path(__file__).parents[2]
OWN = ["--task", "examples.rooms:TASK"]
SMALL = ["--ppo.num-envs", "4", "--ppo.num-steps", "16", "--frames", "200"]
ROOMS = "MiniGrid-MultiRoom-N2-S4-v0"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def first_line(capsys: Capture, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 0
    printed = capsys.readouterr()
    lines = (printed.out if arguments[0] in ("demo", "eval") else printed.err).splitlines()
    return next(line for line in lines if not line.startswith("inferring "))  # which a slow machine prints before


def refused(capsys: Capture, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 2
    return capsys.readouterr().err


def recorded(folder: str) -> str:
    return str(json.loads(Path(folder, "config.json").read_text())["envs"])


def test_training_and_evaluation_of_an_own_task_are_stepped_alike_and_say_so(capsys: Capture) -> None:
    told = f"envs: {ROOMS} ({OWN_LAYOUTS})"
    assert first_line(capsys, "train", "examples.rooms:TASK", "-o", "run", *SMALL) == told
    assert recorded("run") == OWN_LAYOUTS
    assert first_line(capsys, "eval", "run", *OWN, "--episodes", "4") == told
    assert main(["eval", "run", *OWN, "--episodes", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["envs"] == OWN_LAYOUTS


def test_demonstrations_learning_and_inference_say_it_too_and_the_pages_show_it(capsys: Capture) -> None:
    demo = ["demo", "DoorKey-5x5", "-n", "2", "-o", "door.npz"]
    assert first_line(capsys, *demo) == "envs: MiniGrid-DoorKey-5x5-v0 (MiniGrid itself)"
    quick = ["--posterior.sweeps", "60", "--posterior.first-look", "60", "--episodes", "1"]
    asked = ["DoorKey-5x5", "--demos", "door.npz"]
    told = f"envs: MiniGrid-DoorKey-5x5-v0 ({COMPILED})"
    assert first_line(capsys, "learn", *asked, "-o", "run", *SMALL, *quick) == told
    assert recorded("run") == COMPILED
    assert f"Environments: {COMPILED}." in unescape(Path("run/report.html").read_text())
    assert first_line(capsys, "infer", *asked, "-o", "inferred", "--posterior.sweeps", "60") == told
    assert recorded("inferred") == COMPILED
    assert f"Environments: {COMPILED}." in unescape(Path("inferred/report.html").read_text())


def test_envpool_steps_only_what_it_is_asked_for(capsys: Capture) -> None:
    pytest.importorskip("envpool")
    line = first_line(capsys, "train", "examples.rooms:TASK", "--envs", "envpool", "-o", "run", *SMALL)
    assert line.startswith(f"envs: {ROOMS} (EnvPool ")
    assert recorded("run").startswith("EnvPool ")
    assert first_line(capsys, "eval", "run", *OWN, "--episodes", "4").endswith(f"({OWN_LAYOUTS})")
    assert "(EnvPool " in first_line(capsys, "eval", "run", *OWN, "--episodes", "4", "--envs", "envpool")
    unknown = refused(capsys, "train", "examples.corridor:TASK", "--envs", "envpool", "-o", "other")
    assert "EnvPool has no environment Corridor-v0; leave --envs envpool out" in unknown


def test_a_missing_envpool_is_refused_with_the_command_that_installs_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "envpool", None)
    problem = refused(capsys, "train", "doorkey", "--envs", "envpool", "-o", "run")
    assert "MiniGrid-DoorKey-8x8-v0, stepped by EnvPool, needs envpool" in problem
    assert 'pip install "symbolic-reward-machines[envpool]"' in problem
    assert not Path("run").exists()


def test_a_task_that_makes_its_own_envs_cannot_be_given_others(capsys: Capture, here: Path) -> None:
    here.joinpath("mine.py").write_text(
        "from dataclasses import replace\nfrom srm.domains.tasks import find_task\nfrom srm.domains.envs import make_envs\n"
        "TASK = replace(find_task('doorkey'), envs=lambda env_id, count, seed: make_envs(env_id, count, seed))\n"
    )
    problem = refused(capsys, "train", "mine:TASK", "--envs", "gymnasium", "-o", "run")
    assert "--envs gymnasium would change nothing: doorkey makes environments of its own; leave --envs out" in problem


def test_gymnasium_can_be_asked_for(capsys: Capture) -> None:
    line = first_line(capsys, "train", "DoorKey-5x5", "--envs", "gymnasium", "-o", "run", *SMALL)
    assert line == "envs: MiniGrid-DoorKey-5x5-v0 (Gymnasium, as asked)"


@pytest.mark.slow
def test_the_example_of_rooms_is_learnt_in_the_rooms_that_were_demonstrated(capsys: Capture) -> None:
    """As docs/own_task.md has it: 88,700 frames at its seed."""
    assert main(["demo", "examples.rooms:TASK", "-n", "10", "-o", "rooms.npz"]) == 0
    asked = ["--machine", "examples/rooms.srm", "--demos", "rooms.npz", "--frames", "400000", "--stop-at", "0.7"]
    assert main(["learn", "examples.rooms:TASK", *asked, "--episodes", "1", "-o", "run"]) == 0
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["return"] >= 0.7
    assert summary["frames"] < 250_000
    capsys.readouterr()
    assert main(["eval", "run", *OWN, "--episodes", "200", "--json"]) == 0
    in_training = json.loads(capsys.readouterr().out)["success"]["mean"]
    assert main(["eval", "run", *OWN, "--episodes", "200", "--json", "--envs", "gymnasium"]) == 0
    in_minigrid = json.loads(capsys.readouterr().out)["success"]["mean"]
    assert abs(in_training - in_minigrid) < 0.08, "the same rooms, whoever steps them"
