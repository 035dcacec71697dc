"""`srm propose`: what it prints and writes, what it refuses, and the page about it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import srm
from srm.cli import main
from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError
from srm.machine.language.parse import load
from srm.runs.proposal import propose_for
from srm.trajectory import Demonstrations, Trajectory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "propose.md").read_text()
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: Capture, *words: str) -> str:
    capsys.readouterr()
    assert main(["propose", *words]) == 2
    return capsys.readouterr().err


def test_the_page_about_it_prints_what_it_shows(capsys: Capture) -> None:
    ((command, output),) = re.findall(r"^\$ srm ([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert main(command.split()) == 0
    assert capsys.readouterr().out == output


def test_its_python_runs(capsys: Capture) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})
    assert "reach_goal" in capsys.readouterr().out


def test_a_file_a_page_and_a_comparison(here: Path, capsys: Capture) -> None:
    words = ["doorkey", "-n", "3", "-o", "mine.srm", "--page", "page.html", "--explain", "--against", "doorkey"]
    assert main(["propose", *words]) == 0
    out = capsys.readouterr().out
    assert load("mine.srm").name == "doorkey_proposed"
    assert "# in all 3 demonstrations, before unlock_door" in Path("mine.srm").read_text()
    assert Path("page.html").read_text().startswith("<!doctype html>")
    assert "hit_wall: left out, in no demonstration" in out
    assert re.search(r"unlock_door +\?unlock_door +\?unlock +3 of 3", out)
    assert "pays differently on a trace" in out
    assert main(["check", "mine.srm", "--strict"]) == 0


def test_demonstrations_can_be_read_in_the_words_of_a_vocabulary(here: Path, capsys: Capture) -> None:
    file = str(demos.shipped(find_task("unlockpickup")))
    assert main(["propose", "--words", "minigrid", "--demos", file]) == 0
    assert "machine unlockpickup_proposed" in capsys.readouterr().out
    assert "name the demonstrations to read in these words (--demos FILE)" in refused(capsys, "--words", "minigrid")
    assert "there is no vocabulary minigird; did you mean minigrid?" in refused(capsys, "--words", "minigird")
    assert "name the task to propose a machine for" in refused(capsys)
    both = refused(capsys, "doorkey", "--words", "minigrid", "--demos", file)
    assert both == "doorkey has words of its own; name the task, or --words minigrid, not both\n"


def test_words_that_an_environment_does_not_have_are_refused(capsys: Capture) -> None:
    assert "doorkey was recorded in MiniGrid-DoorKey-8x8-v0, which has none of the words of lunarlander" in refused(
        capsys, "--words", "lunarlander", "--demos", "doorkey"
    )


@pytest.mark.parametrize("kind", ["file", "folder", "pipe"])
def test_what_is_there_already_is_not_written_over(kind: str, here: Path, capsys: Capture) -> None:
    {"file": lambda path: path.write_text("mine"), "folder": Path.mkdir, "pipe": os.mkfifo}[kind](Path("mine.srm"))
    message = refused(capsys, "doorkey", "-o", "mine.srm")
    assert message == "mine.srm: exists, and is not written over; choose another name with -o\n"
    assert os.listdir() == ["mine.srm"]
    assert kind != "file" or Path("mine.srm").read_text() == "mine"


def test_a_page_replaces_no_pipe(here: Path, capsys: Capture) -> None:
    os.mkfifo("page.html")
    assert "page.html: it is a pipe or a device, not a file" in refused(capsys, "doorkey", "--page", "page.html")
    assert Path("page.html").is_fifo()


def test_the_page_has_a_name_of_its_own(here: Path, capsys: Capture) -> None:
    assert "both name a.srm; give the page a name" in refused(capsys, "doorkey", "-o", "a.srm", "--page", "./a.srm")
    assert not Path("a.srm").exists()


def test_words_of_info_alone_are_refused() -> None:
    task = find_task("doorkey")
    sums = replace(task, vocabulary=replace(task.vocabulary, name="info"))
    with pytest.raises(DemonstrationError, match="words of `info` alone"):
        propose_for(sums, demos.load(demos.shipped(task)))


def test_the_folder_of_a_file_is_made(here: Path) -> None:
    assert main(["propose", "doorkey", "-o", "new/mine.srm"]) == 0
    assert load("new/mine.srm").name == "doorkey_proposed"


def test_a_machine_to_compare_with_that_is_not_there_is_refused_before_anything_is_written(
    here: Path, capsys: Capture
) -> None:
    assert main(["propose", "doorkey", "-o", "mine.srm", "--against", "dorkey"]) == 2
    printed = capsys.readouterr()
    assert "dorkey" in printed.err
    assert printed.out == ""
    assert os.listdir() == []


def test_equal_attributes_are_asked_for_by_a_flag_and_from_python(capsys: Capture) -> None:
    assert main(["propose", "obstructedmaze", "--match", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "last pick_up_key where colour = unlock_door.colour  // ?pick_up_key" in out
    assert "pick_up_key: only the last with the colour of unlock_door stays paid" in out
    proposal = srm.propose("obstructedmaze", match=True)
    assert out.startswith(proposal.text)
    assert proposal.machine.check().count("warning") == 0
    assert "hindsight" not in srm.propose("obstructedmaze").text


def test_demonstrations_without_an_event_get_a_sentence(here: Path, capsys: Capture) -> None:
    image = np.full((3, 7, 7, 3), 1, np.uint8)
    still = Trajectory(image, np.zeros(2, np.int64), np.ones((3, 3), np.int16), np.ones(2, np.float32), terminated=True)
    shown = Demonstrations("doorkey", "MiniGrid-DoorKey-8x8-v0", "minigrid", {}, (0,), (still,))
    demos.save(shown, Path("still.npz"))
    assert "no event of vocabulary minigrid happens" in refused(capsys, "doorkey", "--demos", "still.npz")


@pytest.mark.slow
def test_a_policy_is_trained_with_no_machine_written(here: Path, capsys: Capture) -> None:
    small = ["--ppo.num-envs", "8", "--ppo.num-steps", "32", "--frames", "512", "--episodes", "1"]
    assert main(["learn", "unlockpickup", "--machine", "proposed", *small, "-o", "run"]) == 0
    assert load("run/machine.srm").name == "unlockpickup_proposed"
    assert main(["learn", "unlockpickup", *small]) == 2
    assert "let one be proposed from demonstrations: --machine proposed" in capsys.readouterr().err
    assert main(["propose", "unlockpickup", "--play", "run", "--frames", "640", "--explain"]) == 0
    assert "episodes of a run's policy" in capsys.readouterr().out


def test_the_holes_of_a_proposed_machine_are_inferred(here: Path, capsys: Capture) -> None:
    quick = ["--frames", "640", "--posterior.sweeps", "40", "-n", "2"]
    assert main(["infer", "lockedroom", "--machine", "proposed", *quick, "-o", "out"]) == 0
    assert load("out/learnt.srm").is_concrete
