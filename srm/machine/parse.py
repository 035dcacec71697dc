"""From the text of a machine to a `Machine`, or to every mistake of the text with its place.

Three passes, each of which reports all it finds before the next begins: the lines (what may stand where, and the grammar of
each), the machine (names, affinity, reachability of names), and its words (whether the vocabulary has them).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from srm.errors import MachineError, near
from srm.machine.build import Builder, Mismatch, Places
from srm.machine.model import (
    Atom,
    Constraint,
    Counter,
    EveryHole,
    Hindsight,
    Hole,
    InvalidMachine,
    Machine,
    Node,
    Problem,
    RepayEvery,
    RepayLast,
    Rule,
    RuleOf,
)
from srm.machine.source import LogicalLine, Source, read_source, source_of
from srm.machine.terms import Always, Happens, Term
from srm.machine.validate import RESERVED, find_foreign_words
from srm.machine.words import Words

HEADERS = ("machine", "words", "holes", "counters", "let", "start", "node", "accept", "constraint")
BODIES = {"holes": "hole", "counters": "counter", "node": "rule", "hindsight": "change", "constraint": "atom"}
MOST_SHOWN = 20  # mistakes printed; a file of another kind would otherwise print one a line


def load(path: str | Path, words: Mapping[str, Words] | None = None) -> Machine:
    """The machine in a file. `words` are the known vocabularies by name: the one the machine names is checked against."""
    return _parse(read_source(path), words)


def parse(text: str | bytes, words: Mapping[str, Words] | None = None, file: str = "<text>") -> Machine:
    """The machine in a text."""
    return _parse(source_of(text, file), words)


def library() -> tuple[str, ...]:
    """The names of the machines that ship with the package."""
    folder = files("srm.machine") / "library"
    return tuple(sorted(entry.name.removesuffix(".srm") for entry in folder.iterdir() if entry.name.endswith(".srm")))


def find_machine(name: str | Path, words: Mapping[str, Words] | None = None) -> Machine:
    """A machine by path or, where there is no such file, by its name in the library."""
    if not Path(name).exists() and re.fullmatch(r"\w+", str(name)):
        known = library()
        if str(name) not in known:
            raise MachineError(
                f"{name}: neither a file nor a machine of the library ({', '.join(known)}){near(str(name), known)}"
            )
        text = (files("srm.machine") / "library" / f"{name}.srm").read_bytes()
        return parse(text, words, f"{name}.srm")
    return load(name, words)


def require_words(machine: Machine, words: Words) -> None:
    """Refuses a machine that uses words the vocabulary lacks; for machines that are not being parsed."""
    problems = list(find_foreign_words(machine, words))
    if problems:
        raise InvalidMachine(machine.name, problems)


@cache
def _grammar() -> Lark:
    kinds = (*HEADERS, "hole", "counter", "rule", "otherwise", "hindsight", "repay_every", "repay_last", "atom")
    text = (files("srm.machine") / "grammar.lark").read_text()
    return Lark(text, parser="lalr", start=[f"{kind}_line" for kind in kinds], propagate_positions=True)


def _parse(source: Source, words: Mapping[str, Words] | None) -> Machine:
    reader = _Reader(source)
    reader.read()
    if reader.mistakes:
        raise MachineError(*_shortened(reader.mistakes))
    try:
        machine = reader.machine()
    except InvalidMachine as invalid:
        raise MachineError(*_shortened([reader.show(problem) for problem in invalid.found])) from None
    vocabulary = (words or {}).get(machine.words or "")
    if words is not None and machine.words is not None and vocabulary is None:
        hint = f"; known are {', '.join(words)}{near(machine.words, words)}"
        raise MachineError(reader.show(Problem(f"unknown vocabulary {machine.words}{hint}", machine, machine.words)))
    if vocabulary:
        foreign = [reader.show(problem) for problem in find_foreign_words(machine, vocabulary)]
        if foreign:
            raise MachineError(*_shortened(foreign))
    return machine


def _shortened(mistakes: list[str]) -> list[str]:
    more = len(mistakes) - MOST_SHOWN
    return mistakes if more <= 0 else [*mistakes[:MOST_SHOWN], f"... and {more} more"]


@dataclass
class _Reader:
    """Reads the logical lines of one file in order, and gathers what they say."""

    source: Source
    places: Places = field(default_factory=Places)
    mistakes: list[str] = field(default_factory=list)
    section: str = ""
    named: set[str] = field(default_factory=set)
    parts: dict[str, Any] = field(default_factory=lambda: {"holes": [], "counters": [], "terms": [], "constraints": []})
    nodes: list[Node] = field(default_factory=list)
    lines: list[LogicalLine] = field(default_factory=list)
    tier: int = 0

    def read(self) -> None:
        self.lines, self.mistakes = self.source.logical_lines()
        # the names of `let` decide whether a word in a term is a signal, and may be used before the line that gives them
        self.named = {m.group(1) for line in self.lines if (m := re.match(r"let\s+(\w+)", line.text))}
        for line in self.lines:
            try:
                self.line(line)
            except UnexpectedInput as error:
                self.mistakes.append(self.unexpected(line, error))
            except Mismatch as error:
                self.mistakes.append(self.source.show(str(error), *error.span))
        if not self.mistakes and "name" not in self.parts:
            self.mistakes.append(f"{self.source.file}: no machine here; a file begins with `machine NAME`")

    def machine(self) -> Machine:
        return Machine(
            name=self.parts["name"],
            nodes=tuple(self.nodes),
            start=self.parts.get("start", ""),
            holes=tuple(self.parts["holes"]),
            counters=tuple(self.parts["counters"]),
            terms=tuple(self.parts["terms"]),
            constraints=tuple(self.parts["constraints"]),
            words=self.parts.get("words"),
        )

    # Lines

    def line(self, line: LogicalLine) -> None:
        word = line.first_word
        kind = word if word in HEADERS or word in ("otherwise", "hindsight") else self.body_kind(line)
        if re.match(rf"{kind}\s*:", line.text):
            kind = self.body_kind(line)  # a rule labelled with a word of the language: let validation name it
        tree = _grammar().parse(line.text, start=f"{kind}_line")
        build = Builder(line.start, self.places, frozenset(self.named))
        getattr(self, f"on_{kind}")(tree.children, build, line)
        if kind in HEADERS or kind == "hindsight":
            self.section = "node" if kind in ("start", "accept") else kind

    def body_kind(self, line: LogicalLine) -> str:
        if self.section not in BODIES:
            raise Mismatch(
                f"a line outside any section; sections begin with {', '.join(HEADERS)}{near(line.first_word, HEADERS)}",
                (line.start, max(1, len(line.first_word))),
            )
        if self.section == "hindsight":
            if line.first_word in ("every", "last"):
                return f"repay_{line.first_word}"
            self.section = "node"  # the next rule of the node
        return BODIES[self.section]

    def put(self, thing: Any, line: LogicalLine) -> Any:
        return self.places.put(thing, (line.start, len(line.text.split("\n", 1)[0])))

    def once(self, key: str, value: str, line: LogicalLine) -> None:
        if key in self.parts:
            raise Mismatch(f"a second `{line.first_word}`; a machine has one", (line.start, len(line.first_word)))
        self.parts[key] = value

    def on_machine(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.once("name", str(inner[0]), line)

    def on_words(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.once("words", str(inner[0]), line)

    def on_holes(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        for tree in inner:
            name, value, spread = (*tree.children, None, None)[:3]
            numbers = [None if tree is None else build.number(tree) for tree in (value, spread)]
            self.parts["holes"].append(self.places.put(Hole(str(name)[1:], *numbers), build.span(tree)))

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
        self.parts["counters"].append(self.put(Counter(str(name)[1:], what, nodes, reset), line))

    def on_let(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.parts["terms"].append(self.put((str(inner[0]), build.term(inner[1])), line))

    def on_start(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.once("start", str(inner[-1]), line)
        self.open_node(str(inner[-1]), line, accepting=len(inner) == 2)

    def on_node(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.open_node(str(inner[0]), line, accepting=False)

    def on_accept(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.open_node(str(inner[0]), line, accepting=True)

    def open_node(self, name: str, line: LogicalLine, *, accepting: bool) -> None:
        self.nodes.append(self.put(Node(name, (), accepting), line))
        self.tier = 0

    def on_rule(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        label, guard, pay, target = inner
        self.add_rule(label, build.guard(guard), build.term(pay), target, line)

    def on_otherwise(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        if self.section not in ("node", "hindsight") or not self.nodes[-1].rules:
            raise Mismatch("`otherwise` must follow a rule it can yield to", (line.start, len("otherwise")))
        self.section = "node"
        self.tier = self.nodes[-1].rules[-1].tier + 1
        if inner[0] is not None:
            label, guard, pay, target = inner[0].children
            whole = build.guard(guard) if guard is not None else self.put(Always(), line)
            self.add_rule(label, whole, build.term(pay), target, line)

    def add_rule(
        self, label: Tree[Token] | None, guard: Any, pay: Term, target: Tree[Token] | None, line: LogicalLine
    ) -> None:
        name = str(label.children[0]) if label else None
        leads_to = str(target.children[0]) if target else None
        rule = self.put(Rule(guard, pay, leads_to, name, self.tier), line)
        self.replace_node(rules=(*self.nodes[-1].rules, rule))

    def replace_node(self, **changes: Any) -> None:
        old = self.nodes[-1]
        self.nodes[-1] = self.places.put(replace(old, **changes), self.places.spans[id(old)])

    def on_hindsight(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        if self.section != "node" or not self.nodes[-1].rules:
            raise Mismatch("`hindsight` belongs below the rule that looks back", (line.start, len("hindsight")))
        self.look_back(Hindsight((), str(inner[0]) if inner[0] else None))

    def look_back(self, hindsight: Hindsight) -> None:
        *before, rule = self.nodes[-1].rules
        changed = self.places.put(replace(rule, hindsight=hindsight), self.places.spans[id(rule)])
        self.replace_node(rules=(*before, changed))

    def add_change(self, change: RepayEvery | RepayLast, line: LogicalLine) -> None:
        hindsight = self.nodes[-1].rules[-1].hindsight
        assert hindsight is not None
        self.look_back(replace(hindsight, changes=(*hindsight.changes, self.put(change, line))))

    def on_repay_every(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.add_change(RepayEvery(tuple(map(str, inner[:-1])), build.term(inner[-1])), line)

    def on_repay_last(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.add_change(RepayLast(build.happens(inner[0]), build.term(inner[1])), line)

    def on_constraint(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        self.parts["constraints"].append(self.put(Constraint((), str(inner[0]) if inner[0] else "default"), line))

    def on_atom(self, inner: list[Any], build: Builder, line: LogicalLine) -> None:
        label, left, relation, right = inner
        if left.data == "every_hole":
            excluded = left.children[0].children if left.children else []
            said: EveryHole | tuple[Term, ...] = EveryHole(tuple(str(hole)[1:] for hole in excluded))
        else:
            said = tuple(build.term(tree) for tree in left.children)
        atom = self.put(Atom(said, str(relation), build.term(right), str(label)[1:-1] if label else None), line)
        old = self.parts["constraints"][-1]
        new = self.places.put(replace(old, atoms=(*old.atoms, atom)), self.places.spans[id(old)])
        self.parts["constraints"][-1] = new

    # Messages

    def show(self, problem: Problem) -> str:
        offset, length = self.places.spans.get(id(problem.about), (0, 1))
        if problem.word is not None:
            line = next((ln for ln in self.lines if ln.start <= offset < ln.start + len(ln.text)), None)
            found = line and [m for m in re.finditer(rf"(?<!\w){re.escape(problem.word)}(?!\w)", line.text)]
            if line and found:
                offset, length = line.start + found[-1].start(), len(problem.word)
        return self.source.show(problem.message, offset, length)

    def unexpected(self, line: LogicalLine, error: UnexpectedInput) -> str:
        offset = line.start + max(0, error.pos_in_stream or 0)
        match error:
            case UnexpectedToken() if error.token.type == "$END":
                return self.source.show(
                    f"the line ends too soon; {_wanted(error.accepts or error.expected)}",
                    line.start + len(line.text) - 1,
                )
            case UnexpectedToken():
                word = str(error.token)
                reserved = f"{word} is a word of the language; " if word in RESERVED else ""
                message = f"{reserved}{word} does not belong here; {_wanted(error.accepts or error.expected)}"
                return self.source.show(message, offset, len(word))
            case UnexpectedCharacters():
                hint = "; a comment needs a space after its #" if error.char == "#" else ""
                return self.source.show(
                    f"{error.char!r} does not belong here; {_wanted(error.allowed or set())}{hint}", offset
                )
            case _:
                return self.source.show("this cannot be read", offset)


_TERMINALS = {
    "HOLE": "a hole (?name)", "COUNTER": "a counter (#name)", "NAME": "a name", "NUMBER": "a number", "STRING": 'a "label"',
    "RELATION": "a comparison (<=, >, ...)", "PLUS": "+", "MINUS": "-", "STAR": "*", "LPAR": "(", "RPAR": ")", "COMMA": ",",
    "EQUAL": "=", "__ANON_0": "+-", "COLON": ":", "DOT": ".", "$END": "the end of the line",
}  # fmt: skip


def _wanted(terminals: Any) -> str:
    by_name = {t.name: t.pattern.value for t in _grammar().terminals}
    said = []
    for name in sorted(terminals):
        if name in _TERMINALS and not name.startswith("__"):
            said.append(_TERMINALS[name])
        elif name in by_name:
            said.append(f"`{by_name[name].replace(chr(92), '')}`")
    return "expected " + " or ".join(dict.fromkeys(said)) if said else "nothing can follow"
