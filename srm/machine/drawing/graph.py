"""Mermaid and DOT: machines as graphs for documents that draw such text themselves.

Like the pictures, a node lists the rules that stay in it and an edge carries the rule that leaves; the notes (holes with
values, counters, terms, the constraint) stand beside the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srm.machine.drawing.cards import FORMULA
from srm.machine.drawing.pieces import Lexicon, Line, fold, lexicon, text_width, typeset
from srm.machine.drawing.values import hole_value, value_of
from srm.machine.holes import Constraint
from srm.machine.model import Machine, Node, Rule

LETTERS = 64  # of a line, before it is folded


def mermaid(machine: Machine, constraint: Constraint | None) -> str:
    texts = _Texts(machine, lexicon(machine))
    lines = [
        '%%{init: {"flowchart": {"wrappingWidth": 800}}}%%',  # lines are folded already
        "flowchart LR",
        "  classDef default text-align:left,font-family:monospace",
        f"  start(( )) --> {_mermaid_id(machine.start)}",
    ]
    for node in machine.nodes:
        label = "<br/>".join([f"<b>{node.name}</b>", *map(_entities, texts.staying(node))])
        left, right = ("([", "])") if node.accepting else ("[", "]")
        lines.append(f'  {_mermaid_id(node.name)}{left}"{label}"{right}')
    for node in machine.nodes:
        for target, rule_lines in texts.leaving(node):
            label = "<br/>".join(map(_entities, rule_lines))
            lines.append(f'  {_mermaid_id(node.name)} -->|"{label}"| {_mermaid_id(target)}')
    notes = list(texts.notes(constraint))
    if notes:
        lines.append(f'  notes["{"<br/>".join(map(_entities, notes))}"]')
        lines.append("  style notes text-align:left,font-family:monospace,stroke-dasharray:3 3")
    return "\n".join(lines) + "\n"


def _mermaid_id(name: str) -> str:
    """`end` and other words of Mermaid's own cannot name a node, so no node has its bare name."""
    return f"node_{name}"


def _entities(text: str) -> str:
    """Whatever is not plain in a quoted label, as one of Mermaid's entity codes; so are spaces that indent a line."""
    indent = len(text) - len(text.lstrip(" "))
    plain = (c if c.isascii() and (c.isalnum() or c in " _.,?+-=()/") else f"#{ord(c)};" for c in text[indent:])
    return "#160;" * indent + "".join(plain)


def dot(machine: Machine, constraint: Constraint | None) -> str:
    texts = _Texts(machine, lexicon(machine))
    lines = [
        f'digraph "{machine.name}" {{',
        "  rankdir=LR; nodesep=0.4; ranksep=0.8;",
        '  node [shape=box, style=rounded, fontname="monospace", fontsize=11];',
        '  edge [fontname="monospace", fontsize=11];',
    ]
    notes = list(texts.notes(constraint))
    if notes:
        lines.append(f'  graph [labelloc=b, labeljust=l, fontname="monospace", fontsize=10, label={_quoted(notes)}];')
    lines.append('  ""  [shape=point, width=0.12];')
    for node in machine.nodes:
        double = ", peripheries=2" if node.accepting else ""
        lines.append(f'  "{node.name}" [label={_quoted([node.name, *texts.staying(node)])}{double}];')
    lines.append(f'  "" -> "{machine.start}";')
    for node in machine.nodes:
        for target, rule_lines in texts.leaving(node):
            lines.append(f'  "{node.name}" -> "{target}" [label={_quoted(rule_lines)}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(lines: list[str]) -> str:
    r"""One DOT string; `\l` ends a line and sets it flush left."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "".join(f"{line}\\l" for line in escaped) + '"'


@dataclass(frozen=True)
class _Texts:
    """What both formats say of a machine, in lines."""

    machine: Machine
    lexicon: Lexicon

    def leaving(self, node: Node) -> Iterator[tuple[str, list[str]]]:
        """The rules that leave: where to, and what they say."""
        for rule in node.rules:
            if rule.target not in (None, node.name):
                yield rule.target or "", self.rule(rule, "otherwise " if rule.tier else "")

    def staying(self, node: Node) -> list[str]:
        """The rules that stay, with the tiers that they belong to."""
        lines: list[str] = []
        tier = 0
        for rule in node.rules:
            if rule.target in (None, node.name):
                lines += ["otherwise"] * (rule.tier > tier) + self.rule(rule)
                tier = rule.tier
        return lines

    def rule(self, rule: Rule, before: str = "") -> list[str]:
        value = _plain(value_of(self.machine, rule.pay))
        name = f"{rule.name}: " if rule.name else ""
        lines = self.folded(f"{before}{name}{rule.guard} // {rule.pay}" + (f" = {value}" if value else ""))
        if rule.hindsight:
            lines.append(f"  hindsight since {rule.hindsight.since}" if rule.hindsight.since else "  hindsight")
            lines += [f"    {line}" for change in rule.hindsight.changes for line in self.folded(str(change))]
        return lines

    def notes(self, constraint: Constraint | None) -> Iterator[str]:
        for hole in self.machine.holes:
            value = "" if hole.value is None else f" = {_plain(hole_value(hole))}"
            if hole.space is not None:
                yield from self.folded(f"?{hole.name} in {hole.space}{value}")
            elif value:
                yield f"?{hole.name}{value}"
        for counter in self.machine.counters:
            yield from self.folded(str(counter))
        for name, term in self.machine.terms:
            yield from self.folded(f"{name} = {term}")
        for atom in constraint.atoms if constraint else ():
            yield from self.folded(str(atom))

    def folded(self, text: str) -> list[str]:
        room = LETTERS * text_width("m", FORMULA)
        return [_plain(line) for line in fold(typeset(self.lexicon.pieces(text)), room, room, FORMULA)]


def _plain(line: Line) -> str:
    return "".join(piece.text for piece in line)
