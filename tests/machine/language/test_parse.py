"""From text to machine: what a file may look like, where machines are found, and what is told of every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.domains.registry import MODULES, KnownVocabularies
from srm.errors import MOST_SHOWN, MachineError
from srm.machine.fit import require_words
from srm.machine.holes import Hole
from srm.machine.language.parse import find_machine, library, load, parse
from srm.machine.model import Machine, Node, Rule
from srm.machine.terms import And, Compare, CounterTerm, Happens, HoleTerm, NamedTerm, Number, Product, SignalTerm, Sum
from tests.machines import WORDS

# Mistakes

# mistakes.txt holds, for each example: its name, a file, dashes, and everything that is told about the file.
MISTAKES = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8").removeprefix("===== ").split("\n===== ")


@pytest.mark.parametrize("example", MISTAKES, ids=lambda example: example.split("\n", 1)[0].replace(" ", "-"))
def test_mistakes_are_told_with_place_caret_and_remedy(example: str) -> None:
    _, _, rest = example.partition("\n")
    text, _, told = rest.partition("\n---\n")
    with pytest.raises(MachineError) as wrong:
        parse(text, {WORDS.name: WORDS}, "m.srm")
    assert str(wrong.value) == told.rstrip("\n")


def test_no_more_mistakes_are_told_than_can_be_read() -> None:
    with pytest.raises(MachineError) as wrong:
        parse("machine m\nstart s\n" + "    wait\n" * 1000)
    assert len(wrong.value.problems) == MOST_SHOWN
    assert str(wrong.value).endswith("... and more; mend these first")


def test_words_are_checked_only_where_a_vocabulary_is_given() -> None:
    text = "machine m\nwords rooms\nstart s\n    fly // soaring\n"
    assert parse(text).nodes[0].rules == (Rule(Happens("fly"), SignalTerm("soaring")),)
    with pytest.raises(MachineError, match="no event fly"):
        parse(text, {WORDS.name: WORDS})
    nameless = text.replace("words rooms\n", "")
    assert parse(nameless, {WORDS.name: WORDS}).words is None


def test_a_machine_built_in_python_can_be_held_to_a_vocabulary() -> None:
    machine = Machine("m", (Node("s", (Rule(Happens("fly"), Number(1.0)),)),), "s")
    with pytest.raises(MachineError, match="machine m: vocabulary rooms has no event fly"):
        require_words(machine, WORDS)


# What a file may look like

PLAIN = """machine m
holes ?a ?b
counters
    #c counts wait
let left = ?a + #c * (?b - ?a)
start s
    opened: push and left > 0 // ?a -> t
    wait // -?b
accept t
constraint
    "less" ?a <= ?b
