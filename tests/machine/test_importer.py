"""Machines of the reward_machines package: read without running them, and meaning what they mean there."""

from __future__ import annotations

import contextlib
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srm.errors import MachineError, SettingError
from srm.machine.importer.writer import FALLEN, Imported, import_reward_machine, read_reward_machine
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.terms import Always, And, Guard, Happens, Not, Number, Or

COFFEE = """0 # initial state
[2] # terminal state
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(1,1,'!g&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))"""


def read(text: str, file: str = "coffee.txt") -> Imported:
    return read_reward_machine(text, file)


def edges(*lines: str) -> str:
    return "\n".join(["0", "[9]", *lines, "(0, 9, 'finish', ConstantRewardFunction(1))"])


def mistakes(text: str) -> tuple[str, ...]:
    with pytest.raises(MachineError) as caught:
        read(text, "m.txt")
    return caught.value.problems


# What it means


def holds(guard: Guard, happening: frozenset[str]) -> bool:
    match guard:
        case Always():
            return True
        case Happens(event):
            return event in happening
        case Not(inner):
            return not holds(inner, happening)
        case And(inner):
            return all(holds(g, happening) for g in inner)
        case Or(inner):
            return any(holds(g, happening) for g in inner)
    raise AssertionError(guard)


def step(machine: Machine, node: str, happening: frozenset[str]) -> tuple[str, float]:
    """Where the machine goes and what it pays, asking its tiers in order."""
    held = [rule for rule in machine.node(node).rules if holds(rule.guard, happening)]
    taken = [rule for rule in held if rule.tier == min(r.tier for r in held)]
    if not taken:
        return node, 0.0
    (rule,) = taken
    assert isinstance(rule.pay, Number)
    return rule.target or node, rule.pay.value


def holds_there(formula: str, happening: frozenset[str]) -> bool:
    """What the package's own evaluation of a formula says."""
    if "|" in formula:
        return any(holds_there(part, happening) for part in formula.split("|"))
    if "&" in formula:
        return all(holds_there(part, happening) for part in formula.split("&"))
    if formula.startswith("!"):
        return not holds_there(formula[1:], happening)
    return {"True": True, "False": False}.get(formula, formula in happening)


LITERAL = st.sampled_from(("a", "b", "c", "!a", "!b", "!c", "!!a", "True", "False"))
FORMULA = st.lists(st.lists(LITERAL, min_size=1, max_size=3).map("&".join), min_size=1, max_size=3).map("|".join)


@given(st.lists(FORMULA, min_size=1, max_size=5, unique=True))
@example(["a", "a|b", "!a&!b"])
def test_the_first_line_that_holds_is_taken_and_without_one_the_state_is_left(formulas: list[str]) -> None:
    lines = [f"(0, {i + 1}, '{formula}', ConstantRewardFunction({i}))" for i, formula in enumerate(formulas)]
    terminal = list(range(1, len(formulas) + 1))
    machine = read("\n".join(["0", str(terminal), *lines])).machine
    for truths in product((False, True), repeat=3):
        happening = frozenset(event for event, true in zip("abc", truths, strict=True) if true)
        first = next((i for i, formula in enumerate(formulas) if holds_there(formula, happening)), None)
        expected = (FALLEN, 0.0) if first is None else (f"u{first + 1}", float(first))
        assert step(machine, "u0", happening) == expected


def test_a_file_of_the_package_becomes_this_machine() -> None:
    assert read(COFFEE).machine == parse(
        """
        machine coffee
        start u0
            not f and not n // 0
            f and not n     // 0 -> u1
            otherwise always // 0 -> fell_off
        node u1
            not g and not n // 0
            g and not n     // 1 -> u2
            otherwise always // 0 -> fell_off
        accept u2
        node fell_off
        """
    )


def test_what_is_printed_reads_back() -> None:
    imported = read(COFFEE)
    assert parse(str(imported)) == imported.machine
    assert str(imported).startswith("# Imported from coffee.txt")


def test_the_name_of_a_file_cannot_add_lines_to_the_machine() -> None:
    imported = read(COFFEE, "a\nmachine b.txt")
    assert parse(str(imported)) == imported.machine


def test_two_edges_between_the_same_nodes_are_kept() -> None:
    machine = read(
        edges(
            "(0, 9, 'a', ConstantRewardFunction(1))", "(0, 9, '!a&b', ConstantRewardFunction(2))",
            "(0, 0, '!a&!b', ConstantRewardFunction(-0.5))",
        )
    ).machine  # fmt: skip
    paid = [str(rule.pay) for rule in machine.node("u0").rules if rule.target == "u9"]
    assert paid == ["1", "2", "1"]


def test_formulas_that_leave_nothing_out_need_no_way_to_fall_off() -> None:
    machine = read("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n(0,0,'!a',ConstantRewardFunction(0))").machine
    assert [node.name for node in machine.nodes] == ["u0", "u1"]


