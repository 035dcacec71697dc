"""The front door: what a script, a notebook or a thread gets from `import srm`, and what it leaves behind."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch

import srm
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError, SettingError, SrmError, TaskError
from srm.machine.language.parse import find_machine
from srm.runs.folder import checkpoints

ROOT = Path(__file__).parents[1]
SMALL: dict[str, Any] = {
    "frames": 300,
    "ppo": {"num_envs": 4, "num_steps": 16, "epochs": 1, "minibatches": 2},
    "network": {"width": 16},
    "progress": False,
}
QUICK: dict[str, Any] = {**SMALL, "episodes": 1, "posterior": {"sweeps": 60, "first_look": 60}}
LONGER = {**QUICK, "frames": 2000}  # some episodes end
SWEEPS = {"sweeps": 60}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> srm.RunResult:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return srm.learn("DoorKey-5x5", srm.load("doorkey"), srm.demonstrations("doorkey", count=4), out=folder, **LONGER)


# What is public


def test_importing_it_loads_nothing_heavy_in_no_time() -> None:
    code = (
        "import time; before = time.process_time(); import srm; used = time.process_time() - before; import sys; "
        "print(used, *(name for name in ('torch', 'numpy', 'matplotlib', 'rich', 'z3') if name in sys.modules))"
    )
    used, *loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert loaded == []
    assert float(used) < 0.3


def test_machines_are_loaded_and_checked_and_holes_inferred_without_torch() -> None:
    code = (
        "import sys, srm; machine = srm.load('doorkey'); machine.check(); "
        f"srm.infer('doorkey', machine, posterior={SWEEPS}); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_public_name_is_there_and_documented() -> None:
    for name in srm.__all__:
        assert inspect.getdoc(getattr(srm, name)), name
    assert dir(srm) == sorted([*srm.__all__, "__version__"])
    with pytest.raises(AttributeError, match="has no attribute lern"):
        srm.lern  # type: ignore[attr-defined]  # noqa: B018


def test_a_package_of_the_same_name_does_not_hide_a_function() -> None:
    code = "import srm.infer.posterior, srm.evaluate.trace, srm; print(srm.infer.__name__, srm.evaluate.__name__)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "infer evaluate\n"


# Machines and demonstrations


def test_a_machine_is_checked_against_the_vocabulary_it_names(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.srm"
    wrong.write_text("machine m\nwords minigrid\nholes ?a\nstart s\n  pick_up_kee // ?a\n")
    with pytest.raises(srm.MachineError, match="did you mean pick_up_key"):
        srm.load(wrong)
    own = tmp_path / "own.srm"
    own.write_text("machine m\nwords mine\nholes ?a\nstart s\n  bang // ?a\n")
    assert srm.load(own).words == "mine"  # which only its task knows


def test_a_report_is_the_same_by_every_way_to_ask() -> None:
    machine = srm.load("doorkey")
    report = machine.check()
    for other in (srm.check("doorkey"), srm.check(machine, find_task("doorkey"))):  # Z3 may find another witness
        assert [finding.message for finding in other.findings] == [finding.message for finding in report.findings]
        assert other.words == report.words == "minigrid"
    assert srm.check(machine, constraint="none").constraint is None
    assert srm.check(machine, against="doorkey").other == "doorkey"
    assert str(report).endswith("no errors, 3 warnings, 12 notes")
    assert str(machine.check(constraint="none")) != str(report)


def test_demonstrations_come_from_a_task_its_name_or_a_file(tmp_path: Path) -> None:
    from srm.domains import demonstrations as demos

    shipped = srm.demonstrations("doorkey")
    path = tmp_path / "some.npz"
    demos.save(srm.demonstrations(find_task("doorkey"), count=2), path)
    assert (len(shipped), len(srm.demonstrations(path)), len(srm.demonstrations(path, count=1))) == (10, 2, 1)
    with pytest.raises(DemonstrationError, match=r"1\.\.10"):
        srm.demonstrations("doorkey", count=11)
    with pytest.raises(DemonstrationError, match="no such file"):
        srm.demonstrations("nowhere.npz")
    with pytest.raises(TaskError, match="name the task it shows"):
        srm.demonstrations("mine/doorkey-v0")
    with pytest.raises(TaskError, match="did you mean doorkey"):
        srm.demonstrations("doorkay")


# Objects and names


def test_objects_and_names_give_the_same_posterior(tmp_path: Path) -> None:
    task, machine = find_task("DoorKey-6x6"), find_machine("doorkey")
    by_name = srm.infer("DoorKey-6x6", "doorkey", posterior=SWEEPS, seed=3)
    by_object = srm.infer(
        task, machine, srm.demonstrations("doorkey"), posterior=SWEEPS, seed=3, out=tmp_path / "infer"
    )
    assert by_name.values == by_object.values
    assert by_name.machine.holes == srm.load(tmp_path / "infer" / "learnt.srm").holes
    assert (tmp_path / "infer" / "report.html").exists()


def test_objects_and_names_give_the_same_run(run: srm.RunResult, tmp_path: Path) -> None:
    again = srm.learn(find_task("DoorKey-5x5"), "doorkey", count=4, out=tmp_path / "again", **LONGER)
    first, second = run.log, again.log
    assert {name: first[name] for name in first if name != "seconds"} == {
        name: second[name] for name in second if name != "seconds"
    }
    assert run.config["learning"]["task"] == again.config["learning"]["task"] == "DoorKey-5x5"
    assert "command" not in run.config


def test_a_task_of_ones_own_is_handed_over_as_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from examples.corridor import TASK
    from srm.domains.record import record

    machine, shown = srm.load(ROOT / "examples" / "corridor.srm", TASK), record(TASK, 3, 0)
    run = srm.learn(TASK, machine, shown, net="mlp", out=tmp_path / "run", **{**QUICK, "network": {"width": 8}})
    assert srm.evaluate(run, episodes=4).env_id == TASK.env_id
    assert srm.evaluate(run.folder, TASK, episodes=4).episodes == 4
    for again in (lambda: srm.resume(run.folder, frames=500, progress=False), lambda: srm.evaluate(run.folder)):
        with pytest.raises(
            TaskError, match=r"there is no task corridor.*hand.* it over .*srm.resume\(RUN, task=TASK\)"
        ):
            again()
    (run.folder / "summary.json").rename(tmp_path / "summary.json")
    assert f"go on with srm.resume('{run.folder}', task=TASK)" in str(run)
    (tmp_path / "summary.json").rename(run.folder / "summary.json")
    more = srm.resume(run.folder, frames=500, task=TASK, progress=False)
    assert more.summary is not None
    assert more.summary["frames"] >= 500


def test_demonstrations_of_another_task_are_refused() -> None:
    with pytest.raises(DemonstrationError, match="show the task doorkey, not keycorridor"):
        srm.infer("keycorridor", demonstrations=srm.demonstrations("doorkey"))


# Settings


def test_every_setting_of_the_command_line_has_a_keyword(run: srm.RunResult, tmp_path: Path) -> None:
    from srm.rl.ppo import PpoConfig

    trained = srm.train(
        "DoorKey-5x5", run.machine or "", learner="agac", net="lstm", out=tmp_path / "run",
        **{**SMALL, "ppo": PpoConfig(num_envs=4, num_steps=16, epochs=1, minibatches=2)},
    )  # fmt: skip
    settings = trained.config["training"]
    assert (settings["learning"]["learner"], settings["learning"]["ppo"]["num_envs"]) == ("agac", 4)
    assert settings["reward"] == "doorkey"
    assert trained.posterior is None
    assert trained.machine == run.machine


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"framse": 3}, "there is no setting framse; did you mean frames"),
        ({"ppo": {"num_env": 3}}, "ppo: num_env is not a field"),
        ({"frames": "many"}, "frames: 'many', expected int"),
        ({"seed": -1}, "--seed -1: give a number that is 0 or more"),
        ({"net": "rnn"}, "net: 'rnn', expected one of auto"),
    ],
    ids=["unknown", "unknown in a part", "another type", "out of range", "no such choice"],
)
def test_a_wrong_setting_is_refused_by_name_before_anything_is_written(
    settings: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingError) as refused:
        srm.learn("doorkey", out=tmp_path / "run", **settings)
    assert problem in str(refused.value)
    assert not (tmp_path / "run").exists()


# What is returned shows itself


def test_a_run_has_its_machine_posterior_policy_and_summary(run: srm.RunResult) -> None:
    assert run.summary is not None
    assert run.machine is not None
    assert run.posterior is not None
    assert run.machine.values() == run.posterior.values
    assert run.posterior["goal"].low <= run.posterior["?goal"].mean
    assert srm.evaluate(run.policy, "DoorKey-6x6", episodes=3).env_id == "MiniGrid-DoorKey-6x6-v0"
    with pytest.raises(srm.RunError, match="was trained on doorkey"):
        srm.evaluate(run, find_task("keycorridor"), episodes=3)
    assert srm.RunResult.read(run.folder).summary == run.summary


def test_what_is_returned_is_html_in_a_notebook_and_text_in_a_terminal(run: srm.RunResult) -> None:
    machine, posterior, comparison = run.machine, run.posterior, srm.compare(run)
    assert machine is not None
    assert posterior is not None
    for shown in (machine, posterior, run):
        html = shown._repr_html_()
        assert "<svg" in html
        assert html.startswith(("<svg", '<div class="srm-display">'))
    assert "data:image/svg+xml" in run._repr_html_()
    assert "data:image/svg+xml" in comparison._repr_html_()
    assert "<span" in machine.check()._repr_html_()
    assert "?goal" in repr(posterior)
    assert str(run.folder) in repr(run)
    assert "1 of 1 runs finished" in repr(comparison)
    assert repr(machine) == str(machine)


def test_figures_leave_no_trace_in_pyplot(run: srm.RunResult) -> None:
    from matplotlib import pyplot, rcParams
    from matplotlib.figure import Figure

    before, size = pyplot.get_fignums(), rcParams["font.size"]
    assert run.posterior is not None
    figures = [run.plot(), run.posterior.plot(), srm.compare(run.folder).plot()]
    assert all(isinstance(figure, Figure) for figure in figures)
    assert [axes.get_title(loc="left").split()[0] for axes in figures[1].axes[:5]] == [
        f"?{name}" for name in ("goal", "unlock", "close", "pick", "drop")
    ]
    assert pyplot.get_fignums() == before
    assert rcParams["font.size"] == size


def test_the_style_of_a_display_holds_for_nothing_around_it(run: srm.RunResult) -> None:
    html = run._repr_html_()
    style = html[html.index("<style>") + 7 : html.index("</style>")]
    assert style.startswith(".srm-display {")
    assert ":root" not in style
    assert "\nbody" not in style
    assert style.count("{") == style.count("}")


def test_draws_go_to_arviz(run: srm.RunResult) -> None:
    pytest.importorskip("arviz")
    assert run.posterior is not None
    assert set(run.posterior.to_arviz()["posterior"].data_vars) == set(run.posterior.values)


def test_the_wrapper_is_the_public_one() -> None:
    task = find_task("DoorKey-5x5")
    env = srm.SymbolicReward(task.environment(task.env_id), srm.load("doorkey_handset"), task.event_reader())
    assert isinstance(env, gymnasium.Env)
    assert env.reset(seed=0)[1]["node"] == "before_unlocking"


# Where it is called from

SCRIPT = f"""
import sys, torch, srm
torch.set_num_threads(2)
run = srm.learn("DoorKey-5x5", out=sys.argv[1], cores=int(sys.argv[2]), infer="algorithm1", warm_up=1, reward_net={{"steps": 2}},
                **{ {**SMALL, "episodes": 1}!r})
