"""Machines in the terminal and as text: columns line up, colours tell words apart, and the text reads back."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from rich.console import Console

from srm.machine.drawing.terminal import STYLES, coloured, show
from srm.machine.language.parse import find_machine, library, parse
from srm.machine.model import Machine
from tests.machines import machines


def printed(machine: Machine, *, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=60, color_system="standard" if terminal else None)
    show(machine, console)
    return out.getvalue()


def styles_of(machine: Machine) -> dict[str, str]:
    """The style of each word that is coloured, where it is first met."""
    shown = coloured(machine)
    found: dict[str, str] = {}
    for span in shown.spans:
        found.setdefault(shown.plain[span.start : span.end], str(span.style))
    return found


@pytest.mark.parametrize("name", library())
def test_what_is_piped_is_the_machine_again(name: str) -> None:
    machine = find_machine(name)
    assert parse(printed(machine, terminal=False)) == machine


@settings(max_examples=30)
@given(machines())
def test_colours_change_no_letter(machine: Machine) -> None:
    assert coloured(machine).plain + "\n" == str(machine)


def test_words_are_coloured_by_what_they_are() -> None:
    styles = styles_of(find_machine("obstructedmaze_2"))
    for word, kind in {
        "?see": "hole", "#boxes": "counter", "open_box": "event", "left": "term", "machine": "header", "otherwise": "word",
        "after_seeing_target": "node", '"reward finding target"': "label",
    }.items():  # fmt: skip
        assert styles[word] == STYLES[kind], word


def test_every_node_a_counter_counts_at_is_shown_as_a_node() -> None:
    machine = parse("machine m\ncounters\n  #n counts e at a, b resets on f\nstart a\nnode b\n")
    shown = coloured(machine)
    bold = [shown.plain[s.start : s.end] for s in shown.spans if s.style == STYLES["node"]]
    assert bold == ["m", "a", "b", "a", "b"]


def test_colour_only_in_a_terminal() -> None:
    machine = find_machine("doorkey")
    assert "\x1b[" in printed(machine, terminal=True)
    assert "\x1b[" not in printed(machine, terminal=False)


# Columns


def column_of(text: str, mark: str) -> set[int]:
    return {line.index(mark) for line in text.splitlines() if mark in line}


def section(machine: Machine, header: str) -> str:
    return next(part for part in str(machine).split("\n\n") if part.startswith(header))


def test_pays_of_a_node_stand_under_one_another() -> None:
    machine = find_machine("keycorridor")
    for node in machine.nodes[:3]:
        kind = "start" if node.name == machine.start else "node"
        assert len(column_of(section(machine, f"{kind} {node.name}"), " // ")) == 1


def test_arrows_of_a_node_stand_under_one_another() -> None:
    machine = parse("machine m\nstart a\n  e // 1 -> b\n  f // 100 + 1 -> a\n  g // 1000 + 100 + 1\naccept b\n")
    assert column_of(str(machine), "->") == {19}


def test_decimal_points_of_values_stand_under_one_another() -> None:
    machine = parse("machine m\nholes\n  ?a = 10.25 +- 0.5\n  ?bc = -0.5\n  ?d = 1\n  ?e\nstart s\n")
    assert section(machine, "holes").splitlines() == [
        "holes",
        "    ?a  = 10.25 +- 0.5",
        "    ?bc = -0.5",
        "    ?d  =  1",
        "    ?e",
    ]


def test_relations_of_a_constraint_stand_under_one_another() -> None:
    atoms = section(find_machine("doorkey"), "constraint")
    assert len(column_of(atoms, " <= ")) == 1


def test_a_long_formula_goes_on_where_the_language_allows() -> None:
    machine = find_machine("obstructedmaze_1")
    assert all(len(line) <= 120 for line in str(machine).splitlines())
    first, second = section(machine, "let").splitlines()
    assert first.index("=") == second.index("+")


def test_a_very_long_guard_does_not_push_the_pay_of_its_neighbours_away() -> None:
    long = " and ".join(f"event_number_{i}" for i in range(6))
    machine = parse(f"machine m\nstart s\n  {long} // 1\n  e // 2\n")
    assert "    e  // 2" in str(machine)
    assert parse(str(machine)) == machine


def test_many_holes_fill_several_lines() -> None:
    machine = parse("machine m\nholes " + " ".join(f"?hole_{i}" for i in range(40)) + "\nstart s\n")
    assert all(len(line) <= 120 for line in str(machine).splitlines())
    assert parse(str(machine)) == machine