def test_lines_that_can_hold_together_are_noted() -> None:
    imported = read("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n(0,0,'b',ConstantRewardFunction(0))")
    assert [rule.tier for rule in imported.machine.node("u0").rules] == [0, 1, 2]
    assert "Lines 3 and 4 can hold together; the first is taken." in imported.notes


def test_a_reward_that_is_no_constant_becomes_a_signal() -> None:
    imported = read("0\n[]\n(0,0,'a',RewardForward())\n(0,0,'!a',RewardScaled(0.5, -2))")
    assert [str(rule.pay) for rule in imported.machine.node("u0").rules] == [
        "reward_forward",
        "reward_scaled_0_5_minus_2",
    ]
    assert any("reward_forward stands for RewardForward()" in note for note in imported.notes)


def test_an_event_that_is_a_word_of_the_language_is_renamed() -> None:
    imported = read(edges("(0,0,'on&!on_&!finish',ConstantRewardFunction(0))"))
    assert str(imported.machine.node("u0").rules[0].guard) == "on__ and not on_ and not finish"
    assert parse(str(imported)) == imported.machine


def test_edges_that_leave_a_terminal_state_are_left_out_and_noted() -> None:
    imported = read(edges("(9,0,'a',ConstantRewardFunction(5))"))
    assert imported.machine.node("u9").rules == ()
    assert any("line 3" in note for note in imported.notes)


def test_comments_and_blank_lines_and_negative_states() -> None:
    machine = read('\n# mine\n-1\n\n[ 2, 3, ]\n(-1, 2, "a", ConstantRewardFunction(1e-3)) # go\n').machine
    assert machine.start == "u_minus_1"
    assert [node.name for node in machine.nodes if node.accepting] == ["u2", "u3"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("t1.txt", "t1"), ("2nd machine.txt", "rm_2nd_machine"), ("start.txt", "start_"), ("?.txt", "rm_")],
)
def test_the_machine_is_named_after_its_file(file: str, name: str) -> None:
    assert read(COFFEE, file).machine.name == name


# Names of one's own


def test_events_nodes_and_signals_can_be_renamed() -> None:
    text = edges("(0, 1, 'on&!k', RewardForward())", "(1, 0, 'k', ConstantRewardFunction(0))")
    names = {"k": "pick_up_key", "on": "switch", "u1": "lit", "reward_forward": "speed", FALLEN: "lost"}
    imported = read_reward_machine(text, "m.txt", names)
    assert [str(rule) for rule in imported.machine.node("u0").rules] == [
        "switch and not pick_up_key // speed -> lit", "finish // 1 -> u9", "always // 0 -> lost",
    ]  # fmt: skip
    assert not any("word of this language" in note for note in imported.notes)
    assert parse(str(imported)) == imported.machine


