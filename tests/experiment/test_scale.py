"""Rows run side by side, in the order in which machines become known, here and on a cluster whose nodes die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from srm.errors import ExtraError, RunError
from srm.experiment.conduct import RowStand, conduct
from srm.experiment.rows import Reached, Row, claimed, reached, rows_of, words_to_run
from srm.experiment.run import RunWriter
from srm.experiment.scale import Keeper, OnRay, _read_of
from srm.experiment.suite import Suite, curve

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "learnt": "train doorkey --reward learnt:learn",
    "plain": "train doorkey",
    "learn": "learn doorkey",
}
SMALL = "--ppo.worlds 4 --ppo.steps 16 --ppo.epochs 1 --ppo.minibatches 2 --network.width 16"


def suite(**commands: str) -> Suite:
    return Suite("small", "Small", {name: curve(name, command) for name, command in commands.items()})


class Instant:
    """Rows end as soon as they are looked at; those of a curve in `failing` without a summary."""

    def __init__(self, slots: int, failing: str = "") -> None:
        self.slots, self.failing = slots, failing
        self.begun: list[str] = []
        self.most = 0
        self.asked = self.closed = False
        self._rows: list[Row] = []

    @property
    def running(self) -> frozenset[Row]:
        return frozenset(self._rows)

    def start(self, row: Row) -> None:
        self._rows.append(row)
        self.begun.append(str(row))
        self.most = max(self.most, len(self._rows))

    def ended(self) -> list[tuple[Row, int]]:
        rows, self._rows = self._rows, []
        for row in rows:
            row.folder.mkdir(parents=True, exist_ok=True)
            if row.curve == self.failing:
                row.log.write_text("$ srm train\nfirst\nno such machine; mend it\n")
            elif not self.asked:
                (row.folder / "summary.json").write_text("{}")
        return [(row, 1 if row.curve == self.failing else 0) for row in rows]

    def stop(self) -> None:
        self.asked = True

    def close(self) -> None:
        self.closed = True


def states(stands: tuple[RowStand, ...]) -> dict[str, str]:
    return {str(stand.row): stand.state for stand in stands}


def test_a_machine_is_learnt_before_it_pays_and_no_more_rows_run_than_there_are_places(tmp_path: Path) -> None:
    executor = Instant(slots=2)
    *_, last = conduct(rows_of(suite(**COMMANDS), tmp_path, 2), executor, pause=0)
    assert set(states(last).values()) == {"finished"}
    assert executor.most == 2
    assert executor.closed
    assert executor.begun.index("learn seed 1") < executor.begun.index("learnt seed 1")
    assert executor.begun[0] == "learn seed 0"


def test_a_failed_row_stops_only_those_that_need_it(tmp_path: Path) -> None:
    *_, last = conduct(rows_of(suite(**COMMANDS), tmp_path, 1), Instant(2, failing="learn"), pause=0)
    assert states(last) == {"learn seed 0": "failed", "plain seed 0": "finished", "learnt seed 0": "blocked"}
    told = {stand.row.curve: stand.told for stand in last}
    assert told == {"learn": "no such machine; mend it", "plain": "", "learnt": "needs what learn seed 0 learns"}


def test_finished_rows_are_not_run_again(tmp_path: Path) -> None:
    rows = rows_of(suite(**COMMANDS), tmp_path, 1)
    list(conduct(rows, Instant(1), pause=0))
    again = Instant(1)
    *_, last = conduct(rows, again, pause=0)
    assert again.begun == []
    assert set(states(last).values()) == {"finished"}


def test_asked_to_stop_nothing_begins_and_rows_are_told_once(tmp_path: Path) -> None:
    executor = Instant(1)
    *_, last = conduct(rows_of(suite(**COMMANDS), tmp_path, 1), executor, lambda: len(executor.begun) == 1, pause=0)
    assert states(last) == {"learn seed 0": "stopped", "plain seed 0": "waiting", "learnt seed 0": "waiting"}


def test_a_row_goes_on_from_its_checkpoint_and_begins_anew_without_one(tmp_path: Path) -> None:
    (row,) = rows_of(suite(plain="train doorkey"), tmp_path, 1)
    begin = ["train", "doorkey", "--seed", "0", "-o", str(row.folder)]
    assert words_to_run(row) == begin
    writer = RunWriter.create(row.folder, {})
    part = row.folder.with_name(".seed0.7.part")
    part.mkdir()
    assert words_to_run(row) == begin
    assert list(row.folder.parent.iterdir()) == []
    writer = RunWriter.create(row.folder, {})
    writer.checkpoint({}, {"round": 1, "frames": 10})
    assert words_to_run(row) == ["train", "--resume", str(row.folder)]
    assert row.folder.exists()


def test_progress_is_the_last_whole_line_of_the_log(tmp_path: Path) -> None:
    (row,) = rows_of(suite(plain="train doorkey"), tmp_path, 1)
    assert reached(row) == Reached()
    writer = RunWriter.create(row.folder, {})
    writer.row({"round": 1, "frames": 64, "seconds": 0.5, "return": None})
    assert reached(row) == Reached(64, 0.5, None)
    for index in range(2, 3000):
        writer.row({"round": index, "frames": 64 * index, "seconds": 0.5 * index, "return": 0.25})
    with (row.folder / "log.csv").open("a") as file:
        file.write("3000,19")
    assert reached(row) == Reached(64 * 2999, 1499.5, 0.25)
    assert RowStand(row, "running", Reached(250_000, 10.0)).left == 30


def test_a_row_that_was_kept_without_its_checkpoints_is_neither_begun_anew_nor_lost(tmp_path: Path) -> None:
    kept = tmp_path / "a" / "seed0"
    RunWriter.create(kept, {}).close()
    (kept / "checkpoint").rmdir()  # as `srm report --keep` leaves it
    with (
        pytest.raises(RunError, match="seed0 was kept without its checkpoints"),
        claimed(suite(a="train doorkey"), tmp_path),
    ):
        pass
    assert (kept / "config.json").exists()
    (kept / "summary.json").write_text("{}")
    with claimed(suite(a="train doorkey"), tmp_path):  # one that is finished may stay
        pass


def test_a_folder_keeps_to_its_commands_and_to_one_suite_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, other = suite(a="train doorkey", b="train doorkey"), suite(a="train doorkey --net lstm")
    with claimed(first, out), pytest.raises(RunError, match="is being written by another"), claimed(first, out):
        pass
    about = {"name": "small", "title": "Small", "scale": 1.0, "curves": {"a": "train doorkey", "b": "train doorkey"}}
    assert json.loads((out / "suite.json").read_text()) == about
    with claimed(other, out):  # nothing has been run yet
        pass
    (out / "a" / "seed0").mkdir(parents=True)
    with pytest.raises(RunError, match="holds rows of `train doorkey --net lstm`"), claimed(first, out):
        pass
    RunWriter.create(tmp_path / "run", {}).close()
    with pytest.raises(RunError, match="is a single run; give the suite another -o"), claimed(first, tmp_path / "run"):
        pass


def test_what_a_row_sends_replaces_what_is_there_and_a_writer_thought_dead_is_turned_away(tmp_path: Path) -> None:
    (row,) = rows_of(suite(plain="train doorkey"), Path("out"), 1)
    keeper = Keeper(tmp_path)
    assert keeper.fetch(row, "first") == {"seed0.log": b""}
    assert keeper.keep(row, "first", ["seed0/config.json"], {"seed0/config.json": b"{}"})
    with claimed(suite(plain="train doorkey"), tmp_path / "out"):  # it may be taken up before it has saved anything
        pass
    old, new = (f"seed0/checkpoint/round-0000000{n}.safetensors" for n in (1, 2))
    assert keeper.keep(row, "first", ["seed0/log.csv", old], {"seed0/log.csv": b"a", old: b"1"})
    assert keeper.fetch(row, "second") == {"seed0.log": b"", "seed0/log.csv": b"a", old: b"1"}
    assert not keeper.keep(row, "first", [new], {new: b"0"})
    assert keeper.keep(row, "second", ["seed0/log.csv", new], {new: b"2"})
    assert keeper.fetch(row, "third") == {"seed0.log": b"", "seed0/log.csv": b"a", new: b"2"}
    assert keeper.stop() == {row.folder}
    assert keeper.fetch(row, "fourth") is None


def test_a_cluster_is_sent_the_files_that_a_command_names_and_of_a_run_its_policy(tmp_path: Path) -> None:
    machine, run = tmp_path / "learnt.srm", tmp_path / "run"
    machine.write_text("machine m")
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / "policy.safetensors").write_bytes(b"")
    (run / "log.csv").write_text("")
    assert _read_of(machine) == [machine]
    assert _read_of(run) == [run / "config.json", run / "policy.safetensors"]
    assert _read_of(tmp_path) == _read_of(Path("--frames")) == []


def test_a_missing_ray_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ExtraError, match=r'pip install "symbolic-reward-machines\[ray\]"'):
        OnRay()


CLUSTER = """
    from pathlib import Path
    from ray.cluster_utils import Cluster
    from srm.experiment.conduct import conduct
    from srm.experiment.rows import rows_of
    from srm.experiment.run import checkpoints
    from srm.experiment.scale import OnRay
    from srm.experiment.suite import Suite, curve

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        second = cluster.add_node(num_cpus=1)
        command = "train DoorKey-5x5 --frames 60000 --checkpoint-seconds 0.2 SMALL"
        rows = rows_of(Suite("small", "Small", {"plain": curve("plain", command)}), Path("out"), 2)
        killed = False
        for stands in conduct(rows, OnRay(cluster.address, every=0.5)):
            if not killed and all(checkpoints(row.folder) for row in rows):
                assert not any(row.finished for row in rows)
                cluster.remove_node(second, allow_graceful=False)
                killed = True
        print(killed, *(stand.state for stand in stands))
    finally:
        cluster.shutdown()
"""


@pytest.mark.slow
def test_every_row_is_finished_although_a_node_of_the_cluster_dies(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    script = textwrap.dedent(CLUSTER).replace("SMALL", SMALL)
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": "/tmp",  # sockets need a short path
        "TMPDIR": str(tmp_path),  # a killed node leaves its scratch folder
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True finished finished"
    logs = [(tmp_path / "out" / "plain" / f"seed{seed}.log").read_text() for seed in (0, 1)]
    assert sorted(log.count("--resume out/plain/seed") for log in logs) == [0, 1]  # one went on elsewhere
    for seed in (0, 1):
        lines = (tmp_path / "out" / "plain" / f"seed{seed}" / "log.csv").read_text().splitlines()
        assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(1, len(lines)))
