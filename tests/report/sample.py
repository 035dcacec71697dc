"""A run folder like those of `srm learn`, made in a second: real machine, demonstrations, checks and episodes, an invented log.

The policy of its episodes plays at random.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains.demonstrations import save
from srm.domains.record import record
from srm.domains.tasks import find_task
from srm.machine.checks.check import check
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine
from srm.runs.episodes import record_episodes
from srm.runs.folder import RunWriter
from srm.runs.rule_rates import rule_names
from srm.seeding import stream

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NORMAL = (-1.645, -0.674, 0.0, 0.674, 1.645)  # those quantiles of a standard normal
SPREAD = 0.07
UNEXERCISED = "drop"  # the last hole in the tables that nobody exercised


def write_run(
    folder: Path, task: str = "DoorKey-5x5", machine: str = "doorkey", *, demonstrations: int = 3, episodes: int = 3
) -> Machine:
    """Writes the folder and returns the learnt machine."""
    row, opened = find_task(task), find_machine(machine)
    learnt = _learnt(opened, find_machine(f"{machine}_handset").values())
    config = {
        "kind": "learn",
        "learning": {
            "task": task,
            "seed": 3,
            "frames": 400_000,
            "ppo": {"clip_coef": 0.2, "num_envs": 64},
            "machine": None,
        },
        "env_id": row.env_id,
        "versions": {"symbolic-reward-machines": "0.2.0", "python": "3.11"},
        "command": ["srm", "learn", task, "--seed", "3"],
    }
    writer = RunWriter.create(folder, config, {"machine.srm": str(opened)})
    for values in _rounds(learnt, 60):
        writer.row(values)
    shown = record(row, demonstrations, seed=0)
    save(shown, folder / "demonstrations.npz")
    writer.text("learnt.srm", str(learnt))
    writer.text("posterior.json", json.dumps(_posterior(learnt)))
    writer.text("check.json", json.dumps(check(learnt, row.vocabulary).as_json()))
    rng = stream(0, "a policy that plays at random")
    played = record_episodes(row, learnt, shown, lambda observations: int(rng.integers(6)), episodes, seed=5)
    writer.text("episodes.json", json.dumps(played))
    writer.finish({"frames": 491_520, "rounds": 60, "seconds": 95.2, "return": 0.934, "success": 0.97, "length": 21.5})
    writer.close()
    return learnt


def _learnt(machine: Machine, values: Mapping[str, float]) -> Machine:
    return machine.concretize(values, dict.fromkeys(values, SPREAD))


def _rounds(machine: Machine, count: int) -> Any:
    """A log of holes that settle and a return that rises, from rounds in which no episode had ended."""
    rng = stream(1, "an invented log")
    for index in range(count):
        done = index / (count - 1)
        settled = 1 - np.exp(-5 * done)
        reached = None if index < 2 else float(0.95 / (1 + np.exp(-14 * (done - 0.5))) + 0.02 * rng.normal())
        row = {
            "round": index + 1,
            "frames": 8192 * (index + 1),
            "seconds": 1.6 * (index + 1),
            "return": reached,
            "success": None if reached is None else min(1.0, 1.03 * max(0.0, reached)),
            "length": None if reached is None else 250 - 230 * reached,
            "episodes": 0 if reached is None else 40,
            "paid": 0.02 * settled + 0.002 * float(rng.normal()),
        }
        for name, value in machine.values().items():
            row[f"hole.{name}"] = float(value * settled + 0.02 * rng.normal())
            row[f"spread.{name}"] = float(SPREAD + 0.5 * np.exp(-4 * done))
        for name in rule_names(machine):
            row[f"rule.{name}.rate"] = None if reached is None else 1.4 * done
        yield row | {"idle": -0.4, "loss_adv": float(1.2 - done), "loss_soft": float(0.5 * np.exp(-3 * done))}


def _posterior(machine: Machine) -> dict[str, Any]:
    names = list(machine.hole_names)
    return {
        "quantiles": QUANTILES,
        "constraint": machine.constraints[0].name,
        "margin": 0.0,
        "holes": [
            {
                "name": name,
                "value": value,
                "spread": SPREAD,
                "quantiles": [value + SPREAD * z for z in NORMAL],
                "demonstrated": 0 if name == UNEXERCISED else 10,
                "played": 0 if name == UNEXERCISED else 37 * names.index(name),
                "exercised": name != UNEXERCISED,
            }
            for name, value in machine.values().items()
        ],
    }
