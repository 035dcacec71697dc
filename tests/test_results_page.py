"""docs/results.md: what it says of the published runs is so."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def setting(config: Any, name: str) -> Any:
    """The first value of that name, however deep it lies."""
    if not isinstance(config, dict):
        return None
    inside = (setting(value, name) for value in config.values())
    return config[name] if name in config else next((value for value in inside if value is not None), None)


def curves() -> Iterator[list[Path]]:
    """The run folders of each curve."""
    folders = {path.parent.parent for path in ROOT.glob("results/*/*/seed*/config.json")}
    return (sorted(folder.glob("seed*")) for folder in sorted(folders))


def was_stopped(run: Path) -> bool:
    """Whether a run has no summary, or reached neither its return nor the frames of its configuration."""
    config = json.loads((run / "config.json").read_text())
    with (run / "log.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    goal = setting(config, "stop_at")
    good = goal is not None and float(last["return"]) >= goal
    return not (run / "summary.json").exists() or not (good or int(last["frames"]) >= setting(config, "frames"))


def test_the_page_counts_curves_of_one_seed_and_curves_with_stopped_runs() -> None:
    sentence = re.search(r"Of the (\d+) curves there, (\d+) have one seed, and (\d+) have a run that was stopped", PAGE)
    assert sentence
    runs = list(curves())
    counted = len(runs), sum(len(seeds) == 1 for seeds in runs), sum(any(map(was_stopped, seeds)) for seeds in runs)
    assert counted == tuple(map(int, sentence.groups()))


def test_every_row_of_one_seed_is_marked() -> None:
    """A row of a table with a column of seeds and a return, whose cell of seeds has one number, has the mark."""
    unmarked = []
    column = None
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            column = None
        elif "seeds" in cells or ("seed" in cells and "return" in cells):
            column = next(index for index, cell in enumerate(cells) if cell in ("seeds", "seed"))
        elif column is not None and re.fullmatch(r"\d+", cells[column]) and cells[0] and "¹" not in line:
            unmarked.append(line)
    assert unmarked == []
