"""The examples of docs/checks.md are what the checks print."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from subprocess import PIPE, run

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()
BLOCK = re.compile(r"^    \$ srm (check .*)\n((?:    .*\n)+)", re.MULTILINE)
EXAMPLES = [(found[1], [line.strip() for line in found[2].splitlines()]) for found in BLOCK.finditer(PAGE)]


@pytest.mark.parametrize(("command", "lines"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_page_shows_what_is_printed(command, lines):
    # in a process of its own, as a reader would: which witness Z3 finds depends on what it was asked before
    told = run([sys.executable, "-m", "srm", *command.split()], stdout=PIPE, text=True).stdout
    printed = [line.strip() for line in told.splitlines()]
    assert [line for line in lines if line not in printed] == []


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/checks.md", "exec"), {})
    assert "warning implied" in capsys.readouterr().out
