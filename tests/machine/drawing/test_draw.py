"""Pictures: nothing overlaps, all text lies on its card, and whatever a machine says is on the picture."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from srm.machine.drawing.arrange import Placed
from srm.machine.drawing.cards import FORMULA, Text
from srm.machine.drawing.draw import dot, mermaid, svg
from srm.machine.drawing.layout import Box, Link, Route, place
from srm.machine.drawing.pieces import Font, Lexicon, fold, line_width, text_width
from srm.machine.drawing.scene import MachineScene, PlacedCard, scene_of
from srm.machine.drawing.values import hole_value, value_of
from srm.machine.holes import Hole
from srm.machine.language.parse import find_machine, library, parse
from srm.machine.model import Machine, Node, Rule
from srm.machine.terms import Happens, Number
from tests.machines import machines

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
PICTURED = ("doorkey", "keycorridor", "keycorridor_rm", "obstructedmaze_1", "obstructedmaze_2", "obstructedmaze_3")
SPACE = "{http://www.w3.org/2000/svg}"

Rect = tuple[float, float, float, float]  # left, top, right, bottom


# Geometry


def rect(placed: PlacedCard | Placed) -> Rect:
    size = placed.card if isinstance(placed, PlacedCard) else placed.panel
    return placed.x, placed.y, placed.x + size.width, placed.y + size.height


def overlap(a: Rect, b: Rect) -> bool:
    """By more than the last digits of sums of floats."""
    least = 1e-6
    return a[0] < b[2] - least and b[0] < a[2] - least and a[1] < b[3] - least and b[1] < a[3] - least


def texts_of(placed: PlacedCard | Placed) -> list[Text]:
    if isinstance(placed, PlacedCard):
        rows = [text for row in placed.card.rows for text in row.texts]
        return [placed.card.title, *placed.card.dividers, *rows]
    return [placed.panel.title, *placed.panel.texts]


def ink(text: Text) -> Rect:
    """Where a text is drawn, relative to its card: letters reach 0.8 em above the baseline and 0.25 em below."""
    return text.x, text.y - 0.8 * text.font.size, text.right, text.y + 0.25 * text.font.size


def spans(route: Route) -> list[Rect]:
    """Boxes that hold the pieces of an arrow, drawn as thin as they are."""
    pairs = pairwise(route.points)
    return [(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])) for a, b in pairs]


def assert_well_laid_out(scene: MachineScene) -> None:
    placed = [*scene.cards, *scene.panels]
    for one, other in combinations(placed, 2):
        assert not overlap(rect(one), rect(other))
    for one in placed:
        left, top, right, bottom = rect(one)
        assert 0 <= left <= right <= scene.width
        assert 0 <= top <= bottom <= scene.height
        inks = [ink(text) for text in texts_of(one)]
        for x0, y0, x1, y1 in inks:
            assert x0 >= 0
            assert y0 >= 0
            assert x1 <= right - left
            assert y1 <= bottom - top
        for a, b in combinations(inks, 2):
            assert not overlap(a, b)
    for arrow in scene.arrows:
        for span in spans(arrow.route):
            assert not any(overlap(span, rect(one)) for one in placed)
            assert span[2] <= scene.width
            assert span[3] <= scene.height
    assert all(title.right <= scene.width for title in scene.titles)


@pytest.mark.parametrize("name", library())
def test_nothing_overlaps_on_shipped_machines(name: str) -> None:
    machine = find_machine(name)
    for constraint in (None, machine.constraint()):
        assert_well_laid_out(scene_of(machine, constraint))


@settings(max_examples=40)
@given(machines())
def test_nothing_overlaps_on_any_machine(machine: Machine) -> None:
    assert_well_laid_out(scene_of(machine, machine.constraint()))


def test_very_long_names_and_labels_stay_on_their_cards() -> None:
    word = "w" * 99
    machine = parse(
        f"machine m\nholes ?{word} ?b\ncounters\n  #{word} counts {word}\n"
        f"start a\n  {word}: {word} and #{word} * (?{word} - ?b) > 0 // ?{word} -> {word}\naccept {word}\n"
        f'constraint\n  "{"漢字 <b>&" * 40}" ?{word} <= ?b\n  "{"x" * 500}" ?b <= 0\n'
    )
    assert_well_laid_out(scene_of(machine, machine.constraint()))


def test_a_chain_runs_from_left_to_right_with_its_headers_in_line() -> None:
    cards = scene_of(find_machine("keycorridor"), None).cards
    assert [placed.card.node for placed in cards] == [
        "before_finding_key",
        "before_unlocking",
        "after_unlocking",
        "end",
    ]
    assert len({placed.y for placed in cards}) == 1
    for before, after in pairwise(cards):
        assert before.x + before.card.width < after.x


# Layout of boxes and links


def box(name: str) -> Box:
    return Box(name, 100, 40, 10)


def test_a_link_that_leads_back_runs_below_everything() -> None:
    layout = place([box("a"), box("b")], [Link("a", 30, "b"), Link("b", 30, "a")], "a")
    onward, back = layout.routes
    assert onward.smooth
    assert not back.smooth
    assert layout.corners["a"][0] < layout.corners["b"][0]
    assert max(y for _, y in back.points) > 40


def test_a_link_over_a_layer_has_a_lane_of_its_own_there() -> None:
    boxes = [box("a"), box("b"), box("c")]
    layout = place(boxes, [Link("a", 20, "b"), Link("b", 20, "c"), Link("a", 30, "c")], "a")
    *_, over = layout.routes
    left, top = layout.corners["b"]
    lane = [y for x, y in over.points if left <= x <= left + 100]
    assert len(lane) == 2
    assert all(not top <= y <= top + 40 for y in lane)


def test_nodes_no_rule_leads_to_are_drawn_too() -> None:
    layout = place([box("a"), box("alone")], [], "a")
    assert layout.corners["a"] != layout.corners["alone"]


# Text


LEXICON = Lexicon(frozenset(("open_door",)), frozenset(("left",)))


def test_pieces_know_what_each_word_is() -> None:
    line = LEXICON.pieces("open_door and #n * ?h - 0.5 <= left where colour = red")
    told = {piece.text: piece.kind for piece in line}
    kinds = {
        "open_door": "event",
        "and": "word",
        "#n": "counter",
        "?h": "hole",
        "0.5": "number",
        "left": "term",
        "red": "name",
    }
    assert told | kinds == told
    assert "".join(piece.text for piece in line) == "open_door and #n * ?h - 0.5 <= left where colour = red"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("a // -1", ["-1"]), ("?a - 1", ["1"]), ("?a <= -0.5", ["-0.5"]), ("-2 * ?a + (-3) - 4", ["-2", "-3", "4"])],
)
def test_a_minus_belongs_to_its_number_or_joins_two(text: str, numbers: list[str]) -> None:
    assert [piece.text for piece in LEXICON.pieces(text) if piece.kind == "number"] == numbers


def test_a_formula_breaks_outside_parentheses() -> None:
    line = LEXICON.pieces("open_door and #n * (?a - ?b) + ?c > 0")
    room = text_width("and #n * (?a - ?b)", FORMULA)
    folded = fold(line, room, room, FORMULA)
    assert ["".join(piece.text for piece in part) for part in folded] == [
        "open_door", "  and #n * (?a - ?b)", "  + ?c > 0",
    ]  # fmt: skip


def test_folding_loses_nothing_but_spaces() -> None:
    line = LEXICON.pieces("a and (b or c) and -2 * ?h + (?a - ?b) <= -1")
    for room in (1.0, 40.0, 90.0, 400.0):
        parts = [piece.text for part in fold(line, room, room, FORMULA) for piece in part]
        assert "".join(parts).replace(" ", "") == "aand(borc)and-2*?h+(?a-?b)<=-1"


def test_widths_grow_with_the_text_and_the_font() -> None:
    assert text_width("ab", Font(12)) == pytest.approx(2 * 0.62 * 12)
    assert text_width("iii", Font(12, mono=False)) < text_width("mmm", Font(12, mono=False))
    assert text_width("漢", Font(12, mono=False)) == 12
    assert line_width(LEXICON.pieces("a b"), Font(10)) == pytest.approx(3 * 6.2)


# Values


def plain(line: tuple) -> str:
    return "".join(piece.text for piece in line)


def test_a_hole_is_shown_with_its_spread() -> None:
    assert plain(hole_value(Hole("open", 0.3123, 0.041))) == "0.312 ± 0.041"
    assert [piece.kind for piece in hole_value(Hole("close", -0.5))] == ["loss"]
    assert hole_value(Hole("open")) == ()


def test_a_pay_is_summed_up_over_counters() -> None:
    machine = find_machine("keycorridor_revised")
    (rule,) = [rule for rule in machine.nodes[0].rules if rule.target]
    assert plain(value_of(machine, rule.pay)) == "0.1 − 0.1 · #rewarded"
    assert value_of(find_machine("keycorridor"), rule.pay) == ()


def test_values_and_spreads_stand_on_rules_and_beside_holes() -> None:
    machine = find_machine("doorkey")
    values = dict(zip(machine.hole_names, (1.0, 0.5, -0.5, 0.31, -0.4), strict=True))
    picture = svg(machine.concretize(values, {"pick": 0.04}))
    shown = ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{SPACE}text")]
    assert " = 0.31 ± 0.04" in shown
    assert "0.31 ± 0.04" in shown


# SVG


def test_a_page_can_find_every_node_and_rule() -> None:
    machine = find_machine("obstructedmaze_1")
    root = ET.fromstring(svg(machine))
    groups = list(root.iter(f"{SPACE}g"))
    assert [g.get("data-node") for g in groups if g.get("data-node")] == [node.name for node in machine.nodes]
    rows = [g.get("data-rule") for g in groups if (g.get("class") or "").startswith("rule")]
    assert rows == [label for _, _, label in machine.rules]
    arrows = [g.get("data-rule") for g in groups if g.get("class") == "arrow"]
    assert arrows == ["searching.1", "after_seeing_target.3"]


def test_one_rule_at_two_nodes_is_two_rules() -> None:
    rule = Rule(Happens("e"), Number(1.0))
    picture = svg(Machine("m", (Node("a", (rule,)), Node("b", (rule,))), "a"))
    assert re.findall(r'class="rule" data-rule="([^"]*)"', picture) == ["a.1", "b.1"]


def test_what_a_machine_says_is_on_its_picture() -> None:
    picture = ET.fromstring(svg(find_machine("obstructedmaze_1")))
    shown = " ".join("".join(text.itertext()).strip() for text in picture.iter(f"{SPACE}text"))
    for said in (
        "otherwise", "hindsight since unlock_door", "where place next to unlock_door.place", "#boxes", "left",
        "every hole ≤ ?target", "reward finding target",
    ):  # fmt: skip
        assert said in shown


def test_the_named_constraint_is_shown() -> None:
    machine = find_machine("keycorridor")
    assert "Constraint relational" in svg(machine)
    assert "Constraint signs" in svg(machine, constraint="signs")


@settings(max_examples=20)
@given(machines())
def test_any_picture_is_well_formed_and_needs_nothing(machine: Machine) -> None:
    picture = svg(machine)
    root = ET.fromstring(picture)
    assert {element.tag.removeprefix(SPACE) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "g", "path", "circle", "text", "tspan",
    }  # fmt: skip
    assert picture.count("http") == 1  # the name space
    assert "url(" not in picture
    assert "prefers-color-scheme:dark" in picture


def test_labels_are_escaped() -> None:
    machine = parse('machine m\nholes ?a\nstart s\nconstraint\n  "<script>alert(1)</script> & co" ?a <= 0\n')
    root = ET.fromstring(svg(machine))
    assert "<script>alert(1)</script> & co" in " ".join("".join(t.itertext()) for t in root.iter(f"{SPACE}text"))
    assert "<script" not in svg(machine) + mermaid(machine)


def test_the_picture_is_told_in_words_too() -> None:
    root = ET.fromstring(svg(find_machine("doorkey")))
    assert root.get("role") == "img"
    assert root[0].text == "Symbolic reward machine doorkey"
    assert "unlock_door pays ?unlock and leads to after_unlocking" in (root[1].text or "")
    assert (root.get("aria-labelledby") or "").split() == [root[0].get("id"), root[1].get("id")]


@pytest.mark.parametrize("name", PICTURED)
def test_pictures_in_the_documentation_are_up_to_date(name: str) -> None:
    kept = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert kept == svg(find_machine(name)), "draw them again with the command in docs/machines.md"


def test_a_node_of_two_hundred_rules_is_drawn_like_any_other() -> None:
    rules = "\n".join(f"  event_{i} and ?a * {i} > 0 // ?a -> n{i % 20}" for i in range(200))
    nodes = "\n".join(f"node n{i}\n  back // ?a -> s" for i in range(20))
    machine = parse(f"machine m\nholes ?a\nstart s\n{rules}\n{nodes}\n")
    assert_well_laid_out(scene_of(machine, None))


# Mermaid and DOT

MERMAID = re.compile(
    r"%%\{init: .*\}%%|flowchart LR|  classDef default [\w:,-]+|  start\(\( \)\) --> node_\w+"
    r'|  node_\w+(\[|\(\[)"(?P<label>[^"]*)"(\]|\]\))|  node_\w+ -->\|"(?P<edge>[^"]*)"\| node_\w+'
    r'|  notes\["(?P<notes>[^"]*)"\]|  style notes [\w:, -]+'
)
DOT = re.compile(
    r'digraph "\w+" \{|\}|  [\w=., ;]+;|  (node|edge|graph) \[[^"]*("(?:[^"\\]|\\.)*"[^"]*)*\];'
    r'|  "\w*" +\[[^"]*("(?:[^"\\]|\\.)*"[^"]*)*\];|  "\w*" -> "\w+"( \[label="(?:[^"\\]|\\.)*"\])?;'
)
LABEL = re.compile(r"(?:[A-Za-z0-9 _.,?+=()/-]|#\d+;|<br/>|</?b>)*")


@settings(max_examples=25)
@given(machines())
def test_graphs_of_any_machine_keep_to_the_grammar_of_their_format(machine: Machine) -> None:
    for line in mermaid(machine).splitlines():
        found = MERMAID.fullmatch(line)
        assert found, line
        for label in found.groupdict().values():
            assert LABEL.fullmatch(label or ""), label
    for line in dot(machine).splitlines():
        assert DOT.fullmatch(line), line


def test_mermaid_lists_rules_that_stay_and_labels_those_that_leave() -> None:
    text = mermaid(find_machine("doorkey"))
    assert 'node_before_unlocking["<b>before_unlocking</b><br/>pick_up_key // ?pick<br/>drop_key // ?drop"]' in text
    assert 'node_before_unlocking -->|"unlock_door // ?unlock"| node_after_unlocking' in text
    assert 'node_end(["<b>end</b>"])' in text


def test_tiers_are_told_in_graphs() -> None:
    machine = parse(
        "machine m\nstart s\n  a // 1\n  otherwise\n  b // 2\n  c // 3 -> t\n  otherwise\n  d // 4\naccept t\n"
    )
    assert '"s" [label="s\\la // 1\\lotherwise\\lb // 2\\lotherwise\\ld // 4\\l"]' in dot(machine)
    assert '"s" -> "t" [label="otherwise c // 3\\l"]' in dot(machine)


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
@pytest.mark.parametrize("name", PICTURED)
def test_graphviz_reads_the_dot(name: str) -> None:
    machine = find_machine(name)
    told = subprocess.run(["dot", "-Tplain"], input=dot(machine), capture_output=True, text=True, check=True)
    assert told.stderr == ""
    assert len(re.findall(r"^node ", told.stdout, re.MULTILINE)) == len(machine.nodes) + 1
