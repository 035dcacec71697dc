"""Run folders with invented logs, for what compares them: no machine, no weights, and made at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

EACH = 1000  # frames of a round


def write_measured(
    folder: Path,
    returns: Sequence[float | None],
    *,
    seed: int = 0,
    kind: str = "train",
    env_id: str = "MiniGrid-DoorKey-5x5-v0",
    finished: bool = True,
    stop_at: float | None = None,
    holes: Mapping[str, float] | None = None,
    episodes: int = 100,
    **settings: Any,
) -> Path:
    """A row of its log for each return, a thousand frames and two seconds apart."""
    folder.mkdir(parents=True)
    asked = {
        "task": "doorkey",
        "seed": seed,
        "stop_at": stop_at,
        "cores": seed % 2,
        "learning": {"learner": "ppo", "net": "cnn"},
    }
    asked |= {"reward": "task"} if kind == "train" else {"machine": None}
    part = {"train": "training", "learn": "learning"}[kind]
    config = {"kind": kind, part: asked | settings, "env_id": env_id, "command": f"srm {kind} doorkey --seed {seed}"}
    (folder / "config.json").write_text(json.dumps(config))
    values = dict(holes or {})
    names = [
        "round",
        "frames",
        "seconds",
        "return",
        "success",
        "length",
        "episodes",
        "paid",
        *(f"hole.{n}" for n in values),
    ]
    rows = [",".join([*names, *(f"spread.{name}" for name in values), "loss"])]
    for index, value in enumerate(returns, 1):
        told = "" if value is None else value
        cells = [index, EACH * index, 2 * index, told, told, 20, 0 if value is None else episodes, 0.1]
        rows.append(",".join(map(str, [*cells, *values.values(), *[0.25] * len(values), 3.0])))
    (folder / "log.csv").write_text("".join(f"{row}\n" for row in rows) if returns else "")
    if finished:
        last = next((value for value in reversed(returns) if value is not None), None)
        summary = {"frames": EACH * len(returns), "seconds": 2.0 * len(returns), "return": last, "success": last}
        (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def write_suite(out: Path) -> Path:
    """Two curves of three seeds, one of them with holes, as `srm suite` lays them out."""
    for seed in range(3):
        rising = [0.1 * step + 0.02 * seed for step in range(9)]
        write_measured(out / "plain" / f"seed{seed}", rising, seed=seed)
        quick = [None, 0.3, 0.6 + 0.05 * seed, 0.9 + 0.01 * seed]
        believed = {"goal": 1.0 + 0.1 * seed, "close": -0.5}
        write_measured(out / "machine" / f"seed{seed}", quick, seed=seed, kind="learn", stop_at=0.9, holes=believed)
    curves = {"machine": "learn doorkey --stop-at 0.9", "plain": "train doorkey"}
    about = {"name": "doors", "title": "Doors, two ways", "scale": "tiny", "curves": curves}
    (out / "suite.json").write_text(json.dumps(about))
    return out
