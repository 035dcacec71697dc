"""README.md and docs/start.md: their machine, mistakes, commands and Python, in the order in which a reader would try them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT, run

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import MachineError
from srm.machine.language.parse import parse

ROOT = Path(__file__).parents[1]
BLOCKS = [
    (block[1], block[2])
    for page in ("README.md", "docs/start.md")
    for block in re.finditer(
        r"^```([^\n]+)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]


def matches(printed: str, shown: str) -> bool:
    """Whether the output is as shown, where `...` stands for anything, alone on a line for any number of lines."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in shown.splitlines()
    ]
    return re.fullmatch("".join(lines), re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)) is not None


def test_commands_print_what_the_pages_show(tmp_path: Path) -> None:
    first = tmp_path / "first.srm"
    commands = 0
    for kind, text in BLOCKS:
        if kind == "srm":
            first.write_text(text)
        elif kind == "srm more":
            first.write_text(first.read_text() + text)
        elif kind == "console":
            for command, shown in re.findall(r"^\$ srm (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                # in a process of its own, as a reader would: which witness Z3 finds depends on what it was asked before
                printed = run(
                    [sys.executable, "-m", "srm", *command.split()], cwd=tmp_path, stdout=PIPE, text=True
                ).stdout
                assert matches(printed, shown), f"srm {command} printed\n{printed}"
                commands += 1
    assert commands == 8


def test_the_python_of_the_first_page_runs_as_a_plain_script(tmp_path: Path) -> None:
    script = tmp_path / "first.py"
    script.write_text(next(text for kind, text in BLOCKS if kind == "python"))
    # in a folder and a process of its own, without a main guard, and with a backend of matplotlib that opens no window
    terminated = run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
    )
    assert terminated.returncode == 0, terminated.stdout
    assert "?goal" in terminated.stdout


def test_the_mistake_is_printed_as_shown() -> None:
    ((_, wrong), (_, message)) = ((kind, text) for kind, text in BLOCKS if kind in ("srm wrong", "text"))
    with pytest.raises(MachineError) as refused:
        parse(wrong, {MINIGRID_WORDS.name: MINIGRID_WORDS}, "second.srm")
    assert f"{refused.value}\n" == message


def test_the_first_machine_has_ten_lines() -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "srm")
    assert len(text.splitlines()) == 10


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        if not re.match(r"https?:", link):
            target = path.parent / file if file else path
            assert target.exists(), f"{page}: {link}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
                assert anchor in slugs, f"{page}: {link}"


def test_the_index_of_the_docs_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"({page})" not in index] == []
