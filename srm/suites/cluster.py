"""Runs of a suite on a Ray cluster, as trials of Ray Tune, which places them, keeps their checkpoints and retries them.

A run runs in a scratch folder of its node. Every few seconds its folder becomes a checkpoint of its trial in Ray Tune's storage,
and from there it is fetched to where the run belongs here. A trial whose node dies begins elsewhere with its last checkpoint.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.fs
import ray
from ray import tune
from ray.tune.search import Searcher
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from srm.errors import RunError
from srm.files import MOST_WEIGHTS, appending, read_whole
from srm.runs.folder import CHECKPOINTS, CONFIG, SUMMARY, policy_file
from srm.suites.local import STOPPED, start_process
from srm.suites.runs import SuiteRun

RETRIES = 10  # of a run whose node or worker died; a run that fails by itself is not tried again
EXPERIMENT = ".ray"  # the folder of all trials in the storage
RUN = "run"  # of a trial's config
_TUNE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",  # prints tables of its own, whatever `verbose` says
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the run folders are the log
    "TUNE_MAX_PENDING_TRIALS_PG": "16",  # begun at the same time; Ray Tune's own 1 would fill a hundred cores in minutes
}


class RayTune:
    """An executor: runs begin as Ray has room for them, on nodes where `srm` is installed."""

    slots = sys.maxsize  # Ray keeps the queue, and knows which nodes come and go

    def __init__(self, storage: str | Path, address: str | None = None, every: float = 10.0) -> None:
        self._storage = str(storage) if "://" in str(storage) else str(Path(storage).absolute())
        self._delete_trials()
        os.environ.update(_TUNE)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            place = f"--address {address}: no Ray cluster answers there" if address else "Ray cannot start here"
            raise RunError(f"{place} ({str(error).partition(chr(10))[0]})") from None
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # why a trial was given up is written to its log
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._desk: Any = ray.remote(Desk).options(num_cpus=0, scheduling_strategy=here).remote(Path.cwd())
        self._callback = TrialCallback()
        self._runs: set[SuiteRun] = set()
        self._thread = threading.Thread(target=self._tune, args=(every,), daemon=True)
        self._thread.start()

    @property
    def running(self) -> frozenset[SuiteRun]:
        return frozenset(self._runs)

    def start(self, run: SuiteRun) -> None:
        for word in run.words:
            files_named(Path(word))  # what is missing is refused here, not by every retry
        self._runs.add(run)
        self._callback.queue.append(run)

    def ended(self) -> list[tuple[SuiteRun, int]]:
        if self._callback.error is not None:
            raise RunError(f"Ray Tune ended before its runs: {self._callback.error}; the same command goes on")
        codes = []
        while self._callback.ended:
            run, code = self._callback.ended.popleft()
            if run in self._runs:
                self._runs.remove(run)
                codes.append((run, code))
        return codes

    def stop(self) -> None:
        self._callback.stopping = True
        with suppress(ray.exceptions.RayError):  # the cluster is gone, which `ended` raises
            ray.get(self._desk.stop.remote())
        self._callback.ended.extend((run, STOPPED) for run in self._runs - self._callback.begun)

    def close(self) -> None:
        self._callback.stopping = True
        if not self._runs:
            self._thread.join(timeout=10)  # a trial that still waits for a core is given up
        ray.shutdown()
        if not self._runs:
            self._delete_trials()

    def _tune(self, every: float) -> None:
        """Runs in a thread of its own until there is nothing to begin any more."""
        try:
            tune.Tuner(
                tune.with_resources(RunTrial, {"cpu": 1}),
                param_space={"desk": self._desk, "every": every},
                tune_config=tune.TuneConfig(
                    search_alg=Queue(self._callback),
                    num_samples=-1,
                    trial_dirname_creator=lambda trial: trial.trial_id,
                ),
                run_config=tune.RunConfig(
                    name=EXPERIMENT,
                    storage_path=self._storage,
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    checkpoint_config=tune.CheckpointConfig(num_to_keep=1, checkpoint_frequency=1),
                    callbacks=[self._callback],
                    verbose=0,
                ),
            ).fit()
        except Exception as error:  # in a thread nobody would see it; `ended` raises it
            self._callback.error = error

    def _delete_trials(self) -> None:
        """What runs have saved is here by now."""
        try:
            filesystem, path = pyarrow.fs.FileSystem.from_uri(self._storage)
            filesystem.delete_dir(f"{path}/{EXPERIMENT}")
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise RunError(f"--storage {self._storage}: {error}") from None


class TrialCallback(tune.Callback):
    """What the threads of the suite and of Ray Tune tell each other."""

    def __init__(self) -> None:
        self.queue: deque[SuiteRun] = deque()
        self.begun: set[SuiteRun] = set()
        self.ended: deque[tuple[SuiteRun, int]] = deque()
        self.stopping = False
        self.error: Exception | None = None  # that ends all

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        run = trial.config[RUN]
        run.log.parent.mkdir(parents=True, exist_ok=True)
        with appending(run.log):
            pass
        self.begun.add(run)

    def on_checkpoint(self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any) -> None:
        try:
            fetch(checkpoint, trial.config[RUN])
        except OSError as error:  # this disk is full, or the storage is gone; Ray Tune would only log it
            self.error = error

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.ended.append((trial.config[RUN], trial.last_result["code"]))

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        run = trial.config[RUN]
        run.log.parent.mkdir(parents=True, exist_ok=True)
        with appending(run.log) as file:
            os.write(file, f"{trial.get_error()}\n".encode())
        self.ended.append((run, 1))


class Queue(Searcher):
    """Gives Ray Tune the runs to begin, one at a time as cores get free."""

    def __init__(self, callback: TrialCallback) -> None:
        super().__init__()
        self._callback = callback

    def suggest(self, trial_id: str) -> Any:
        if self._callback.stopping:
            return Searcher.FINISHED
        return {RUN: self._callback.queue.popleft()} if self._callback.queue else None

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        pass

    def save(self, checkpoint_path: str) -> None:
        pass

    def restore(self, checkpoint_path: str) -> None:
        pass


class Desk:
    """Lives beside the suite as a Ray actor: hands out the files a run begins with, and says when runs shall stop."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._stopping = False

    def files(self, run: SuiteRun) -> dict[Path, bytes]:
        """What its command names, and what it has saved so far."""
        os.chdir(self._base)
        saved = [path for path in [*run.folder.rglob("*"), run.log] if path.is_file() and not path.is_symlink()]
        named = [path for word in run.words for path in files_named(Path(word))]
        return {path: read_whole(path, MOST_WEIGHTS) for path in (*named, *saved)}

    def stop(self) -> None:
        self._stopping = True

    def stopping(self) -> bool:
        return self._stopping


