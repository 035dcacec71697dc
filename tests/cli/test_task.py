"""The verbs words, tasks and demo, from the command line to the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.cli import main
from srm.domains.demonstrations import load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_words_lists_names_meanings_and_attributes(capsys: pytest.CaptureFixture[str]) -> None:
    listed = told(capsys, "words", "minigrid")
    assert "  unlock_door     colour, place  opens the locked door in front with a key of its colour in hand" in listed
    assert "see_target" in listed
    assert "(no act)" in listed
    assert "red, green, blue, purple, yellow, grey" in listed
    assert "pick_up_key - drop_key: 0 to 1" in listed
    assert told(capsys, "words", "doorkey") == listed
    assert "attributes" not in told(capsys, "words", "examples.corridor:TASK")  # it has none


def test_an_unknown_vocabulary_gets_a_near_one_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "words", "minigird") == "there is no vocabulary minigird; did you mean minigrid?\n"


def test_tasks_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    listed = told(capsys, "tasks")
    for word in ("doorkey: take the key", "KeyCorridorS3R3; also KeyCorridorS3R1", "obstructedmaze_3", "15,000,000"):
        assert word in listed
    assert max(len(line) for line in listed.splitlines()) <= 120


def test_demo_records_shows_and_draws(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "doorkey.npz: 2 demonstrations of doorkey in MiniGrid-DoorKey-5x5-v0" in told(
        capsys, "demo", "DoorKey-5x5", "-n", "2", "--seed", "4"
    )
    assert len(load(folder / "doorkey.npz")) == 2
    shown = told(capsys, "demo", "show", "doorkey.npz", "-e", "1", "-o", "demo.gif")
    assert "episode 1, seed" in shown
    assert "toggle   unlock_door yellow" in shown
    assert (folder / "demo.gif").stat().st_size > 1_000


def test_the_folder_of_a_file_is_made(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    told(capsys, "demo", "DoorKey-5x5", "-n", "1", "-o", "new/folder/x.npz")
    assert len(load(folder / "new" / "folder" / "x.npz")) == 1


def test_the_seed_decides_the_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for name, seed in (("one", "1"), ("again", "1"), ("other", "2")):
        told(capsys, "demo", "DoorKey-5x5", "-n", "1", "--seed", seed, "-o", f"{name}.npz")
    one, again, other = ((folder / f"{name}.npz").read_bytes() for name in ("one", "again", "other"))
    assert one == again != other


def test_shipped_demonstrations_are_shown_by_the_tasks_name(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "demo", "show", "obstructedmaze")
    assert "MiniGrid-ObstructedMaze-2Dlhb-v1, episode 0" in shown
    assert "open_box" in shown


def test_a_file_is_not_written_over(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "doorkey.npz").write_text("precious")
    assert "exists, and is not written over" in refused(capsys, "demo", "DoorKey-5x5", "-n", "1")
    assert (folder / "doorkey.npz").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("demo", "dorkey"), "there is no task dorkey"),
        (("demo", "doorkey", "-n", "0"), "0 demonstrations of doorkey: at least one is needed"),
        (
            ("demo", "show", "absent.npz"),
            "absent.npz: there is no such file; `srm demo TASK -o absent.npz` records one",
        ),
        (("demo", "show", "doorkey", "-e", "10"), "has episodes 0 to 9, not 10"),
        (("demo", "show", "doorkey", "--pause", "-1"), "--pause -1.0: give a number that is 0 or more"),
        (("demo", "show", "doorkey", "-o", __file__), "exists, and is not written over"),
        (("demo", "show", "doorkey", "-o", "x.bmp"), "x.bmp: a demonstration is drawn as .gif or .png"),
        (("demo", "doorkey", "--seed", "-1"), "seed -1: seeds are 0 or more"),
        (("demo", "doorkey", "-o", "/dev/null/x.npz"), "/dev/null: "),
        (("demo", "doorkey", "--habit", "close_doors"), "there is no habit close_doors; did you mean closes_doors?"),
        (
            ("demo", "examples.corridor:TASK", "--habit", "closes_doors"),
            "corridor: habits are of the experts of MiniGrid, LunarLander, Hopper, highway-env; record it without them",
        ),
        (("demo", "doorkey", "--expert", "examples.corridor:nobody"), "has no attribute 'nobody'"),
        (
            ("demo", "doorkey", "--expert", "examples.corridor:TASK", "--habit", "closes_doors"),
            "--habit is of the task's own expert, --expert shows another",
        ),
        (("demo", "show", "."), ".: is a folder; name a file of demonstrations"),
    ],
)
def test_what_a_user_can_mend_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str
) -> None:
    message = refused(capsys, *arguments)
    assert problem in message
    assert message.count("\n") == 1


def test_minari_there_and_back(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "store"))
    (folder / "store").mkdir()
    told(capsys, "demo", "DoorKey-5x5", "-n", "2")
    assert "added to the local Minari store" in told(capsys, "demo", "export", "doorkey.npz", "mine/doorkey-v0")
    told(capsys, "demo", "import", "mine/doorkey-v0", "--task", "doorkey", "-o", "back.npz")
    other = refused(capsys, "demo", "import", "mine/doorkey-v0", "--task", "keycorridor", "-o", "other.npz")
    assert "recorded in MiniGrid-DoorKey-5x5-v0, which is of the task doorkey; give --task doorkey" in other
    assert load(folder / "back.npz").seeds == load(folder / "doorkey.npz").seeds
    told(capsys, "demo", "export", "keycorridor", "mine/keycorridor-v0")  # those that ship
