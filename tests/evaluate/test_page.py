"""The page about evaluation: its example runs, and the commands and files it names are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from srm.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text()


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/evaluation.md", "exec"), names)
    assert names["returns"].shape == (16, 10)


def test_the_trace_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    told = re.search(r"    \$ srm ([^\n]*)\n(.*?)\n          \.\.\.", PAGE, re.DOTALL)
    assert told
    assert main(told.group(1).split()) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert all(line.split() in printed for line in told.group(2).splitlines())


def test_the_files_it_names_exist() -> None:
    for path in re.findall(r"`((?:srm|tests|benchmarks)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
