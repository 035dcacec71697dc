"""docs/results.md and docs/paper_figures.md: what they say of the published runs is so."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS, FIGURES = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("results.md", "paper_figures.md"))
UNDER_PROTOCOL = ("deciding", "propose")  # suites of which every published run follows it
FIRST_SEED = 120


def setting(config: Any, name: str) -> Any:
    """The first value of that name, however deep it lies."""
    if not isinstance(config, dict):
        return None
    inside = (setting(value, name) for value in config.values())
    return config[name] if name in config else next((value for value in inside if value is not None), None)


def curves(protocol: bool) -> Iterator[list[Path]]:
    """The run folders of each curve, of those that follow the protocol or of the others."""
    folders = {path.parent.parent for path in ROOT.glob("results/*/*/seed*/config.json")}
    chosen = (folder for folder in sorted(folders) if (folder.parent.name in UNDER_PROTOCOL) == protocol)
    return (sorted(folder.glob("seed*/")) for folder in chosen)


def config_of(run: Path) -> Any:
    return json.loads((run / "config.json").read_text())


def was_stopped(run: Path) -> bool:
    """Whether a run has no summary, or reached neither its return nor the frames of its configuration."""
    config = config_of(run)
    with (run / "log.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    goal = setting(config, "stop_at")
    good = goal is not None and float(last["return"]) >= goal
    return not (run / "summary.json").exists() or not (good or int(last["frames"]) >= setting(config, "frames"))


def test_the_page_counts_curves_of_one_seed_and_curves_with_stopped_runs() -> None:
    sentence = re.search(
        r"Of the (\d+) curves there, (\d+) have one seed, and (\d+) have a run that was stopped", FIGURES
    )
    assert sentence
    runs = list(curves(protocol=False))
    counted = len(runs), sum(len(seeds) == 1 for seeds in runs), sum(any(map(was_stopped, seeds)) for seeds in runs)
    assert counted == tuple(map(int, sentence.groups()))


def test_every_row_of_one_seed_is_marked() -> None:
    """A row of a table with a column of seeds and a return, whose cell of seeds has one number, has the mark."""
    unmarked = []
    column = None
    for line in f"{RESULTS}\n{FIGURES}".splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            column = None
        elif "seeds" in cells or ("seed" in cells and "return" in cells):
            column = next(index for index, cell in enumerate(cells) if cell in ("seeds", "seed"))
        elif column is not None and re.fullmatch(r"\d+", cells[column]) and cells[0] and "¹" not in line:
            unmarked.append(line)
    assert unmarked == []


def test_runs_under_the_protocol_are_of_fresh_seeds_and_came_to_their_end() -> None:
    for runs in curves(protocol=True):
        seeds = [setting(config_of(run), "seed") for run in runs]
        assert seeds == list(range(FIRST_SEED, FIRST_SEED + len(seeds))), runs[0].parent
        assert not any(map(was_stopped, runs)), runs[0].parent


def test_curves_that_are_compared_have_the_same_settings_of_their_learner() -> None:
    """In one environment, whatever pays: all of PPO's settings, the network's, and AGAC's but for the weight that a curve is about."""
    by_env: dict[tuple[str, str], dict[str, Path]] = {}
    for runs in curves(protocol=True):
        config = config_of(runs[0])
        learner = setting(config, "learner")
        settings = {name: setting(config, name) for name in ("net", "ppo", "network")}
        by_env.setdefault((config["env_id"], learner), {}).setdefault(json.dumps(settings, sort_keys=True), runs[0])
    assert {key: [str(path) for path in ways.values()] for key, ways in by_env.items() if len(ways) > 1} == {}
