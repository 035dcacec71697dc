from __future__ import annotations

import csv
import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from srm.errors import DemonstrationError, RunError
from srm.runs import folder as module
from srm.runs.folder import (
    FORMAT,
    RunWriter,
    checkpoints,
    last_checkpoint,
    policy_file,
    read_config,
    read_weights,
    write_weights,
)

WEIGHTS = {"a": np.arange(3, dtype=np.float32), "b": np.array(2.5, np.float32)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open() as file:
        return list(csv.DictReader(file))


def begun(folder: Path, rounds: int, saved: int) -> RunWriter:
    """A run with so many rows, and a checkpoint after round `saved`."""
    writer = RunWriter.create(folder, {"kind": "train"})
    for index in range(1, rounds + 1):
        writer.row({"round": index, "frames": 100 * index, "return": index / 3})
        if index == saved:
            writer.checkpoint(WEIGHTS, {"round": index, "frames": 100 * index})
    return writer


def test_a_run_is_never_overwritten(folder: Path) -> None:
    RunWriter.create(folder, {}).close()
    with pytest.raises(RunError, match=f"--resume {folder}"):
        RunWriter.create(folder, {})


def test_a_run_appears_whole(folder: Path) -> None:
    RunWriter.create(folder, {"seed": 3}, {"machine.srm": "machine m\n"}).close()
    assert read_config(folder) == {"format": FORMAT, "seed": 3}
    assert (folder / "machine.srm").read_text() == "machine m\n"
    assert [path.name for path in folder.parent.iterdir()] == ["first"]


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    write_weights(tmp_path / "w.safetensors", WEIGHTS, {"round": 7})
    tensors, about = read_weights(tmp_path / "w.safetensors")
    assert about == {"round": 7}
    assert {name: value.tolist() for name, value in tensors.items()} == {"a": [0, 1, 2], "b": 2.5}


@pytest.mark.parametrize("length", [0, 5, 40, -1])
def test_truncated_weights_are_refused_by_name(tmp_path: Path, length: int) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, WEIGHTS, {})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(RunError, match=r"w\.safetensors: it is truncated"):
        read_weights(path)


def test_weights_of_another_program_are_refused_by_name(tmp_path: Path) -> None:
    save_file(WEIGHTS, tmp_path / "w.safetensors")
    with pytest.raises(RunError, match="another program wrote"):
        read_weights(tmp_path / "w.safetensors")
    (tmp_path / "pickle.pt").write_bytes(b"\x80\x04\x95 not weights")
    with pytest.raises(RunError, match=r"pickle\.pt: it is truncated, or no weights"):
        read_weights(tmp_path / "pickle.pt")


def test_the_last_two_checkpoints_are_kept(folder: Path) -> None:
    writer = begun(folder, rounds=0, saved=0)
    for index in (1, 5, 11):
        writer.checkpoint(WEIGHTS, {"round": index, "frames": index})
    assert [path.name for path in checkpoints(folder)] == ["round-00000005.safetensors", "round-00000011.safetensors"]
    found = last_checkpoint(folder)
    assert found is not None
    assert found.state == {"round": 11, "frames": 11}


def test_a_resumed_log_goes_on_after_the_checkpoint(folder: Path) -> None:
    begun(folder, rounds=5, saved=3).close()
    writer, checkpoint = RunWriter.resume(folder)
    assert checkpoint is not None
    assert checkpoint.state["round"] == 3
    writer.row({"round": 4, "frames": 444, "return": float("nan")})
    found = rows_of(folder)
    assert [row["round"] for row in found] == ["1", "2", "3", "4"]
    assert (found[3]["frames"], found[3]["return"], found[0]["return"]) == ("444", "", "0.333333")


def test_a_column_that_comes_later_is_empty_before(folder: Path) -> None:
    writer = begun(folder, rounds=2, saved=2)
    writer.row({"round": 3, "frames": 300, "return": 1.0, "loss": 0.5, "norm": 2})
    writer.row({"round": 4, "frames": 400, "return": 1.0})
    assert [(row["round"], row["loss"], row["norm"]) for row in rows_of(folder)] == [
        ("1", "", ""), ("2", "", ""), ("3", "0.5", "2"), ("4", "", ""),
    ]  # fmt: skip


def test_a_run_that_went_on_after_its_end_is_no_longer_what_it_ended_as(folder: Path) -> None:
    writer = begun(folder, rounds=2, saved=2)
    write_weights(folder / "policy.safetensors", WEIGHTS, {})
    writer.finish({"frames": 200})
    writer.close()
    again, _ = RunWriter.resume(folder)
    assert policy_file(folder) == folder / "policy.safetensors"
    newer = again.checkpoint(WEIGHTS, {"round": 3, "frames": 300})
    assert policy_file(folder) == newer
    assert not (folder / "summary.json").exists()


