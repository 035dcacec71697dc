"""`srm infer`: prints what is known of each hole, writes a folder, and says what to do where its input does not fit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from srm.cli import main
from srm.extras import DISTRIBUTION
from srm.infer.posterior.store import read_draws
from srm.machine.language.parse import load
from tests.test_readme import matches

QUICK = ["--posterior.first-look", "30", "--posterior.sweeps", "30", "-n", "3", "--frames", "1600"]
ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, *arguments: str) -> str:
    assert main(["infer", *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: Capture, *arguments: str) -> str:
    assert main(["infer", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


FARMED = """machine farmed
words minigrid
holes ?key ?drop ?goal ?idle
start searching
    pick_up_key  // ?key
    drop_key     // ?drop
    reach_goal   // ?goal  -> done
accept done
"""


def test_it_prints_what_is_known_of_each_hole_and_fills_a_folder(here: Path, capsys: Capture) -> None:
    out = run(capsys, "doorkey", *QUICK)
    first, *rest = out.splitlines()
    assert re.match(r"has NOT converged: .* independent draws, below 400; give more --posterior.sweeps than 30", first)
    assert rest[0].startswith("doorkey under constraint relational, from 3 demonstrations (")
    head = next(line for line in rest if line.startswith("hole"))
    assert re.sub(" +", " ", head) == "hole pays mean 90 % interval ratio narrower set by"
    assert re.search(
        r"^\?goal +-?\d\.\d\d +-?\d\.\d\d +-?\d\.\d\d to +\d\.\d\d +-?\d\.\d\d +\d+ %  \w+$", out, re.MULTILINE
    )
    folder = here / "runs" / "doorkey-doorkey-infer-seed0"
    assert f"machine  {folder.relative_to(here) / 'learnt.srm'}" in out
    names = "config.json demonstrations.npz draws.safetensors learnt.srm machine.srm posterior.json report.html"
    assert sorted(path.name for path in folder.iterdir()) == names.split()
    config = json.loads((folder / "config.json").read_text())
    assert config["kind"] == "infer"
    assert config["env_id"] == "MiniGrid-DoorKey-8x8-v0"
    assert config["versions"][DISTRIBUTION]
    assert read_draws(folder / "draws.safetensors").holes == load(folder / "machine.srm").hole_names
    learnt = load(folder / "learnt.srm")
    assert learnt.is_concrete
    assert learnt.constraints[0].name == "relational"
    assert "runs/doorkey-doorkey-infer-seed0-2" in run(capsys, "doorkey", *QUICK)


def test_the_same_seed_gives_the_same_holes_and_another_others(here: Path, capsys: Capture) -> None:
    texts = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        run(capsys, "doorkey", *QUICK, "--seed", seed, "-o", name)
        texts.append((here / name / "posterior.json").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_atoms_against_farming_are_printed_and_held_and_unread_holes_named(here: Path, capsys: Capture) -> None:
    Path("farmed.srm").write_text(FARMED)
    out = run(capsys, "farmed.srm", "--task", "DoorKey-6x6", *QUICK, "-o", "held")
    assert re.search(r"added against farming\n  \?key \+ \?drop <= 0  no gain from", out)
    assert "nothing reads ?idle" in out
    learnt = load(here / "held" / "learnt.srm")
    assert [str(atom).split('" ')[-1] for atom in learnt.constraints[0].atoms] == ["?key + ?drop <= 0"]
    values = learnt.values()
    assert values["key"] + values["drop"] <= 1e-9
    open_to_it = run(capsys, "farmed.srm", "--task", "DoorKey-6x6", *QUICK, "-o", "open", "--allow-farming")
    assert "farming" not in open_to_it
    assert load(here / "open" / "learnt.srm").constraints == ()


def test_the_task_of_a_machine_comes_from_its_demonstrations_or_from_what_ships(here: Path, capsys: Capture) -> None:
    assert main(["demo", "DoorKey-5x5", "-n", "3", "-o", "door.npz"]) == 0
    Path("farmed.srm").write_text(FARMED)
    capsys.readouterr()
    assert "in MiniGrid-DoorKey-5x5-v0" in run(capsys, "farmed.srm", "--demos", "door.npz", *QUICK)
    assert (here / "runs" / "DoorKey-5x5-farmed-infer-seed0").is_dir()
    assert "in MiniGrid-DoorKey-8x8-v0" in run(capsys, "doorkey_handset", *QUICK)


def test_bad_input_is_refused_in_one_line(here: Path, capsys: Capture) -> None:
    Path("farmed.srm").write_text(FARMED)
    Path("unmet.srm").write_text(FARMED + "constraint\n    ?key >= 6\n")
    Path("closed.srm").write_text("machine closed\nwords minigrid\nstart s\n    reach_goal // 1\n")
    Path("silent.srm").write_text("machine silent\nwords minigrid\nholes ?a\nstart s\n    open_box // ?a\n")
    door, out = ["--task", "doorkey"], ["-o", "run"]
    assert "name a machine or a task" in refused(capsys)
    assert "neither a task" in refused(capsys, "doorkay", *out)
    assert "did you mean doorkey?" in refused(capsys, "doorkay", *out)
    assert "give the path of an .srm file" in refused(capsys, "none.srm", *door, *out)
    assert "machine farmed is of no task that ships; name its task with --task" in refused(capsys, "farmed.srm", *out)
    assert "so --task would change nothing" in refused(capsys, "doorkey", *door, *out)
    assert "so --machine would change nothing" in refused(capsys, "farmed.srm", *door, "--machine", "doorkey", *out)
    assert "no holes to infer" in refused(capsys, "closed.srm", *door, *out)
    assert "allows nothing within the holes' assignment spaces" in refused(capsys, "unmet.srm", *door, *out)
    assert "no event of machine silent" in refused(capsys, "silent.srm", *door, *out)
    assert "-n must lie in 1..10" in refused(capsys, "doorkey", "-n", "11", *out)
    assert "--frames 0" in refused(capsys, "doorkey", "--frames", "0", *out)
    assert "--posterior.sweeps 0" in refused(capsys, "doorkey", "--posterior.sweeps", "0", *out)
    assert "nothing" in refused(capsys, "doorkey", "--constraint", "nothing", *out)
    Path("taken").mkdir()
    assert "taken exists, and is never overwritten: choose another -o" in refused(capsys, "doorkey", "-o", "taken")
    assert main(["demo", "keycorridor", "-n", "1", "-o", "key.npz"]) == 0
    capsys.readouterr()
    assert "shows the task keycorridor, not doorkey" in refused(capsys, "doorkey", "--demos", "key.npz", *out)
    assert "is not a run" in refused(capsys, "doorkey", "--play", "taken", *out)
    assert not Path("run").exists()


def test_torch_is_imported_only_to_let_a_policy_play(here: Path) -> None:
    arguments = ["infer", "doorkey", *QUICK, "-o", str(here / "run")]
    code = f"import sys; from srm.cli import main; print(main({arguments}), 'torch' in sys.modules)"
    terminated = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert terminated.stdout.splitlines()[-1] == "0 False"


@pytest.mark.slow
def test_the_policy_of_a_run_plays_as_evidence(here: Path, capsys: Capture) -> None:
    small = ["--ppo.num-envs", "8", "--ppo.num-steps", "32", "--frames", "256"]
    assert main(["train", "DoorKey-5x5", *small, "-o", "trained"]) == 0
    assert main(["train", "KeyCorridorS3R1", *small, "-o", "other"]) == 0
    capsys.readouterr()
    alone = run(capsys, "DoorKey-5x5", *QUICK, "-o", "alone")
    both = run(capsys, "DoorKey-5x5", *QUICK, "--play", "trained", "--play", "trained", "-o", "both")
    steps = [int(re.findall(r"and ([\d,]+) steps of play", text)[0].replace(",", "")) for text in (alone, both)]
    assert steps[1] > 2.5 * steps[0]
    assert "trained on keycorridor, not on doorkey" in refused(capsys, "doorkey", "--play", "other", "-o", "run")


PAGE = (ROOT / "docs" / "infer.md").read_text()


def test_the_page_about_it_prints_what_it_shows(here: Path, capsys: Capture) -> None:
    ((command, shown),) = re.findall(r"^\$ srm infer ([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert matches(run(capsys, *command.split()), shown)


def test_its_python_runs(capsys: Capture) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})
    assert "?goal" in capsys.readouterr().out
