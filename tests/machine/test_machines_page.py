"""docs/machines.md: what it says of the shipped machines is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from srm.cli import main
from srm.machine.importer.writer import read_reward_machine
from srm.machine.language.parse import find_machine, library, parse

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "machines.md").read_text(encoding="utf-8")


def blocks(section: str) -> list[str]:
    """The indented examples of a section."""
    body = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", body, re.MULTILINE)
    return ["\n".join(line.removeprefix("    ") for line in block.strip("\n").splitlines()) for block in found]


def test_every_shipped_machine_is_on_the_page() -> None:
    for name in library():
        pattern = re.sub(r"_\d_handset$", r"_*_handset", name)
        assert f"`{name}`" in PAGE or f"`{pattern}`" in PAGE, name


def test_the_command_on_the_page_makes_the_pictures(tmp_path: Path) -> None:
    (command,) = blocks("How to read the pictures")
    program, *arguments, folder = shlex.split(command)
    assert (program, folder) == ("srm", "docs/pictures")
    assert main([*arguments, str(tmp_path)]) == 0
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in (DOCS / "pictures").glob("*.svg")}
    assert made == kept
    assert set(re.findall(r"\(pictures/(\w+\.svg)\)", PAGE)) == set(kept)


@pytest.mark.parametrize(
    ("column", "machines"),
    [
        (2, ["doorkey"]),
        (3, ["keycorridor", "keycorridor_rm"]),
        (4, [f"obstructedmaze_{number}" for number in (1, 2, 3, 4)]),
    ],
)
def test_the_papers_numbers_are_in_the_order_of_the_holes(column: int, machines: list[str]) -> None:
    rows = re.findall(r"^\| \?\d+ \|.*\|$", PAGE, re.MULTILINE)
    assert len(rows) == 12
    listed = [row.split("|")[column].strip(" `?") for row in rows]
    for name in machines:
        assert tuple(hole for hole in listed if hole) == find_machine(name).hole_names


def test_the_values_on_the_page_are_those_of_the_files() -> None:
    table = PAGE.split("## Values set by hand\n", 1)[1]
    for name in ("doorkey_handset", "keycorridor_handset", "obstructedmaze_1_handset"):
        key = re.sub(r"_\d_", "_*_", name)
        told = next(row for row in table.splitlines() if f"`{key}`" in row).split("|")[2]
        values: dict[str, float] = {}
        waiting: list[str] = []
        for word in told.replace(",", " ").split():
            if re.fullmatch(r"[a-z_]+", word):
                waiting.append(word)
            else:
                values |= dict.fromkeys(waiting, float(word))
                waiting = []
        assert values == find_machine(name).values()


def test_the_imported_example_is_what_import_makes_of_it() -> None:
    theirs, *ours = blocks("Machines of other tools")
    for text, holes in zip(ours, (False, True), strict=True):
        machine = read_reward_machine(theirs, "coffee.txt", holes=holes).machine
        assert text + "\n" == str(machine)
        assert parse(text) == machine


def test_a_seen_target_behind_a_locked_door_pays_only_for_keys() -> None:
    rules = find_machine("obstructedmaze_1").node("after_seeing_target").rules
    assert [str(rule.guard) for rule in rules] == ["drop_key", "pick_up_key", "pick_up_target"]
