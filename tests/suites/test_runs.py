"""Runs of a suite side by side, in the order in which machines become known, here and on a cluster whose nodes die."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from srm.errors import RunError
from srm.runs.folder import RunWriter
from srm.suites.local import start_process
from srm.suites.runs import Reached, SuiteRun, claimed, command_of, last_line, reached, runs_of
from srm.suites.scheduler import RunProgress, schedule
from srm.suites.suite import Suite, curve

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "learnt": "train doorkey --reward learnt:learn",
    "plain": "train doorkey",
    "learn": "learn doorkey",
}
SMALL = "--ppo.num-envs 4 --ppo.num-steps 16 --ppo.epochs 1 --ppo.minibatches 2 --network.width 16"


def suite(**commands: str) -> Suite:
    return Suite("small", "Small", {name: curve(name, command) for name, command in commands.items()})


class Instant:
    """Rows end as soon as they are looked at; those of a curve in `failing` without a summary."""

    def __init__(self, slots: int, failing: str = "") -> None:
        self.slots, self.failing = slots, failing
        self.begun: list[str] = []
        self.most = 0
        self.stopped = self.closed = False
        self._runs: list[SuiteRun] = []

    @property
    def running(self) -> frozenset[SuiteRun]:
        return frozenset(self._runs)

    def start(self, run: SuiteRun) -> None:
        self._runs.append(run)
        self.begun.append(str(run))
        self.most = max(self.most, len(self._runs))

    def ended(self) -> list[tuple[SuiteRun, int]]:
        runs, self._runs = self._runs, []
        for run in runs:
            run.folder.mkdir(parents=True, exist_ok=True)
            if run.curve == self.failing:
                run.log.write_text("$ srm train\nfirst\nno such machine; mend it\n")
            elif not self.stopped:
                (run.folder / "summary.json").write_text("{}")
        return [(run, 1 if run.curve == self.failing else 0) for run in runs]

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None:
        self.closed = True


def states(progress: tuple[RunProgress, ...]) -> dict[str, str]:
    return {str(each.run): each.state for each in progress}


def test_a_machine_is_learnt_before_it_pays_and_no_more_runs_run_than_there_are_slots(tmp_path: Path) -> None:
    executor = Instant(slots=2)
    *_, last = schedule(runs_of(suite(**COMMANDS), tmp_path, 2), executor, pause=0)
    assert set(states(last).values()) == {"finished"}
    assert executor.most == 2
    assert executor.closed
    assert executor.begun.index("learn seed 1") < executor.begun.index("learnt seed 1")
    assert executor.begun[0] == "learn seed 0"


def test_a_failed_run_stops_only_those_that_need_it(tmp_path: Path) -> None:
    *_, last = schedule(runs_of(suite(**COMMANDS), tmp_path, 1), Instant(2, failing="learn"), pause=0)
    assert states(last) == {"learn seed 0": "failed", "plain seed 0": "finished", "learnt seed 0": "blocked"}
    problems = {each.run.curve: each.problem for each in last}
    assert problems == {"learn": "no such machine; mend it", "plain": "", "learnt": "needs what learn seed 0 learns"}


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    runs = runs_of(suite(**COMMANDS), tmp_path, 1)
    list(schedule(runs, Instant(1), pause=0))
    again = Instant(1)
    *_, last = schedule(runs, again, pause=0)
    assert again.begun == []
    assert set(states(last).values()) == {"finished"}


def test_when_stopped_nothing_begins_and_runs_are_told_once(tmp_path: Path) -> None:
    executor = Instant(1)
    *_, last = schedule(runs_of(suite(**COMMANDS), tmp_path, 1), executor, lambda: len(executor.begun) == 1, pause=0)
    assert states(last) == {"learn seed 0": "stopped", "plain seed 0": "waiting", "learnt seed 0": "waiting"}


def test_a_run_goes_on_from_its_checkpoint_and_begins_anew_without_one(tmp_path: Path) -> None:
    (run,) = runs_of(suite(plain="train doorkey"), tmp_path, 1)
    begin = ["train", "doorkey", "--seed", "0", "-o", str(run.folder)]
    assert command_of(run) == begin
    writer = RunWriter.create(run.folder, {})
    part = run.folder.with_name(".seed0.7.part")
    part.mkdir()
    assert command_of(run) == begin
    assert list(run.folder.parent.iterdir()) == []
    writer = RunWriter.create(run.folder, {})
    writer.checkpoint({}, {"round": 1, "frames": 10})
    assert command_of(run) == ["train", "--resume", str(run.folder)]
    assert run.folder.exists()


def test_progress_is_the_last_whole_line_of_the_log(tmp_path: Path) -> None:
    (run,) = runs_of(suite(plain="train doorkey"), tmp_path, 1)
    assert reached(run) == Reached()
    writer = RunWriter.create(run.folder, {})
    writer.row({"round": 1, "frames": 64, "seconds": 0.5, "return": None})
    assert reached(run) == Reached(64, 0.5, None)
    for index in range(2, 3000):
        writer.row({"round": index, "frames": 64 * index, "seconds": 0.5 * index, "return": 0.25})
    with (run.folder / "log.csv").open("a") as file:
        file.write("3000,19")
    assert reached(run) == Reached(64 * 2999, 1499.5, 0.25)
    assert RunProgress(run, "running", Reached(250_000, 10.0)).remaining == 30


@pytest.mark.parametrize(
    "log",
    [
        b"", b"\xff\n\xff\n", b"round,frames\n1,2\n", b"frames,seconds\nmany,1\n", b"frames,seconds\n1,nan\n",
        b"frames,seconds\n" + b"9" * 400 + b",1\n", b'frames,seconds\n"1\n', b"frames,seconds\n-5,1\n",
    ],
)  # fmt: skip
def test_a_damaged_log_tells_no_progress_and_ends_nothing(log: bytes, tmp_path: Path) -> None:
    (run,) = runs_of(suite(plain="train doorkey"), tmp_path, 1)
    run.folder.mkdir(parents=True)
    (run.folder / "log.csv").write_bytes(log)
    assert reached(run) == Reached()


def test_a_row_imports_no_module_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "struct.py").write_text("open('imported', 'w')")
    (run,) = runs_of(suite(a="train DoorKey-5x5 --frames 64 --ppo.num-envs 4 --ppo.num-steps 16"), Path("out"), 1)
    assert start_process(run, tmp_path).wait() == 0
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("error", [ConnectionError("no\nanswer"), RuntimeError("no"), ValueError("no"), OSError("no")])
def test_a_ray_that_cannot_start_is_told_in_one_line(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = pytest.importorskip("srm.suites.cluster")

    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(cluster.ray, "init", refuse)
    with pytest.raises(RunError, match=r"^Ray cannot start here \(no\)$"):
        cluster.RayTune(tmp_path)
    with pytest.raises(RunError, match=r"^--address a:1: no Ray cluster answers there \(no\)$"):
        cluster.RayTune(tmp_path, "a:1")


def test_a_run_that_cannot_be_started_fails_alone(tmp_path: Path) -> None:
    class Refusing(Instant):
        def start(self, run: SuiteRun) -> None:
            if run.curve == "learn":
                raise PermissionError("seed0 cannot be deleted")
            super().start(run)

    *_, last = schedule(runs_of(suite(**COMMANDS), tmp_path, 1), Refusing(1), pause=0)
    assert states(last) == {"learn seed 0": "failed", "plain seed 0": "finished", "learnt seed 0": "blocked"}
    assert last[0].problem == "seed0 cannot be deleted"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"curves": []}', '{"curves": {"a": 1}}', "[" * 100_000])
def test_a_suite_file_that_is_none_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(text)
    with pytest.raises(RunError) as caught, claimed(suite(a="train doorkey"), tmp_path):
        pass
    assert str(caught.value).startswith(f"{tmp_path / 'suite.json'}")
    assert str(caught.value).endswith("; delete it, or choose another -o")
    assert "\n" not in str(caught.value)


def test_a_run_that_was_kept_without_its_checkpoints_is_neither_begun_anew_nor_lost(tmp_path: Path) -> None:
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
    with pytest.raises(RunError, match="holds runs of `train doorkey --net lstm`"), claimed(first, out):
        pass
    RunWriter.create(tmp_path / "run", {}).close()
    with pytest.raises(RunError, match="is a single run; give the suite another -o"), claimed(first, tmp_path / "run"):
        pass


@pytest.mark.parametrize("place", ["a", "a/seed0"])
def test_a_run_that_is_a_link_is_neither_gone_on_with_nor_begun_anew(place: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    RunWriter.create(mine / "seed0", {}).close()
    link = tmp_path / "out" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(mine if place == "a" else mine / "seed0")
    with pytest.raises(RunError, match=f"{place} is a link"), claimed(suite(a="train doorkey"), tmp_path / "out"):
        pass
    assert (mine / "seed0" / "config.json").exists()


def test_what_a_run_printed_gives_a_terminal_no_orders(tmp_path: Path) -> None:
    (run,) = runs_of(suite(a="train doorkey"), tmp_path, 1)
    run.log.parent.mkdir()
    run.log.write_text("\x1b[2Jdone\n")
    assert last_line(run) == r"\x1b[2Jdone"


def test_what_a_run_saved_on_a_cluster_replaces_what_is_here(tmp_path: Path) -> None:
    cluster = pytest.importorskip("srm.suites.cluster")
    (run,) = runs_of(suite(plain="train doorkey"), tmp_path, 1)
    node = tmp_path / "node"

    def fetch(**files: bytes) -> set[str]:
        """Fetches a checkpoint of these files; what is here then."""
        for name, content in files.items():
            (node / name).parent.mkdir(parents=True, exist_ok=True)
            (node / name).write_bytes(content)
        cluster.fetch(cluster.tune.Checkpoint.from_directory(node), run)
        shutil.rmtree(node)
        parent = run.folder.parent
        return {str(path.relative_to(parent)) for path in parent.rglob("*") if path.is_file()}

    run.folder.parent.mkdir()
    assert fetch(**{"seed0.log": b"", "seed0/config.json": b"{}"}) == {"seed0.log", "seed0/config.json"}
    with claimed(suite(plain="train doorkey"), tmp_path):  # it may be taken up before it has saved anything
        pass
    old, new = (f"seed0/checkpoint/round-0000000{n}.safetensors" for n in (1, 2))
    fetch(**{"seed0/log.csv": b"a", old: b"1"})
    assert fetch(**{"seed0.log": b"b", "seed0/log.csv": b"aa", new: b"2"}) == {"seed0.log", "seed0/log.csv", new}
    assert run.log.read_bytes() == b"b"
    assert (run.folder / "log.csv").read_bytes() == b"aa"


def test_a_cluster_gets_the_files_that_a_command_names_and_of_a_run_its_policy(tmp_path: Path) -> None:
    files_named = pytest.importorskip("srm.suites.cluster").files_named
    machine, run = tmp_path / "learnt.srm", tmp_path / "run"
    machine.write_text("machine m")
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / "policy.safetensors").write_bytes(b"")
    (run / "log.csv").write_text("")
    assert files_named(machine) == [machine]
    assert files_named(run) == [run / "config.json", run / "policy.safetensors"]
    assert files_named(tmp_path) == files_named(Path("--frames")) == []


def test_a_storage_that_cannot_be_is_refused_before_ray_starts() -> None:
    cluster = pytest.importorskip("srm.suites.cluster")
    with pytest.raises(RunError, match=r"^--storage nowhere://x: .*nowhere"):
        cluster.RayTune("nowhere://x")


CLUSTER = """
    from pathlib import Path
    from ray.cluster_utils import Cluster
    from srm.suites.scheduler import schedule
    from srm.suites.runs import runs_of
    from srm.runs.folder import checkpoints
    from srm.suites.cluster import RayTune
    from srm.suites.suite import Suite, curve

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        second = cluster.add_node(num_cpus=1)
        command = "train DoorKey-5x5 --frames 60000 --checkpoint-seconds 0.2 SMALL"
        runs = runs_of(Suite("small", "Small", {"plain": curve("plain", command)}), Path("out"), 2)
        killed = False
        for progress in schedule(runs, RayTune("out", cluster.address, every=0.5)):
            if not killed and all(checkpoints(run.folder) for run in runs):
                assert not any(run.finished for run in runs)
                cluster.remove_node(second, allow_graceful=False)
                killed = True
        print(killed, *(each.state for each in progress))
    finally:
        cluster.shutdown()
"""


@pytest.mark.slow
def test_every_run_is_finished_although_a_node_of_the_cluster_dies(tmp_path: Path) -> None:
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
