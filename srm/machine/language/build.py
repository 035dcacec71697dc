"""From the parser's trees to terms and guards, each remembered with its place in the text.

The grammar has one kind of expression; here it becomes a term or a guard, whichever its place asks for, and what does not
fit is reported where it stands: an event among numbers, a hole where something must happen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lark import Token, Tree

from srm.machine.holes import Space
from srm.machine.language.source import Span
from srm.machine.terms import (
    DEEPEST_NESTING,
    Always,
    And,
    AttributeOf,
    Cell,
    Compare,
    CounterTerm,
    Guard,
    Happens,
    HoleTerm,
    NamedTerm,
    Negation,
    Not,
    Number,
    Or,
    Product,
    SignalTerm,
    Sum,
    Term,
    Test,
)

Thing = TypeVar("Thing")
Leaf = Tree[Token] | Token


@dataclass
class Places:
    """Where each part of a machine stands: offset and length in the file, by the identity of the part."""

    spans: dict[int, Span] = field(default_factory=dict)
    kept: list[object] = field(default_factory=list)  # an identity is only unique while its object lives

    def put(self, thing: Thing, span: Span) -> Thing:
        self.spans[id(thing)] = span
        self.kept.append(thing)
        return thing


class Mismatch(Exception):
    """An expression of the wrong kind; raised at once, caught once for each logical line."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


@dataclass
class Builder:
    """Builds the parts of one logical line, which begins at `start` in the file."""

    start: int
    places: Places
    named: frozenset[str]  # the terms named by `let`; every other name in a term is a signal

    def span(self, tree: Leaf) -> Span:
        if isinstance(tree, Token):
            return self.start + (tree.start_pos or 0), len(tree)
        meta = tree.meta
        return (self.start, 1) if meta.empty else (self.start + meta.start_pos, meta.end_pos - meta.start_pos)

    def number(self, tree: Leaf) -> float:
        token = tree if isinstance(tree, Token) else tree.children[0]
        sign = -1.0 if isinstance(tree, Tree) and tree.data == "negative" else 1.0
        return sign * float(str(token))

    def space(self, tree: Tree[Token]) -> Space:
        low, high, whole = tree.children
        return Space(self.number(low), self.number(high), whole is not None)

    def range(self, tree: Tree[Token] | None) -> tuple[float | None, float | None]:
        """Of a signal: either end may be open."""
        low, high = tree.children if tree is not None else (None, None)
        return (None if low is None else self.number(low)), (None if high is None else self.number(high))

    def term(self, tree: Leaf, depth: int = 0) -> Term:
        span = self.span(tree)
        if depth > DEEPEST_NESTING:
            raise Mismatch(f"nested deeper than {DEEPEST_NESTING}; name a part of it with `let`", span)
        assert isinstance(tree, Tree)
        inner: list[Any] = tree.children

        def under(child: Leaf) -> Term:
            return self.term(child, depth + 1)

        match tree.data:
            case "number":
                return self.places.put(Number(float(inner[0])), span)
            case "hole_term":
                return self.places.put(HoleTerm(inner[0][1:]), span)
            case "counter_term":
                return self.places.put(CounterTerm(inner[0][1:]), span)
            case "group":
                return self.term(inner[0], depth)
            case "negation":
                negated = under(inner[1])
                literal = isinstance(inner[1], Tree) and inner[1].data == "number"
                flipped = Number(-negated.value) if isinstance(negated, Number) and literal else Negation(negated)
                return self.places.put(flipped, span)
            case "product":
                return self.places.put(Product(tuple(under(child) for child in inner)), span)
            case "sum":
                terms = [under(inner[0])]
                for sign, child in zip(inner[1::2], inner[2::2], strict=True):
                    part = under(child)
                    terms.append(part if sign == "+" else self.places.put(Negation(part), self.span(child)))
                return self.places.put(Sum(tuple(terms)), span)
            case "happens" if inner[1] is None:
                name = str(inner[0])
                return self.places.put(NamedTerm(name) if name in self.named else SignalTerm(name), span)
            case _:
                raise Mismatch("a number is needed here, and this is true or false", span)

    def guard(self, tree: Leaf, depth: int = 0) -> Guard:
        span = self.span(tree)
        if depth > DEEPEST_NESTING:
            raise Mismatch(f"nested deeper than {DEEPEST_NESTING}", span)
        assert isinstance(tree, Tree)
        inner: list[Any] = tree.children
        several: Callable[[], tuple[Guard, ...]] = lambda: tuple(self.guard(child, depth + 1) for child in inner)  # noqa: E731
        match tree.data:
            case "always":
                return self.places.put(Always(), span)
            case "happens":
                return self.happens(tree)
            case "group":
                return self.guard(inner[0], depth)
            case "inversion":
                return self.places.put(Not(self.guard(inner[0], depth + 1)), span)
            case "conjunction":
                return self.places.put(And(several()), span)
            case "disjunction":
                return self.places.put(Or(several()), span)
            case "comparison" if len(inner) == 3:
                left, right = self.term(inner[0], depth + 1), self.term(inner[2], depth + 1)
                return self.places.put(Compare(left, str(inner[1]), right), span)
            case "comparison":
                raise Mismatch("one comparison at a time; join two with `and`", span)
            case _:
                raise Mismatch("an event or a comparison is needed here, and this is a number", span)

    def happens(self, tree: Tree[Token]) -> Happens:
        inner: list[Any] = tree.children
        if str(inner[0]) in self.named:
            raise Mismatch(
                f"an event or a comparison is needed here, and {inner[0]} is a term named by `let`", self.span(tree)
            )
        tests = tuple(self.test(child) for child in inner[1:] if child is not None)
        return self.places.put(Happens(str(inner[0]), tests), self.span(tree))

    def test(self, tree: Tree[Token]) -> Test:
        name, relation, value = tree.children
        assert isinstance(relation, Tree)
        assert isinstance(value, Tree)
        words = [str(child) for child in value.children]
        operand: str | Cell | AttributeOf
        match value.data:
            case "cell":
                if not all(word.isdigit() and len(word) <= 5 for word in words):
                    raise Mismatch("a cell is two small whole numbers", self.span(value))
                operand = Cell(int(words[0]), int(words[1]))
            case "attribute_of":
                operand = AttributeOf(words[0], words[1])
            case "none":
                operand = "none"
            case _:
                operand = words[0]
        relation_text = " ".join(map(str, relation.children))
        return self.places.put(Test(str(name), relation_text, operand), self.span(tree))
