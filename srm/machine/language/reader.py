"""Reads the logical lines of one file in order, gathers what they say, and remembers where it was said."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from srm.errors import MOST_SHOWN, MachineError, near
from srm.machine.holes import Atom, Constraint, EveryHole, Hole
from srm.machine.language.build import Builder, Mismatch, Places
from srm.machine.language.source import LogicalLine, Mistakes, Source, Span, split_lines
from srm.machine.language.syntax import HEADERS, explain, parse_line
from srm.machine.model import (
    Counter,
    Hindsight,
    InvalidMachine,
    Machine,
    Node,
    Problem,
    RepayEvery,
    RepayLast,
    Rule,
    RuleOf,
)
from srm.machine.terms import Always, Guard, Happens, Number, Term
from srm.machine.vocabulary import INFO, InfoWord, InfoWords, Signal

_SECTIONS = dict(zip(HEADERS, HEADERS, strict=True)) | {"start": "node", "accept": "node"}
_BODIES = {"words": "word", "holes": "hole", "counters": "counter", "node": "rule", "constraint": "atom"}


@dataclass
class _DraftHindsight:
    since: str | None
    span: Span
    changes: list[RepayEvery | RepayLast] = field(default_factory=list)


@dataclass
class _DraftRule:
    rule: Rule
    span: Span
    hindsight: _DraftHindsight | None = None


@dataclass
class _DraftNode:
    name: str
    accepting: bool
    span: Span
    rules: list[_DraftRule] = field(default_factory=list)


@dataclass
class _DraftConstraint:
    name: str
    span: Span
    atoms: list[Atom] = field(default_factory=list)


@dataclass
class MachineReader:
    """`read` the lines, then make the `machine`; either raises every mistake it finds."""

    source: Source
    places: Places = field(default_factory=Places)
    lines: list[LogicalLine] = field(default_factory=list)

    # What the lines said
    once: dict[str, tuple[str, Span]] = field(default_factory=dict)  # machine, words, start
    env_id: str | None = None  # of `words info`
    info: list[InfoWord] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    terms: list[tuple[str, Term]] = field(default_factory=list)
    nodes: list[_DraftNode] = field(default_factory=list)  # after a faulty line, a draft stands in for what it meant
    constraints: list[_DraftConstraint] = field(default_factory=list)

    # Where we are
    section: str = ""
    tier: int = 0
    named: frozenset[str] = frozenset()

    def read(self) -> None:
        mistakes = Mistakes(self.source)
        self.lines = split_lines(self.source, mistakes)
        # the names of `let` decide whether a word in a term is a signal, and may be used before the line that gives them
        self.named = frozenset(m.group(1) for line in self.lines if (m := re.match(r"let\s+(\w+)", line.text)))
        for line in self.lines:
            if mistakes.enough:
                break
            try:
                self.line(line)
            except UnexpectedInput as error:
                mistakes.add(*explain(line, error))
            except Mismatch as error:
                mistakes.add(str(error), error.span)
        if not mistakes.messages and "machine" not in self.once:
            mistakes.add(
                "no machine here; a file begins with `machine NAME`", self.lines[0].span if self.lines else (0, 1)
            )
        mistakes.refuse()

    def machine(self) -> Machine:
        try:
            return Machine(
                name=self.once["machine"][0],
                nodes=tuple(self.finished(node) for node in self.nodes),
                start=self.once.get("start", ("", None))[0],
                holes=tuple(self.holes),
                counters=tuple(self.counters),
                terms=tuple(self.terms),
                constraints=tuple(
                    self.places.put(Constraint(tuple(c.atoms), c.name), c.span) for c in self.constraints
                ),
                words=self.once["words"][0] if "words" in self.once else None,
                info=None if self.env_id is None else InfoWords(self.env_id, tuple(self.info)),
            )
        except InvalidMachine as invalid:
            self.refuse(invalid.details)
            raise

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Raises the problems, if there are any, each at its place."""
        mistakes = Mistakes(self.source)
        for problem in islice(problems, MOST_SHOWN + 1):
            mistakes.add(problem.message, self.place(problem))
        mistakes.refuse()

    def finished(self, draft: _DraftNode) -> Node:
        rules = tuple(self.finished_rule(rule) for rule in draft.rules)
        return self.places.put(Node(draft.name, rules, draft.accepting), draft.span)

    def finished_rule(self, draft: _DraftRule) -> Rule:
        rule = draft.rule
        if draft.hindsight:
            looks_back = Hindsight(tuple(draft.hindsight.changes), draft.hindsight.since)
            rule = replace(rule, hindsight=self.places.put(looks_back, draft.hindsight.span))
        return self.places.put(rule, draft.span)

    def place(self, problem: Problem) -> Span:
        """Where a problem stands: the word it names, on the line of the part it is about."""
        # The part
        about, word = problem.about, problem.word
        key = "words" if isinstance(about, Machine) and word is not None and word == about.words else "machine"
        offset, length = self.places.spans.get(id(about), self.once[key][1])
        if word is None:
            return offset, length

        # The word in it: a header's own word is passed over, and a target is the last of its name
        line = self.lines[bisect_right(self.lines, offset, key=lambda line: line.start) - 1]
        header = line.first_word in HEADERS and not isinstance(about, Rule)  # `node node` names a node
        begin = max(offset - line.start, len(line.first_word) if header else 0)
        starts = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", line.text) if m.start() >= begin]
        if not starts:
            return offset, length
        is_target = isinstance(about, Rule) and word == about.target
        return line.start + starts[-1 if is_target else 0], len(word)

    # Lines

    def line(self, line: LogicalLine) -> None:
        if self.section == "unknown" and line.first_word not in HEADERS:
            return
        kind = self.kind(line)
        try:
            tree = parse_line(line.text, kind)
            getattr(self, f"on_{kind}")(tree.children, Builder(line.start, self.places, self.named), line)
        except (UnexpectedInput, Mismatch):
            self.stand_in(kind, line)
            raise
        finally:
            self.section = _SECTIONS.get(kind, self.section)

    def kind(self, line: LogicalLine) -> str:
        word = line.first_word
        is_label = re.match(r"\w+\s*:", line.text)  # a rule labelled with a word of the language: validation names it
        if word in (*HEADERS, "otherwise", "hindsight") and not is_label:
            return word
        if self.section == "hindsight":
            if word in ("every", "last"):
                return f"repay_{word}"
            self.section = "node"  # the next rule of the node
        if self.section not in _BODIES or (self.section == "words" and self.env_id is None):
            self.section = "unknown"  # one mistake is enough for what stands below it
            raise Mismatch(
                f"a line outside any section; sections begin with {', '.join(HEADERS)}{near(word, HEADERS)}",
                (line.start, max(1, len(word))),
            )
        return _BODIES[self.section]

    def stand_in(self, kind: str, line: LogicalLine) -> None:
        """Keeps one faulty line from making the lines below it look faulty too."""
        match kind:
            case "start" | "node" | "accept":
                self.nodes.append(_DraftNode("", False, line.span))
            case "constraint":
                self.constraints.append(_DraftConstraint("", line.span))
            case "rule" | "otherwise" if self.nodes:
                self.nodes[-1].rules.append(_DraftRule(Rule(Always(), Number(0.0)), line.span))
            case "hindsight" if self.section == "node":
                self.section = "hindsight"
                self.nodes[-1].rules.append(
                    _DraftRule(Rule(Always(), Number(0.0)), line.span, _DraftHindsight(None, line.span))
                )

    def say_once(self, name: Any, line: LogicalLine) -> str:
        word = line.first_word
        if word in self.once:
            raise Mismatch(f"a second `{word}`; a machine has one", (line.start, len(word)))
        self.once[word] = str(name), line.span
        return str(name)

    def on_machine(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.say_once(inner[0], line)

    def on_words(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        name, env_id = inner
        self.env_id = None if env_id is None else str(env_id)[1:-1]
        if env_id is not None and name != INFO:
            raise Mismatch(
                f"`words {name}` names a vocabulary; only `words {INFO}` is followed by an environment",
                build.span(env_id),
            )
        self.say_once(name, line)

    def on_word(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        name, key, span, missing = inner
        try:
            signal = Signal(str(name), f"{str(key)[1:-1] if key else name} of info", *build.range(span))
        except MachineError as problem:
            raise Mismatch(str(problem), line.span) from None
        word = InfoWord(
            self.places.put(signal, line.span),
            str(key)[1:-1] if key else str(name),
            None if missing is None else build.number(missing),
        )
        self.info.append(self.places.put(word, line.span))

    def on_holes(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        for tree in inner:
            name, space, value, spread = tree.children
            hole = Hole(
                str(name)[1:],
                None if value is None else build.number(value),
                None if spread is None else build.number(spread),
                None if space is None else build.space(space),
            )
            self.holes.append(self.places.put(hole, build.span(tree)))

    on_hole = on_holes

    def on_counters(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        pass

    def on_counter(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        name, counted, at, resets = inner
        what: Happens | RuleOf
        if counted.data == "counted_rule":
            what = self.places.put(RuleOf(str(counted.children[0])), build.span(counted))
        else:
            what = build.happens(counted)
        nodes = tuple(map(str, at.children)) if at else ()
        reset = tuple(build.happens(tree) for tree in resets.children) if resets else ()
        self.counters.append(self.places.put(Counter(str(name)[1:], what, nodes, reset), line.span))

    def on_let(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.terms.append(self.places.put((str(inner[0]), build.term(inner[1])), line.span))

    def on_start(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.open_node(self.say_once(inner[-1], line), line, accepting=len(inner) == 2)

    def on_node(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.open_node(str(inner[0]), line, accepting=False)

    def on_accept(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.open_node(str(inner[0]), line, accepting=True)

    def open_node(self, name: str, line: LogicalLine, *, accepting: bool) -> None:
        self.nodes.append(_DraftNode(name, accepting, line.span))
        self.tier = 0

    def on_rule(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        label, guard, pay, target = inner
        self.add_rule(label, build.guard(guard), build.term(pay), target, line)

    def on_otherwise(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        if self.section not in ("node", "hindsight") or not self.nodes[-1].rules:
            raise Mismatch("`otherwise` must follow a rule it can yield to", (line.start, len("otherwise")))
        self.section = "node"
        self.tier = self.nodes[-1].rules[-1].rule.tier + 1
        if inner[0] is not None:
            label, guard, pay, target = inner[0].children
            whole = build.guard(guard) if guard is not None else self.places.put(Always(), line.span)
            self.add_rule(label, whole, build.term(pay), target, line)

    def add_rule(
        self, label: Tree[Token] | None, guard: Guard, pay: Term, target: Tree[Token] | None, line: LogicalLine
    ) -> None:
        name = str(label.children[0]) if label else None
        leads_to = str(target.children[0]) if target else None
        self.nodes[-1].rules.append(_DraftRule(Rule(guard, pay, leads_to, name, self.tier), line.span))

    def on_hindsight(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        if self.section != "node" or not self.nodes[-1].rules or self.nodes[-1].rules[-1].hindsight:
            raise Mismatch("`hindsight` belongs below the rule that looks back", (line.start, len("hindsight")))
        self.nodes[-1].rules[-1].hindsight = _DraftHindsight(str(inner[0]) if inner[0] else None, line.span)
        self.section = "hindsight"

    def add_change(self, change: RepayEvery | RepayLast, line: LogicalLine) -> None:
        hindsight = self.nodes[-1].rules[-1].hindsight
        assert hindsight is not None
        hindsight.changes.append(self.places.put(change, line.span))

    def on_repay_every(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.add_change(RepayEvery(tuple(map(str, inner[:-1])), build.term(inner[-1])), line)

    def on_repay_last(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.add_change(RepayLast(build.happens(inner[0]), build.term(inner[1])), line)

    def on_constraint(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.constraints.append(_DraftConstraint(str(inner[0]) if inner[0] else "default", line.span))

    def on_atom(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        label, left, relation, right = inner
        if left.data == "every_hole":
            excluded = left.children[0].children if left.children else []
            terms: EveryHole | tuple[Term, ...] = EveryHole(tuple(str(hole)[1:] for hole in excluded))
        else:
            terms = tuple(build.term(tree) for tree in left.children)
        atom = Atom(terms, str(relation), build.term(right), str(label)[1:-1] if label else None)
        self.constraints[-1].atoms.append(self.places.put(atom, line.span))
