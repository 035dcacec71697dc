"""Files of every kind that people hand to each other, damaged. A case is a target and a number: the same two give the same files.

`write_seeds` makes whole inputs once; `make_case` copies those of a target and damages one of its files, or two; `TARGETS` says who
reads them. A new kind of file needs a line in TARGETS, and a function in damage.py if it is to be damaged by more than bytes.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import srm
from srm.cli import main
from srm.domains import demonstrations as demos
from srm.domains.demonstrations import load_with_task
from srm.domains.preferences import play_again, read_preferences, write_preferences
from srm.domains.scripts import import_script
from srm.domains.tasks import find_task
from srm.infer.posterior.store import read_draws
from srm.machine.drawing.draw import dot, mermaid, svg
from srm.machine.importer.writer import import_reward_machine
from srm.machine.language.parse import library, load, parse
from srm.report.compare.collect import find_runs
from srm.report.compare.keep import keep
from srm.report.compare.measure import compare
from srm.report.compare.page import write_comparison
from srm.report.run.inference import write_posterior_report
from srm.report.run.learning import write_report
from srm.runs.policy import read_policy
from srm.runs.run import Run
from srm.suites.runs import claimed, last_line, reached, runs_of
from srm.suites.suite import Suite, curve, read_suite
from tests.cli.test_infer import QUICK
from tests.cli.test_train import SMALL
from tests.fuzz.damage import damage_file
from tests.fuzz.grammar import machine_text, rival_text
from tests.machine.language.test_fuzz import SHIPPED
from tests.machine.test_importer import COFFEE
from tests.report.sample import write_run

SUITE = Suite("small", "Small", {name: curve(name, "train DoorKey-5x5 --frames 64") for name in ("a", "b")})
ANSWERS = """\
{"format": "srm-preferences 1", "task": "doorkey", "env_id": "MiniGrid-DoorKey-8x8-v0"}
{"left": {"seed": 7, "actions": [2, 2, 3]}, "right": {"seed": 9, "actions": [0, 5]}, "answer": "left"}
{"left": {"seed": 9, "actions": [0, 5]}, "right": {"seed": 8, "actions": [1, 1, 1]}, "answer": "cannot say"}
"""
SUITE_TOML = (
    'title = "Two"\nseeds = 2\n[curves]\na = "train DoorKey-5x5 --frames 64"\nb = "learn doorkey --frames 64"\n'
)
PLAYED = '{"episodes": [{"seed": 3, "actions": [1, 0, 2]}, {"seed": 5, "actions": [2, 2], "return": 0.0}]}'
RUNS = {  # whole runs, by the folder of the seed
    "train": ["train", "DoorKey-5x5", "--reward", "doorkey_handset"],
    "gail": ["train", "DoorKey-5x5", "--reward", "gail", "-n", "2"],
    "posterior": ["learn", "DoorKey-5x5", "--cores", "1", "-n", "2", "--episodes", "1"],
    "algorithm1": ["learn", "DoorKey-5x5", "--infer", "algorithm1", "--cores", "1", "-n", "2", "--episodes", "1"],
    "lstm": ["train", "DoorKey-5x5", "--net", "lstm", "--learner", "agac"],
}


@dataclass(frozen=True)
class Target:
    """Whose files are damaged, which of them, and who reads them."""

    seed: str  # folder below that of the seeds
    files: tuple[str, ...]  # patterns
    read: Callable[[Path], object]
    draw: Callable[[random.Random], str] | None = None  # a text in the place of the only file


def write_seeds(folder: Path) -> None:
    """Whole inputs, each kind in a folder of its own."""
    for name, texts in {
        "machine": dict(zip((f"{name}.srm" for name in library()), SHIPPED, strict=True)),
        "rival": {"coffee.txt": COFFEE},
        "toml": {"suite.toml": SUITE_TOML},
        "played": {"played.json": PLAYED, "played.csv": "episode,seed,action\n0,3,1\n0,3,2\n1,5,0\n"},
        "preferences": {"answers.jsonl": ANSWERS},
    }.items():
        (folder / name).mkdir(parents=True)
        for file, text in texts.items():
            (folder / name / file).write_text(text)
    write_run(folder / "learn", episodes=1, demonstrations=2)
    for place in ("a/seed0", "b/seed0"):
        shutil.copytree(folder / "learn", folder / "suite" / place)
    commands = {name: curve.command for name, curve in SUITE.curves.items()}
    (folder / "suite/suite.json").write_text(
        json.dumps({"name": "small", "title": "Small", "scale": 1, "curves": commands})
    )
    (folder / "demonstrations").mkdir()
    shutil.copy(folder / "learn/demonstrations.npz", folder / "demonstrations")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for name, words in RUNS.items():
            assert main([*words, "--frames", "200", "-o", str(folder / name), *SMALL]) == 0
        assert main(["infer", "doorkey", "-o", str(folder / "infer"), *QUICK]) in (0, 1)


# Who reads


def _machine(folder: Path) -> None:
    for path in folder.glob("*.srm"):
        machine = load(path)
        assert parse(str(machine)) == machine
        for draw in (svg, mermaid, dot):
            draw(machine)


def _check(folder: Path) -> None:
    for path in folder.glob("*.srm"):
        str(srm.check(path))


def _demonstrations(folder: Path) -> None:
    shown, _ = load_with_task(folder / "demonstrations.npz", None)
    shown.as_rollout()
    demos.save(shown, folder / "again.npz")


def _preferences(folder: Path) -> None:
    task = find_task("doorkey")
    answers = read_preferences(folder / "answers.jsonl", task)
    play_again(answers, task)
    write_preferences(folder / "again.jsonl", answers)


def _resume(folder: Path) -> None:
    """Goes on, for a round."""
    run = Run.resume(folder, frames=400)
    rounds = run.rounds()
    try:
        next(rounds, None)
    finally:
        rounds.close()
        run.close()


def _policy(folder: Path) -> None:
    trained = read_policy(folder)
    envs = trained.environment(None).make_envs(1, 0)
    try:
        trained.net(envs)
    finally:
        envs.close()


def _infer(folder: Path) -> None:
    read_draws(folder / "draws.safetensors")
    write_posterior_report(folder)


def _result(folder: Path) -> None:
    """The front door."""
    run = srm.RunResult.read(folder)
    str(run)
    run.log, run.summary, run.machine, run.demonstrations, run.posterior  # noqa: B018
    run._repr_html_()


def _suite(folder: Path) -> None:
    for run in runs_of(SUITE, folder, 1):
        reached(run)
        last_line(run)
    with claimed(SUITE, folder):
        write_comparison(compare(find_runs([folder]), 0.8), folder / "report", False)


def _played(folder: Path) -> None:
    for path in (folder / "played.json", folder / "played.csv"):
        import_script(path, find_task("DoorKey-5x5"))


def _keep(folder: Path) -> None:
    keep([folder], folder.with_name("kept"))


_RUN = ("*.json", "log.csv", "*.srm", "*.npz", "*.safetensors")
_GOES_ON = ("config.json", "log.csv", "summary.json", "machine.srm", "*.npz", "checkpoint/*", "checkpoint/*")
TARGETS = {
    "machine": Target("machine", ("*.srm",), _machine),
    "drawn machine": Target("machine", ("doorkey.srm",), _machine, machine_text),
    "check": Target("machine", ("doorkey.srm",), _check, machine_text),
    "demonstrations": Target("demonstrations", ("*.npz",), _demonstrations),
    "preferences": Target("preferences", ("*.jsonl",), _preferences),
    "report": Target("learn", ("*.json", "log.csv", "*.srm"), write_report),
    "resume train": Target("train", _GOES_ON, _resume),
    "resume gail": Target("gail", _GOES_ON, _resume),
    "resume lstm": Target("lstm", _GOES_ON, _resume),
    "resume posterior": Target("posterior", _GOES_ON, _resume),
    "resume algorithm1": Target("algorithm1", _GOES_ON, _resume),
    "policy": Target("train", ("config.json", "policy.safetensors"), _policy),
    "posterior": Target("infer", ("*.json", "*.srm", "draws.safetensors"), _infer),
    "result": Target("posterior", _RUN, _result),
    "suite": Target("suite", ("suite.json", "*/*/config.json", "*/*/log.csv", "*/*/summary.json"), _suite),
    "keep": Target("suite", ("suite.json", "*/*/*.json", "*/*/log.csv", "*/*/*.srm"), _keep),
    "suite file": Target("toml", ("suite.toml",), lambda folder: read_suite(folder / "suite.toml")),
    "seeds and actions": Target("played", ("played.*",), _played),
    "rival": Target("rival", ("*.txt",), lambda folder: import_reward_machine(folder / "coffee.txt")),
    "drawn rival": Target("rival", ("*.txt",), lambda folder: import_reward_machine(folder / "coffee.txt"), rival_text),
}


def make_case(seeds: Path, name: str, number: int, folder: Path) -> tuple[Path, ...]:
    """The files of a case, in a new folder; returns those that were changed."""
    target, rng = TARGETS[name], random.Random(f"{name} {number}")
    shutil.copytree(seeds / target.seed, folder)
    candidates = sorted(path for pattern in target.files for path in folder.glob(pattern))
    changed = {rng.choice(candidates) for _ in range(rng.choice((1, 1, 1, 2)) if len(candidates) > 1 else 1)}
    if target.seed == "machine":
        changed = {next(iter(sorted(changed)))}
        for other in set(folder.glob("*.srm")) - changed:
            other.unlink()
    for path in sorted(changed):
        if target.draw is not None:
            path.write_text(target.draw(rng))
        if target.draw is None or rng.random() < 0.1:
            damage_file(path, rng)
    return tuple(sorted(changed))