print(run.machine.is_concrete, run.posterior, torch.get_num_threads())
"""


@pytest.mark.parametrize("cores", ["1", "2"])
def test_a_script_without_a_main_guard_runs_once_and_puts_threads_back(cores: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path), str(tmp_path / "run"), cores],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout == "True None 2\n"


def test_the_number_of_threads_is_one_within_and_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from srm.rl.ppo import Ppo

    before, within = torch.get_num_threads(), []
    update = Ppo.update
    monkeypatch.setattr(Ppo, "update", lambda *args: (within.append(torch.get_num_threads()), update(*args))[1])
    torch.set_num_threads(2)
    try:
        srm.train("DoorKey-5x5", out=tmp_path / "run", **SMALL)
        srm.evaluate(tmp_path / "run", episodes=2)
        assert torch.get_num_threads() == 2
        assert set(within) == {1}
    finally:
        torch.set_num_threads(before)


def test_it_runs_in_a_thread(tmp_path: Path) -> None:
    done: list[srm.RunResult] = []
    thread = threading.Thread(target=lambda: done.append(srm.train("DoorKey-5x5", out=tmp_path / "run", **SMALL)))
    thread.start()
    thread.join()
    assert done[0].summary is not None


def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settings = {**SMALL, "frames": 10_000_000}
    code = f"import srm; srm.train('DoorKey-5x5', out={str(folder)!r}, **{settings!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while process.poll() is None and not (folder / "log.csv").exists():
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert f"go on with srm.resume('{folder}')" in error
    assert "KeyboardInterrupt" in error
    assert len(checkpoints(folder)) == 1
    stopped = srm.RunResult.read(folder)
    assert stopped.summary is None
    assert "has not ended" in str(stopped)
    played = stopped.log["frames"][-1]
    assert played is not None
    more = srm.resume(stopped, frames=int(played) + 64, progress=False)
    assert more.summary is not None
    assert more.log["frames"][-1] == played + 64


def test_a_fault_of_the_caller_is_an_srm_error(tmp_path: Path) -> None:
    for fault in (
        lambda: srm.load("doorkay"),
        lambda: srm.learn("doorkey", machine="nowhere.srm"),
        lambda: srm.evaluate(tmp_path),
        lambda: srm.evaluate(tmp_path, episodes=0),
        lambda: srm.compare(),
        lambda: srm.compare([tmp_path]),  # type: ignore[arg-type]
        lambda: srm.check("doorkey", "minigrid"),  # type: ignore[arg-type]
        lambda: srm.resume(tmp_path),
        lambda: srm.infer("doorkey", srm.Machine("m", srm.load("doorkey").nodes[-1:], "end")),
    ):
        with pytest.raises(SrmError):
            fault()


def test_demonstrations_print_themselves_in_a_line() -> None:
    line = "10 demonstrations of doorkey in MiniGrid-DoorKey-8x8-v0, 170 steps, mean return 0.976"
    assert repr(srm.demonstrations("doorkey")) == line


def test_a_mean_that_stands_alone_is_drawn_as_a_dot() -> None:
    from srm.report.plots import learning_figure

    for returns, marker in (([None, 0.5], "o"), ([0.25, 0.5], "None")):
        figure = learning_figure({"frames": [1.0, 2.0], "return": returns, "success": returns}, "run")
        assert [line.get_marker() for line in figure.axes[0].lines] == [marker, marker]