class RunTrial(tune.Trainable):
    """A run on a node of the cluster: a step is a few seconds of its process."""

    def setup(self, config: dict[str, Any]) -> None:
        self._desk, self._every = config["desk"], config["every"]
        self._root = Path(tempfile.mkdtemp(prefix="srm-"))
        self._process: subprocess.Popen[bytes] | None = None
        files = {inside(path): content for path, content in self._ask("files", config[RUN]).items()}
        for path, content in files.items():
            (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            (self._root / path).write_bytes(content)
        self._run = run_inside(config[RUN], files)
        self._parent = self._root / self._run.folder.parent
        self._parent.mkdir(parents=True, exist_ok=True)

    def step(self) -> dict[str, Any]:
        if self._process is None:
            if self._ask("stopping"):
                return {"done": True, "code": STOPPED}
            self._process = start_process(self._run, self._root)
        try:
            code = self._process.wait(self._every)
        except subprocess.TimeoutExpired:
            if not self._ask("stopping"):
                return {"done": False}
            self._process.send_signal(signal.SIGINT)
            code = self._process.wait()
        return {"done": True, "code": code}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """The folder at one moment, since a run can go on from whatever a kill at any moment leaves."""
        running = self._process if self._process is not None and self._process.poll() is None else None
        if running:
            running.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, running.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            shutil.copytree(self._parent, checkpoint_dir, ignore=shutil.ignore_patterns("*.part"), dirs_exist_ok=True)
        finally:
            if running:
                running.send_signal(signal.SIGCONT)

    def load_checkpoint(self, checkpoint: Any) -> None:
        shutil.rmtree(self._parent)
        shutil.copytree(checkpoint, self._parent)

    def cleanup(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._root, ignore_errors=True)

    def _ask(self, method: str, *arguments: Any) -> Any:
        # Not `ray.get`: Ray takes a worker that waits in it for idle, and gives its core to another run.
        return getattr(self._desk, method).remote(*arguments).future().result()


def fetch(checkpoint: Any, run: SuiteRun) -> None:
    """Makes a run's files those of a checkpoint: each whole, the log before the checkpoints, none of which may be ahead of its
    curve, and last of all the summary, which says that the rest is there."""
    parent = run.folder.parent
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{run.folder.name}.", suffix=".part") as part:
        checkpoint.to_directory(part)
        new = [path.relative_to(part) for path in Path(part).rglob("*")]
        for path in sorted(new, key=lambda path: (path.name == SUMMARY, CHECKPOINTS in path.parts, path)):
            if (part / path).is_dir():
                (parent / path).mkdir(exist_ok=True)
            else:
                (part / path).replace(parent / path)
    for path in run.folder.rglob("*"):
        if path.is_file() and path.relative_to(parent) not in new:
            path.unlink()
    if (run.folder / CONFIG).exists():  # clouds keep no empty folders, and a run without this one cannot go on
        (run.folder / CHECKPOINTS).mkdir(exist_ok=True)


def files_named(path: Path) -> list[Path]:
    """The files that a command reads of what it names: a file, or of a run its config and policy."""
    if path.is_file():
        return [path]
    return [path / CONFIG, policy_file(path)] if (path / CONFIG).is_file() else []


def run_inside(run: SuiteRun, files: Mapping[Path, bytes]) -> SuiteRun:
    """The same run below a scratch folder that has these files."""
    words = tuple(str(inside(word)) if {inside(word), inside(word) / CONFIG} & {*files} else word for word in run.words)
    return replace(run, words=words, folder=inside(run.folder))


def inside(path: str | Path) -> Path:
    """The same path below a scratch folder."""
    return Path(*(part for part in Path(path).parts if part not in ("/", "..")))
