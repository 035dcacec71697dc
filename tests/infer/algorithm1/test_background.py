"""Inference on another core: the same numbers, begun from anywhere, and gone with whoever began it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

import srm
from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.infer.algorithm1.background import BackgroundInference, InlineInference
from srm.infer.algorithm1.concretizer import ConcretizerConfig, InferenceProblem
from srm.infer.algorithm1.reward_net import RewardNetConfig
from srm.machine.language.parse import find_machine
from srm.trajectory import Rollout
from tests.infer.play import MINIGRID, demonstrations, uniform

VOCABULARY = find_task("DoorKey-5x5").event_reader()
SCRIPT = '''\
import os, sys, time

from srm.infer.algorithm1.background import BackgroundInference
from srm.infer.algorithm1.concretizer import ConcretizerConfig, InferenceProblem
from srm.machine.language.parse import find_machine
from srm.domains.demonstrations import choose
from srm.domains.spaces import Spaces
from srm.domains.tasks import find_task

task, machine = find_task("DoorKey-5x5"), find_machine("doorkey")
VOCABULARY = task.event_reader()


class OwnVocabulary:
    """Defined where nobody can import it from."""

    vocabulary = VOCABULARY.vocabulary

    def read(self, rollout):
        return VOCABULARY.read(rollout)


demos = choose(task, None, None)
envs = task.make_envs(1, 0)
spaces = Spaces(envs.observation_space, envs.action_space)
problem = InferenceProblem.of(machine, machine.constraint(), OwnVocabulary(), demos, spaces, ConcretizerConfig(), seed=0)
holes = BackgroundInference(problem, OwnVocabulary())
'''
USE = """\
rollout, log_prob = holes.demonstrated, -1.0 * holes.demonstrated.valid
holes.pay(rollout)
holes.begin(0, rollout, log_prob, log_prob, 1)
print(*sorted(holes.finish()))
holes.close()
"""
WAIT = """\
print(holes._process.pid, flush=True)
time.sleep(60)
"""


def problem() -> InferenceProblem:
    machine, config = find_machine("doorkey"), ConcretizerConfig(reward_net=RewardNetConfig(steps=2, sequences=16))
    demos = demonstrations("DoorKey-5x5")
    return InferenceProblem.of(machine, machine.constraint(), VOCABULARY, demos, MINIGRID, config, seed=0)


def test_background_and_inline_inference_learn_the_same(rollouts: list[Rollout]) -> None:
    results = []
    for kind in (InlineInference, BackgroundInference):
        holes = kind(problem(), VOCABULARY)
        try:
            for index, rollout in enumerate(rollouts[:2]):
                holes.pay(rollout)
                holes.begin(index, rollout, uniform(rollout), uniform(holes.demonstrated), 1)
                losses = holes.finish()
            saved = {name: value.tolist() for name, value in holes.arrays().items()}
            results.append((losses, holes.belief.mode.tolist(), holes.belief.spread.tolist(), saved))
        finally:
            holes.close()
    assert results[0] == results[1]


def test_it_begins_in_a_thread(rollouts: list[Rollout]) -> None:
    begun: list[BackgroundInference] = []
    thread = Thread(target=lambda: begun.append(BackgroundInference(problem(), VOCABULARY)))
    thread.start()
    thread.join()
    assert len(begun[0].belief.mode) == 5
    begun[0].close()


def run_script(folder: Path, text: str) -> subprocess.Popen[str]:
    """A script in a folder of its own, begun there, which finds this package where the tests do."""
    (folder / "script.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(Path(srm.__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests may themselves run in the background of a shell, which lets its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_a_script_needs_no_main_guard_and_may_define_its_own_vocabulary(tmp_path: Path) -> None:
    script = run_script(tmp_path, SCRIPT + USE)
    out, err = script.communicate(timeout=120)
    assert (script.returncode, err) == (0, "")
    assert "loss_adv" in out.split()


def test_a_file_in_the_current_folder_hides_no_module_of_python(tmp_path: Path) -> None:
    (tmp_path / "struct.py").write_text("raise SystemExit('imported from the current folder')")
    itself = "import sys\nsys.path.append(sys.path.pop(0))  # the script must find Python's own as well\n"
    script = run_script(tmp_path, itself + SCRIPT + USE)
    _, err = script.communicate(timeout=120)
    assert (script.returncode, err) == (0, "")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_without_a_word_when_whoever_began_it_is_killed(ending: signal.Signals, tmp_path: Path) -> None:
    script = run_script(tmp_path, SCRIPT + WAIT)
    assert script.stdout is not None
    worker = int(script.stdout.readline())
    if ending == signal.SIGINT:
        os.killpg(script.pid, ending)  # as a terminal does at Ctrl-C: it reaches the script alone
    else:
        script.kill()
    _, err = script.communicate(timeout=60)
    assert "Traceback" not in err if ending == signal.SIGKILL else err.count("Traceback") == 1
    deadline = time.monotonic() + 30
    while _is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(worker)


def _is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_one_that_died_is_named_with_the_way_out() -> None:
    holes = BackgroundInference(problem(), VOCABULARY)
    holes._process.kill()
    holes._process.wait()
    with pytest.raises(RunError, match="has died; go on with --resume, or begin with --cores 1"):
        holes.arrays()
    holes.close()