def test_a_torn_row_is_cut_off(folder: Path) -> None:
    begun(folder, rounds=3, saved=3).close()
    path = folder / "log.csv"
    path.write_text(path.read_text() + "4,40")
    RunWriter.resume(folder)[0].close()
    assert [row["round"] for row in rows_of(folder)] == ["1", "2", "3"]


def test_a_run_killed_before_its_first_checkpoint_begins_again(folder: Path) -> None:
    begun(folder, rounds=2, saved=0).close()
    writer, checkpoint = RunWriter.resume(folder)
    assert checkpoint is None
    assert rows_of(folder) == []
    writer.row({"round": 1, "frames": 1, "return": 0.0})
    assert len(rows_of(folder)) == 1


def test_leftovers_of_a_killed_write_are_swept_away(folder: Path) -> None:
    begun(folder, rounds=1, saved=1).close()
    leftover = folder / "checkpoint" / ".round-00000002.safetensors.part"
    leftover.write_bytes(b"half")
    RunWriter.resume(folder)
    assert not leftover.exists()


@pytest.mark.parametrize("damage", [b"a,b\n1,2\n", b"\xff\xfe\n", b"round,frames\nx,2\n", b"frames,round\n1\n"])
def test_a_damaged_log_is_refused_with_what_to_do(folder: Path, damage: bytes) -> None:
    begun(folder, rounds=3, saved=3).close()
    (folder / "log.csv").write_bytes(damage)
    for _ in range(2):  # and nobody holds the run afterwards
        with pytest.raises(RunError, match=r"log\.csv (is damaged|cannot be read: .*); move it away to go on"):
            RunWriter.resume(folder)
    (folder / "log.csv").unlink()
    RunWriter.resume(folder)[0].close()


def test_a_damaged_checkpoint_is_refused_with_what_is_left(folder: Path) -> None:
    writer = begun(folder, rounds=0, saved=0)
    for index in (1, 2):
        writer.checkpoint(WEIGHTS, {"round": index, "frames": index})
    writer.close()
    for path, told in zip(
        reversed(checkpoints(folder)), ("go on from the checkpoint before", "the run to begin anew"), strict=True
    ):
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(RunError, match=rf"{path.name}: it is truncated.*; delete it (to|for) {told}"):
            RunWriter.resume(folder)
        path.unlink()
    assert RunWriter.resume(folder)[1] is None


def test_a_run_kept_without_checkpoints_is_not_begun_anew_in_its_place(folder: Path) -> None:
    begun(folder, rounds=2, saved=1).close()
    shutil.rmtree(folder / "checkpoint")
    log = (folder / "log.csv").read_text()
    with pytest.raises(RunError, match="kept without its checkpoints"):
        RunWriter.resume(folder)
    assert (folder / "log.csv").read_text() == log


def test_two_writers_of_one_run_are_refused(folder: Path) -> None:
    writer = begun(folder, rounds=1, saved=1)
    with pytest.raises(RunError, match="another process"):
        RunWriter.resume(folder)
    writer.close()
    RunWriter.resume(folder)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file is a file; give the folder of a run"):
        RunWriter.resume(tmp_path / "file")
    with pytest.raises(RunError, match="is not a run"):
        RunWriter.resume(tmp_path)
    (tmp_path / "config.json").write_text("[1, 2")
    with pytest.raises(RunError, match="cannot be read"):
        read_config(tmp_path)


def test_a_run_appears_with_all_that_it_needs_or_not_at_all(folder: Path) -> None:
    def fill(part: Path) -> None:
        (part / "demonstrations.npz").write_bytes(b"half")
        raise DemonstrationError("the disk is full")

    with pytest.raises(DemonstrationError):
        RunWriter.create(folder, {}, fill=fill)
    assert not list(folder.parent.iterdir())


def test_a_full_disk_is_one_line_and_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = begun(folder, rounds=1, saved=1)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(RunError, match="No space left on device; what was saved before is whole") as problem:
        writer.checkpoint(WEIGHTS, {"round": 2, "frames": 2})
    assert "\n" not in str(problem.value)
    found = last_checkpoint(folder)
    assert found is not None
    assert found.state["round"] == 1
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"versions": {"srm": "0.1.0"}}, "was written by version 0.1.0, in format 1, and this version reads format 2"),
        ({"format": 3, "versions": {"symbolic-reward-machines": "0.9.1"}}, r"by version 0\.9\.1, in format 3"),
        ({"versions": {"python": "3.11"}}, "was written by another version, in format 1"),
    ],
)
def test_a_run_of_another_format_is_refused_with_the_version_that_wrote_it(
    changes: dict[str, object], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"kind": "train"} | changes))
    for read in (read_config, RunWriter.resume, policy_file):
        with pytest.raises(RunError, match=f"{tmp_path} .*{problem}.*make the run again"):
            read(tmp_path)
