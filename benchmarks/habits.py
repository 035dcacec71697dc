"""Experts with preferences of their own: does inference follow what was shown, does it settle, and can the agent still be taught?

    python benchmarks/habits.py [--seeds 201 202 203] [--core 0] [--out habits.jsonl]

Ten demonstrations each by planners that close every door behind them, drop the key and retake it, retake the used key, or play a third of random
actions; no constraint but what forbids farming. With `--allow-farming` the sign of the hole should follow the demonstrations and stay
(the policy may then farm); without it the policy should solve the task, and the page names the atom that the demonstrations press
against. Of every run: the paid value of the hole over the last third of the rounds, the standard deviation of each hole's mean over
these rounds in units of its reported spread (the largest of all holes), the return, and the pressed atoms.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import pstdev
from typing import Any

CASES = {  # task, what the demonstrator does, the hole it is about
    "doorkey closes_doors": ("doorkey", ["--habit", "closes_doors"], "close", "0.92"),
    "doorkey redrops_key": ("doorkey", ["--habit", "redrops_key"], "drop", "0.92"),
    "keycorridor closes_doors": ("keycorridor", ["--habit", "closes_doors"], "close", "0.8"),
    "keycorridor redrops_key": ("keycorridor", ["--habit", "redrops_key"], "drop_unused", "0.8"),
    "keycorridor retakes_used_key": ("keycorridor", ["--habit", "retakes_used_key"], "pick_used", "0.8"),
    "doorkey noise": ("doorkey", ["--noise", "0.33"], "goal", "0.92"),
    "keycorridor noise": ("keycorridor", ["--noise", "0.33"], "target", "0.8"),
}


def srm(*words: str, core: int) -> None:
    subprocess.run(
        [sys.executable, "-m", "srm", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def run(case: str, seed: int, farming: bool, core: int) -> dict[str, Any]:
    task, how, hole, goal = CASES[case]
    place = Path(tempfile.mkdtemp())
    srm("demo", task, *how, "-n", "10", "--seed", str(seed), "-o", str(place / "demos.npz"), core=core)
    words = ["learn", task, "--demos", str(place / "demos.npz"), "--constraint", "none", "--seed", str(seed)]
    more = ["--allow-farming", "--frames", "250000"] if farming else ["--frames", "2000000", "--stop-at", goal]
    srm(*words, *more, "-o", str(place / "run"), core=core)
    with (place / "run" / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    late = rows[2 * len(rows) // 3 :]
    names = [name.removeprefix("hole.") for name in rows[0] if name.startswith("hole.")]
    moved = {n: pstdev(float(r[f"hole.{n}"]) for r in late) / max(1e-9, float(late[-1][f"spread.{n}"])) for n in names}
    values = [float(row[f"hole.{hole}"]) for row in late]
    summary = json.loads((place / "run" / "summary.json").read_text())
    posterior = json.loads((place / "run" / "posterior.json").read_text())
    known = next(h for h in posterior["holes"] if h["name"] == hole)
    shutil.rmtree(place)
    return {
        "case": case,
        "seed": seed,
        "farming allowed": farming,
        "hole": hole,
        "paid, least and most of the last third": [round(min(values), 2), round(max(values), 2)],
        "mean": round(known["mean"], 2),
        "spread": round(known["spread"], 2),
        "movement of the most restless hole, in spreads": round(max(moved.values()), 2),
        "return": summary["return"],
        "frames": summary["frames"],
        "pressed": [atom["text"] for atom in posterior["pressed"]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[201, 202, 203])
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("habits.jsonl"))
    options = parser.parse_args()
    for case in options.cases:
        for seed in options.seeds:
            for farming in (True, False) if "noise" not in case else (False,):
                row = json.dumps(run(case, seed, farming, options.core))
                print(row, flush=True)
                with options.out.open("a") as file:
                    file.write(row + "\n")


if __name__ == "__main__":
    main()
