"""The pages about evaluation and wrappers: their examples run, and the commands and files they name are there."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from srm.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text()


def run_examples(page: str) -> dict[str, Any]:
    """What the examples of a page leave behind when they are run one after another."""
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL):
        exec(compile(example, page, "exec"), names)
    return names


def test_the_example_runs() -> None:
    assert run_examples("evaluation.md")["returns"].shape == (16, 10)


def test_stable_baselines3_trains_through_the_wrapper_as_the_page_shows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Stable-Baselines3's own
        names = run_examples("wrappers.md")
    assert names["model"].num_timesteps == 2048
    assert set(names["info"]) >= {"node", "rule", "task_reward", "machine_reward"}


def test_the_trace_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    told = re.search(r"    \$ srm ([^\n]*)\n(.*?)\n          \.\.\.", PAGE, re.DOTALL)
    assert told
    assert main(told.group(1).split()) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert all(line.split() in printed for line in told.group(2).splitlines())


def test_the_files_it_names_exist() -> None:
    for path in re.findall(r"`((?:srm|tests|benchmarks)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