"""


def test_comments_and_blank_lines_say_nothing() -> None:
    commented = PLAIN.replace("\n", "  # a note\n\n    ## another\n#!\n#\n")
    assert parse(commented) == parse(PLAIN)


def test_a_hash_within_a_label_is_no_comment() -> None:
    atom = parse(PLAIN.replace("less", "a # is less")).constraints[0].atoms[0]
    assert atom.label == "a # is less"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="crlf"),
        pytest.param(lambda text: ("\ufeff" + text).encode(), id="byte order mark"),
        pytest.param(lambda text: text.replace("    ", "\t"), id="tabs"),
        pytest.param(lambda text: text.replace("    ", ""), id="no indentation"),
        pytest.param(lambda text: text.rstrip(), id="no last line end"),
        pytest.param(lambda text: text.replace(" ", "   "), id="wide"),
        pytest.param(lambda text: text.replace(" //", "\n  //").replace(" ->", "\n  ->"), id="pay on its own line"),
        pytest.param(lambda text: text.replace("opened: ", "opened:\n        "), id="label on its own line"),
        pytest.param(lambda text: text.replace(" + ", "\n + ").replace(" and ", "\n and "), id="operators first"),
        pytest.param(lambda text: text.replace("(?b - ?a)", "(?b\n  - \n ?a\n)"), id="inside parentheses"),
        pytest.param(lambda text: text.replace("holes ?a ?b", "holes ?a\nholes\n    ?b"), id="holes in two sections"),
    ],
)
def test_layout_does_not_matter(change: object) -> None:
    assert parse(change(PLAIN)) == parse(PLAIN)  # type: ignore[operator]


def test_the_parts_of_a_machine() -> None:
    machine = parse(PLAIN)
    opened, waited = machine.nodes[0].rules
    assert machine.holes == (Hole("a"), Hole("b"))
    assert opened.guard == And((Happens("push"), Compare(NamedTerm("left"), ">", Number(0.0))))
    assert (opened.name, opened.target, waited.target) == ("opened", "t", None)
    assert machine.nodes[1] == Node("t", accepting=True)
    (name, left), *_ = machine.terms
    assert (name, left.parts[0]) == ("left", HoleTerm("a"))  # type: ignore[union-attr]


def test_a_named_term_may_be_used_above_the_line_that_names_it() -> None:
    machine = parse("machine m\nstart s\n    wait // total\nlet total = 2\n")
    assert machine.nodes[0].rules[0].pay == NamedTerm("total")


def test_multiplication_binds_before_addition_and_comparison_before_and() -> None:
    rule = parse("machine m\nstart s\n    push or wait and 1 + 2 * speed > 3 // 1").nodes[0].rules[0]
    total = Sum((Number(1.0), Product((Number(2.0), SignalTerm("speed")))))
    assert str(rule.guard) == "push or wait and 1 + 2 * speed > 3"
    assert rule.guard.guards[1] == And((Happens("wait"), Compare(total, ">", Number(3.0))))  # type: ignore[union-attr]


def test_otherwise_opens_a_tier_on_its_own_line_or_before_a_rule() -> None:
    alone = parse("machine m\nstart s\n  wait // 1\n  otherwise\n  push // 2\n  drop // 3\n  otherwise // 4")
    assert [rule.tier for rule in alone.nodes[0].rules] == [0, 1, 1, 2]
    assert str(alone.nodes[0].rules[3].guard) == "always"
    assert (
        parse("machine m\nstart s\n  wait // 1\n  otherwise push // 2\n  drop // 3\n  otherwise always // 4") == alone
    )


def test_spread_is_written_with_either_sign() -> None:
    assert parse("machine m\nholes ?a = 1 ± 0.5\nstart s") == parse("machine m\nholes ?a = 1 +- 0.5\nstart s")


def test_a_counter_may_be_called_like_an_event() -> None:
    machine = parse("machine m\ncounters\n  #wait counts wait\nstart s\n  wait and #wait > 1 // #wait")
    assert machine.nodes[0].rules[0].pay == CounterTerm("wait")


# Where machines are found


def test_the_machines_and_their_hand_set_values_ship() -> None:
    named = {"doorkey", "keycorridor", "keycorridor_rm", *(f"obstructedmaze_{number}" for number in (1, 2, 3, 4))}
    valued = {f"{name}_handset" for name in named - {"keycorridor_rm"}} | {"keycorridor_revised", "keycorridor_sound"}
    assert named | valued <= set(library())


@pytest.mark.parametrize("name", library())
def test_shipped_machines_use_the_words_of_a_domain(name: str) -> None:
    machine = find_machine(name, KnownVocabularies())
    assert machine.name == name
    words = "highway" if name == "merge" else next(filter(name.startswith, MODULES), MINIGRID_WORDS.name)
    assert machine.words == words


def test_a_file_comes_before_a_machine_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_machine("doorkey").holes
    Path("doorkey").write_text("machine mine\nstart s\n")
    assert find_machine("doorkey").name == "mine"


def test_an_unknown_machine_is_told_with_a_near_name() -> None:
    with pytest.raises(
        MachineError, match=r"dorkey: neither a file nor a machine of the library .* did you mean doorkey\?"
    ):
        find_machine("dorkey")


def test_a_file_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "demos.npz").write_bytes(b"PK\3\4\0\xff\xfe")
    with pytest.raises(MachineError, match=r"demos\.npz: not a text file, so this is not a machine"):
        load(tmp_path / "demos.npz")


@pytest.mark.parametrize("path", ["missing.srm", ".", "a\0b.srm", "x" * 5000, "", "~/x.srm"])
def test_files_that_cannot_be_read_are_told(path: str) -> None:
    with pytest.raises(MachineError, match=r"cannot be read \(.*\); give .* .srm file"):
        load(path)
    with pytest.raises(MachineError):
        find_machine(path)


def test_bytes_that_are_no_text_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "m.srm"
    file.write_bytes(b"machine m\nstart \xff\n")
    with pytest.raises(MachineError, match=r"m\.srm:2:7: byte 16 is not UTF-8; save the file as UTF-8 text"):
        load(file)
