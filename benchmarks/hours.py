"""How long every suite takes: the speed of each kind of run, measured here, and from it the hours of each suite.

    python -m benchmarks.hours [--frames 20000]

A kind is what decides the speed: learner, network, what pays, and how holes are inferred. Each is timed in DoorKey-8x8, whose larger relatives step
as fast, or in the task itself outside MiniGrid; the machine of another curve is stood for by one with values. What is counted is processor time, which other
users of the machine change little, and of a longer run less that of a shorter one, so that starting is left out. Runs that reach their `--stop-at` end sooner, so the
hours are the most that a suite can take. On a cluster a run is one slot's work: what `srm suite` cannot divide is the longest chain of a machine and the runs that need it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from srm.domains.tasks import find_task
from srm.suites.shipped import SUITES
from srm.suites.suite import CurveCommand, Suite

SLOTS = 32  # of the cluster
ENOUGH = 4.0  # processor seconds by which a run is longer than another, so that what starting takes from time to time does not count
Kind = tuple[str, ...]  # the words of its command, behind `srm`


def kind_of(curve: CurveCommand) -> Kind:
    own = find_task(curve.task).vocabulary.name != "minigrid"
    words = [curve.verb, curve.task if own else "doorkey", "--learner", curve.value("--learner", "ppo")]
    for flag, value in (("--net", "lstm"), ("--envs", "envpool")):
        if curve.value(flag) == value:
            words += [flag, value]
    if curve.verb == "learn":
        return (*words, "--infer", curve.value("--infer", "posterior"))
    reward = curve.value("--reward", "task")
    if reward in ("task", "gail", "gan_gcl"):
        return (*words, "--reward", reward)
    return (*words, "--reward", curve.task, "--holes", "uniform") if own else (*words, "--reward", "doorkey_handset")


def speed(kind: Kind, frames: int) -> float:
    """Frames a processor second of the command on one core, without what it takes to start: of a run that is long enough, less a short one."""
    (short, begun) = (long, ended) = played(kind, frames)
    while ended - begun < ENOUGH:
        frames *= 4
        long, ended = played(kind, frames)
    return (long - short) / (ended - begun)


def played(kind: Kind, frames: int) -> tuple[int, float]:
    """How many frames the command has played in the end, and the processor seconds that it took."""
    one = ["--cores", "1"] if kind[0] == "learn" else []
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run(
            [sys.executable, "-m", "srm", *kind, *one, "--frames", str(frames), "--seed", "100", "-o", str(run)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
        )
        summary = json.loads((run / "summary.json").read_text())
    after = os.times()
    used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return int(summary["frames"]), used


def hours(curve: CurveCommand, speeds: dict[Kind, float]) -> float:
    return curve.frames / speeds[kind_of(curve)] / 3600


def row(suite: Suite, speeds: dict[Kind, float]) -> str:
    each = {name: hours(curve, speeds) for name, curve in suite.curves.items()}
    chains = [each[name] + each.get(curve.needs or "", 0.0) for name, curve in suite.curves.items()]
    total = suite.seeds * sum(each.values())
    cluster = max(max(chains), total / SLOTS)
    cells = f"{suite.seeds * len(suite.curves)} | {suite.frames / 1e6:,.0f} M | {total / 2:.1f} | {cluster:.1f}"
    return f"| `srm suite {suite.name}` | {suite.title} | {cells} |"


def page(frames: int) -> Iterator[str]:
    kinds = list(dict.fromkeys(kind_of(curve) for suite in SUITES.values() for curve in suite.curves.values()))
    speeds = {}
    yield "| kind of run | frames a processor second |"
    yield "|---|--:|"
    for kind in kinds:
        speeds[kind] = speed(kind, frames)
        yield f"| `srm {' '.join(kind)}` | {speeds[kind]:,.0f} |"
    yield ""
    yield f"| command | question | runs | frames at most | hours, two cores | hours, {SLOTS} slots |"
    yield "|---|---|--:|--:|--:|--:|"
    yield from (row(suite, speeds) for suite in SUITES.values())


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000, help="of the shortest run of each kind")
    for line in page(parser.parse_args(arguments).frames):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
