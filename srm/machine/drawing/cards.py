"""What stands on the cards of a picture: one card for each node, and panels for holes, counters, terms and the constraint.

A card lists its node's rules in the order of the text, because that order is what `otherwise` is about: on the left the
guard, on the right the pay; a rule that leaves has a port at the card's edge from which its arrow starts. Everything is
measured here, relative to the card's upper left corner; `scene` places the cards and `svg` paints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srm.machine.drawing.pieces import Font, Lexicon, Line, Piece, fold, lexicon, line_width, typeset
from srm.machine.drawing.values import value_of
from srm.machine.model import Hindsight, Machine, Node, Rule
from srm.machine.terms import Term

FORMULA = Font(12)
SMALL = Font(11)
NAME = Font(13, bold=True)
NOTE = Font(10.5, mono=False)

PAD = 14.0  # between a card's edge and its text
HEADER = 34.0
EDGE = 22.0  # at the right of a rule: a loop, or the port of an arrow
LEADING = 17.0  # from one line to the next
GUTTER = 15.0  # between guard and pay
MEASURE = 41 * 12 * 0.62  # width of guard and pay together, unless a single word is wider
PAY_MEASURE = 26 * 12 * 0.62
INSET = 14.0  # of hindsight, which has a bar at its left


@dataclass(frozen=True)
class Text:
    """One line of text; `x` and `y` are the left end of its baseline."""

    x: float
    y: float
    line: Line
    font: Font

    @property
    def right(self) -> float:
        return self.x + line_width(self.line, self.font)


@dataclass(frozen=True)
class RuleRow:
    """One rule on its card; `bar` is the extent of the line beside its hindsight."""

    label: str
    target: str | None
    top: float
    height: float
    port: float  # where its loop is drawn or its arrow starts, below the card's top
    texts: tuple[Text, ...]
    bar: tuple[float, float] | None = None


@dataclass(frozen=True)
class Card:
    node: str
    start: bool
    accepting: bool
    width: float
    height: float
    title: Text
    rows: tuple[RuleRow, ...]
    dividers: tuple[Text, ...]  # `otherwise`, where a tier begins


def cards_of(machine: Machine) -> list[Card]:
    writer = _CardWriter(machine, lexicon(machine))
    labels = iter([label for _, _, label in machine.rules])  # in the order of nodes and their rules
    return [_card(writer, node, labels) for node in machine.nodes]


def _card(writer: _CardWriter, node: Node, labels: Iterator[str]) -> Card:
    icon = 20 if node.accepting else 0
    title = Text(PAD + icon, HEADER / 2 + 4.5, (Piece("node", node.name),), NAME)
    machine = writer.machine
    blocks = [writer.block(str(rule.guard), rule.pay, value=value_of(machine, rule.pay)) for rule in node.rules]
    pay_at = _pay_column(blocks, FORMULA)
    rows: list[RuleRow] = []
    dividers: list[Text] = []
    y, tier = HEADER + 3, 0
    for rule, block in zip(node.rules, blocks, strict=True):
        if rule.tier != tier:
            dividers.append(Text(PAD, y + 12, (Piece("word", "otherwise"),), SMALL))
            y, tier = y + 18, rule.tier
        target = rule.target if rule.target != node.name else None
        rows.append(writer.row(rule, block, next(labels), target, y, pay_at))
        y += rows[-1].height
    texts = [title, *dividers, *(text for row in rows for text in row.texts)]
    return Card(
        node=node.name,
        start=node.name == machine.start,
        accepting=node.accepting,
        width=max(text.right for text in texts) + PAD + (EDGE if rows else 0),
        height=y + 3 if rows else HEADER,
        title=title,
        rows=tuple(rows),
        dividers=tuple(dividers),
    )


@dataclass(frozen=True)
class Block:
    """A formula and what it pays, each folded into lines that stand side by side."""

    left: list[Line]
    right: list[Line]


def _pay_column(blocks: Sequence[Block], font: Font) -> float:
    return max((line_width(block.left[0], font) for block in blocks), default=0.0) + GUTTER


def _set(block: Block, x: float, baseline: float, pay_at: float, font: Font) -> tuple[list[Text], int]:
    """The lines of a block in place, and how many lines high it is.

    The formula goes on below its first line, past the pay if it would run into it.
    """
    texts = [Text(x + pay_at, baseline + n * LEADING, line, font) for n, line in enumerate(block.right)]
    number = 0
    for line in block.left:
        while 0 < number < len(block.right) and line_width(line, font) > pay_at - GUTTER:
            number += 1
        texts.append(Text(x, baseline + number * LEADING, line, font))
        number += 1
    return texts, max(number, len(block.right))


@dataclass(frozen=True)
class _CardWriter:
    machine: Machine
    lexicon: Lexicon

    def block(self, guard: str, pay: Term, font: Font = FORMULA, measure: float = MEASURE, value: Line = ()) -> Block:
        slashes = (Piece("faint", "//"), Piece("space", " "))
        right = fold((*slashes, *self.formula(str(pay))), PAY_MEASURE, PAY_MEASURE, font)
        if value:
            right.append((Piece("faint", " = "), *value))
        first = measure - GUTTER - max(line_width(line, font) for line in right)
        return Block(fold(self.formula(guard), first, measure, font), right)

    def formula(self, text: str) -> Line:
        return typeset(self.lexicon.pieces(text))

    def row(self, rule: Rule, block: Block, label: str, target: str | None, top: float, pay_at: float) -> RuleRow:
        texts: list[Text] = []
        baseline = top + 17
        if rule.name:
            texts.append(Text(PAD, baseline, (Piece("rule", rule.name),), SMALL))
            baseline += LEADING
        port = baseline - 4
        placed, lines = _set(block, PAD, baseline, pay_at, FORMULA)
        texts += placed
        end = baseline + (lines - 1) * LEADING
        bar = None
        if rule.hindsight:
            below, bottom = self.hindsight(rule.hindsight, end + LEADING)
            texts += below
            bar, end = (end + 5, bottom + 5), bottom + 3
        return RuleRow(label, target, top, end + 9 - top, port, tuple(texts), bar)

    def hindsight(self, hindsight: Hindsight, baseline: float) -> tuple[list[Text], float]:
        since = f" since {hindsight.since}" if hindsight.since else ""
        texts = [Text(PAD + INSET, baseline, self.formula(f"hindsight{since}"), SMALL)]
        blocks = [
            self.block(str(change).rpartition(" // ")[0], change.pay, SMALL, MEASURE - INSET)
            for change in hindsight.changes
        ]
        pay_at = _pay_column(blocks, SMALL)
        for block in blocks:
            placed, lines = _set(block, PAD + INSET, baseline + LEADING, pay_at, SMALL)
            texts += placed
            baseline += lines * LEADING
        return texts, baseline
