"""From ten demonstrations to a return: the posterior beside Algorithm 1, the whole command, one core each, in one run.

    python benchmarks/infer.py [--tasks doorkey keycorridor obstructedmaze] [--ways posterior algorithm1] [--seeds 201 202 ...]
                               [--core 0] [--out FILE]
    python benchmarks/infer.py --cost

Each row is one `srm learn ... --stop-at RETURN` in a process of its own, pinned to one core with one thread: frames, and processor
seconds of the command from its start to its page. The ways take turns, so that whatever else the machine does falls on both. Rows are
appended to a JSON-lines file as they end; a row that is there is not run again. At the end, medians and the ratio of times.

`--cost`: processor seconds of the posterior alone, in this process, without start-up: of every machine that ships, of 1, 10 and 100 demonstrations, and of
machines with 5, 12 and 30 holes that pay for events by colour.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.record import record
from srm.domains.tasks import FAMILIES
from srm.infer.posterior.infer import infer, random_play
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine

TASKS = {
    "doorkey": ["doorkey", "--stop-at", "0.92"],
    "keycorridor": ["keycorridor", "--stop-at", "0.82"],
    "obstructedmaze": [
        *("obstructedmaze", "--machine", "obstructedmaze_4"),
        *("--stop-at", "0.85", "--ppo.entropy-weight", "0.02"),
    ],
}


def run(task: str, way: str, seed: int, core: int) -> dict[str, Any]:
    """One command, and what it took."""
    folder = Path(tempfile.mkdtemp()) / "run"
    cores = ["--cores", "1"] if way == "algorithm1" else []
    command = [sys.executable, "-m", "srm", "learn", *TASKS[task], "--infer", way, *cores, "--seed", str(seed)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, "-o", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads((folder / "summary.json").read_text())
    shutil.rmtree(folder.parent)
    return {
        "task": task,
        "way": way,
        "seed": seed,
        "frames": summary["frames"],
        "seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "return": summary["return"],
        "solution": summary.get("solution", {}).get("undiscounted"),
    }


def table(rows: list[dict[str, Any]], tasks: list[str], ways: list[str]) -> str:
    lines = ["| task | way | seeds | frames, median | processor seconds, median | ratio |", "|---|---|---|---|---|---|"]
    for task in tasks:
        times = {}
        for way in ways:
            chosen = [row for row in rows if row["task"] == task and row["way"] == way]
            if not chosen:
                continue
            times[way] = median(row["seconds"] for row in chosen)
            ratio = f"{times[way] / times['algorithm1']:.2f}" if "algorithm1" in times else ""
            frames = median(row["frames"] for row in chosen)
            lines.append(f"| {task} | {way} | {len(chosen)} | {frames:,.0f} | {times[way]:.0f} | {ratio} |")
    return "\n".join(lines)


COLOURED = ("open_door", "close_door", "pick_up_key", "drop_key", "unlock_door")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")


def coloured(holes: int) -> Machine:
    """Pays each event of each colour by a hole of its own, as many as are asked for."""
    pairs = [(event, colour) for colour in COLOURS for event in COLOURED][:holes]
    rules = [f"    {event} where colour = {colour} // ?{event}_{colour}" for event, colour in pairs]
    names = " ".join(f"?{event}_{colour}" for event, colour in pairs)
    return parse("\n".join(["machine coloured", "words minigrid", f"holes {names}", "start s", *rules]) + "\n")


def cost() -> None:
    def seconds(task: Task, machine: Machine, count: int) -> str:
        shown = record(task, count, 0).as_rollout() if count > 10 else demos.choose(task, None, count).as_rollout()
        began = time.process_time()
        play = random_play(task, shown, 0)
        found = infer(machine, machine.constraint(), task.event_reader(), shown, [play], seed=0)
        return f"{time.process_time() - began:.1f} | {found.draws.sweeps} | {'yes' if found.converged else 'no'} |"

    print("| machine | holes | demonstrations | seconds | sweeps | converged |\n|---|---|---|---|---|---|")
    tasks = [(task, name) for task in FAMILIES.values() for name in task.machines if "_handset" not in name]
    for task, name in tasks:
        machine = find_machine(name)
        if machine.holes:
            print(f"| {name} | {len(machine.holes)} | 10 | {seconds(task, machine, 10)}", flush=True)
    for count in (1, 100):
        machine = find_machine("doorkey")
        print(
            f"| doorkey | {len(machine.holes)} | {count} | {seconds(FAMILIES['doorkey'], machine, count)}", flush=True
        )
    for holes in (5, 12, 30):
        print(f"| coloured | {holes} | 10 | {seconds(FAMILIES['keycorridor'], coloured(holes), 10)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--ways", nargs="+", default=["algorithm1", "posterior"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[201, 202, 203, 204, 205])
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("infer.jsonl"))
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    if options.cost:
        return cost()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for task in options.tasks:
        for seed in options.seeds:
            for way in options.ways:
                if any((row["task"], row["way"], row["seed"]) == (task, way, seed) for row in rows):
                    continue
                rows.append(run(task, way, seed, options.core))
                with options.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return print(table(rows, options.tasks, options.ways))


if __name__ == "__main__":
    main()