def test_two_events_can_change_names() -> None:
    machine = read_reward_machine(edges("(0, 0, 'a&!b', F())"), "m.txt", {"a": "b", "b": "a"}).machine
    assert str(machine.node("u0").rules[0].guard) == "b and not a"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("finsh", "goal", "m.txt has no event, node or signal finsh; did you mean finish?"),
        ("zebra", "goal", "m.txt has no event, node or signal zebra; it has a, finish, u0, u9, fell_off"),
        ("a", "finish", "another is called finish; choose another name"),
        ("u9", "u0", "another is called u0; choose another name"),
        ("a", "otherwise", "otherwise is a word of the language"),
        ("a", "pick up", "pick up is no name; use letters, digits and _"),
        ("a", "b" * 101, "is no name; use letters, digits and _"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_the_flag(old: str, new: str, problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_reward_machine(edges("(0,0,'a',ConstantRewardFunction(0))"), "m.txt", {old: new})
    assert str(caught.value).startswith(f"--rename {old}={new}: ")
    assert str(caught.value).endswith(problem)


# Holes


def holes(*lines: str) -> Imported:
    return read_reward_machine(edges(*lines), "m.txt", holes=True)


def pays(imported: Imported, node: str = "u0") -> list[str]:
    return [str(rule.pay) for rule in imported.machine.node(node).rules]


def test_a_constant_becomes_a_hole_named_after_its_event_or_else_the_node() -> None:
    imported = holes(
        "(0, 9, 'k&!n', ConstantRewardFunction(0))",
        "(0, 9, 'a&b&!k', ConstantRewardFunction(2))",
        "(0, 0, '!k&!a', ConstantRewardFunction(-0.1))",
    )
    assert pays(imported) == ["?k", "?u9", "?u0", "?finish", "0"]
    assert [hole.name for hole in imported.machine.holes] == ["k", "u9", "u0", "finish"]
    assert all(hole.value is None for hole in imported.machine.holes)
    assert "Hole ?u0 was -0.1." in imported.notes
    assert parse(str(imported)) == imported.machine


def test_the_same_number_for_the_same_event_is_one_hole_and_another_number_another() -> None:
    imported = holes(
        "(0, 1, 'k', ConstantRewardFunction(1))",
        "(1, 9, 'k', ConstantRewardFunction(1))",
        "(1, 0, 'j', ConstantRewardFunction(1))",
        "(1, 1, 'k&!j', ConstantRewardFunction(-1))",
    )
    assert pays(imported) == ["?k", "?finish", "0"]
    assert pays(imported, "u1") == ["?k", "?j", "?k_2", "0"]


def test_a_rule_that_stays_and_pays_nothing_keeps_its_0_and_signals_stay() -> None:
    assert pays(holes("(0, 0, 'a', ConstantRewardFunction(0))", "(0, 0, 'b', RewardForward())"))[:2] == [
        "0",
        "reward_forward",
    ]


# Mistakes


@pytest.mark.parametrize(
    ("line", "place", "told"),
    [
        ("(0, 1, 'a', __import__('os').system('true'))", ":3:24: ", "expected a number, found '"),
        ("(0, 1, 'a', open)", ":3:17: ", "expected ( after open, found )"),
        ("(0, x, 'a', ConstantRewardFunction(1))", ":3:5: ", "expected the number of a state, found x"),
        ("(0, 1.5, 'a', ConstantRewardFunction(1))", ":3:5: ", "expected the number of a state"),
        ("(0, 1, a, ConstantRewardFunction(1))", ":3:8: ", "expected a formula in quotation marks, found a"),
        ("(0, 1, 'a&&b', ConstantRewardFunction(1))", ":3:8: ", "an event is missing"),
        ("(0, 1, 'a&(b|c)', ConstantRewardFunction(1))", ":3:8: ", "'(b' is not an event"),
        ("(0, 1, 'a', ConstantRewardFunction(1)", ":3:38: ", "expected ) at the end of the edge, the line ends"),
        ("(0, 1, 'a', ConstantRewardFunction())", ":3:36: ", "takes one number, found 0"),
        ("(0, 1, 'a', ConstantRewardFunction(1e999))", ":3:36: ", "too large"),
        ("(0, 1, 'a', ConstantRewardFunction(1)) + 1", ":3:40: ", "expected the end of the line, found +"),
        ("import os", ":3:1: ", "expected ( and an edge"),
        ("(0, 7, 'a', ConstantRewardFunction(1))", ":3:1: ", "state 7 has no edge and is not listed as terminal"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(line: str, place: str, told: str) -> None:
    (mistake,) = mistakes(edges(line))
    assert mistake.startswith(f"m.txt{place}")
    assert told in mistake
    assert line in mistake


def test_all_mistakes_are_told_together() -> None:
    told = mistakes("zero\n2\n(0)\n(0, 1, '', F())")
    assert [mistake.split(": ")[0] for mistake in told] == ["m.txt:1:1", "m.txt:2:1", "m.txt:3:3", "m.txt:4:8"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "m.txt:1: the file ends before the initial state"),
        ("0\n", "m.txt:2: the file ends before the terminal states"),
        ("0\n[0]\n", "m.txt: the initial state 0 is terminal"),
        ("0\n[1]\n", "m.txt: the initial state 0 has no edge"),
        (edges("(0,0,'a',F())", "(0,9,'a',F())"), "m.txt:4:1: state 0 has the formula 'a' on line 3 already"),
    ],
)
def test_a_machine_that_cannot_be_is_told(text: str, told: str) -> None:
    (mistake,) = mistakes(text)
    assert mistake.startswith(told)


def test_a_file_of_another_kind_does_not_flood_the_terminal() -> None:
    with pytest.raises(MachineError) as caught:
        read("lorem ipsum\n" * 1000)
    assert len(str(caught.value).splitlines()) < 70


@given(st.text(alphabet="0129(),'[]!&|#abConstantRewardFunction \n.-e", max_size=200) | st.binary(max_size=60))
@example(b"\xff\xfe")
@example("0\n[1]\n" + "(" * 100_000)
@example("0\n[1]\n(0,1,'" + "!" * 50_000 + "a',F())")
@example("9" * 100_000)
@example("0\n[1]\n(0,1,'" + "a|" * 100_000 + "a',F())")
@example("0\x00\n[1]")
def test_nothing_but_our_own_error_comes_out(data: str | bytes) -> None:
    with contextlib.suppress(MachineError):
        read_reward_machine(data, "m.txt")


def test_a_line_made_to_be_costly_is_read_in_time() -> None:
    many = "|".join(f"a{i}&!b{i}" for i in range(300))
    lines = [f"(0,9,'{many}|c{i}',ConstantRewardFunction({i}))" for i in range(60)]
    machine = read(edges(*lines)).machine
    assert len(machine.node("u0").rules) == 62


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"none\.txt: cannot be read"):
        import_reward_machine(tmp_path / "none.txt")
