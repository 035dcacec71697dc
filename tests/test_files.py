"""A link that somebody put into a folder leads no write, and no copy, to what it points to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from srm.cli import main
from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.files import MOST_VALUES, appending, parse_json, read_whole, write_whole
from srm.results import RunResult
from srm.runs.folder import RunWriter
from srm.runs.log import MOST_CELLS, log_lines
from tests.report.sample import write_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("mine\n")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


def test_a_page_is_written_through_no_link(run: Path, precious: Path) -> None:
    for name in (".report.html.part", "report.html"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(precious)
    assert main(["report", str(run)]) == 0
    assert precious.read_text() == "mine\n"
    assert not (run / "report.html").is_symlink()
    assert "<html" in (run / "report.html").read_text()


def test_a_file_appears_whole_with_the_usual_permissions_and_nothing_beside_it(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"all of it")
    finally:
        os.umask(before)
    assert (tmp_path / "file").read_bytes() == b"all of it"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_nothing_beside(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_whole(tmp_path / "taken", b"")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"it is a pipe or a device, not a file: .*pipe"):
        write_whole(tmp_path / "pipe", b"lost")
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_nor_is_a_link_to_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "device")
    (tmp_path / "link").symlink_to(tmp_path / "device")
    with pytest.raises(OSError, match="it is a pipe or a device"):
        write_whole(tmp_path / "link", b"lost")
    assert (tmp_path / "link").is_symlink()


def test_names_of_unfinished_files_cannot_be_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    monkeypatch.setattr(Path, "replace", lambda part, path: names.append(part.name))
    for _ in range(2):
        write_whole(tmp_path / "file", b"")
    assert len({*names}) == 2
    assert all(len(name) > len(".file..part") + 12 for name in names)


def test_a_log_that_is_a_link_gets_no_rows(tmp_path: Path, precious: Path) -> None:
    writer = RunWriter.create(tmp_path / "run", {"kind": "train"})
    (tmp_path / "run" / "log.csv").symlink_to(precious)
    with pytest.raises(RunError, match=r"log\.csv cannot be written"):
        writer.row({"round": 1})
    with pytest.raises(OSError, match="symbolic"), appending(tmp_path / "run" / "log.csv"):
        pass
    assert precious.read_text() == "mine\n"


def test_checkpoints_that_lie_elsewhere_are_not_gone_on_with(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", {"kind": "train"}).close()
    shutil.move(tmp_path / "run" / "checkpoint", tmp_path / "elsewhere")
    (tmp_path / "run" / "checkpoint").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="checkpoint is a link"):
        RunWriter.resume(tmp_path / "run")


def test_demonstrations_are_written_through_no_link(tmp_path: Path, precious: Path) -> None:
    (tmp_path / f".shown.npz.{os.getpid()}").symlink_to(precious)
    shown = demos.load(demos.shipped(find_task("doorkey")))
    demos.save(shown, tmp_path / "shown.npz")
    assert precious.read_text() == "mine\n"
    assert len(demos.load(tmp_path / "shown.npz")) == len(shown)


@pytest.mark.parametrize("name", ["check.json", "log.csv"])
def test_what_is_kept_lies_in_the_run(name: str, run: Path, precious: Path, tmp_path: Path, capsys: Capture) -> None:
    shutil.move(run / name, tmp_path / f"other-{name}")
    (run / name).symlink_to(tmp_path / f"other-{name}")
    assert main(["report", str(run), "--keep", str(tmp_path / "kept")]) == 2
    assert f"{name} is a link to a file outside of" in capsys.readouterr().err
    assert not list((tmp_path / "kept").rglob(name))


def test_what_is_kept_is_no_run_that_lies_elsewhere(run: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "seed0").symlink_to(run)
    assert main(["report", str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")]) == 2
    assert "seed0 is a link to a run outside of what is kept" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["summary.json", "policy.safetensors"])
def test_a_folder_in_the_place_of_a_file_is_refused(name: str, tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path / "run", {"kind": "train"})
    (tmp_path / "run" / name).mkdir()
    with pytest.raises(RunError, match=f"{name} cannot be deleted: Is a directory; move it away"):
        writer.checkpoint({}, {"round": 1, "frames": 1})


# Reading


def test_more_values_than_fit_in_memory_are_refused_before_they_are_made() -> None:
    for text in ("[" + "{}," * (MOST_VALUES // 2) + "{}]", "[" + "1," * MOST_VALUES + "1]"):
        with pytest.raises(ValueError, match="more than 4,000,000 values"):
            parse_json(text)


def test_a_log_of_more_cells_than_fit_in_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for line in ("\n", "1,1,1,1,1\n"):
        path.write_text("round,frames,seconds,return,success\n" + line * (MOST_CELLS // len(line.split(","))))
        with pytest.raises(RunError, match="more than 8,000,000 cells"):
            log_lines(path)


@pytest.mark.parametrize("kind", ["pipe", "zeros", "hole", "folder", "loop"])
def test_what_is_no_file_or_too_long_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "zeros":
            path.symlink_to("/dev/zero")
        case "hole":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
    with pytest.raises((ValueError, OSError)):
        read_whole(path, 100)
    with pytest.raises(RunError, match=r"log\.csv cannot be read: .*; leave this run out"):
        log_lines(path)


def test_what_the_shell_pipes_in_is_read() -> None:
    words = [
        "bash",
        "-c",
        f"{sys.executable} -m srm draw <(echo 'machine m'; echo 'start s'; echo 'accept e') --format svg -o -",
    ]
    assert "<svg" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_what_a_message_takes_over_from_a_file_gives_a_terminal_no_orders(run: Path) -> None:
    path = run / "config.json"
    path.write_text(path.read_text().replace('"learn"', json.dumps("\x1b[2Ja\nb"), 1))
    with pytest.raises(RunError, match=r"srm \\x1b\[2Ja\\nb`"):
        RunResult.read(run)
    assert str(RunError("a\x1b[2J\u202eb")) == r"a\x1b[2J\u202eb"
