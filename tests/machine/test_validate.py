"""A machine built in Python is held to what its text could say; an invalid one does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from srm.errors import MachineError
from srm.machine.holes import Atom, Constraint, EveryHole, Hole
from srm.machine.language.parse import parse
from srm.machine.model import Counter, Hindsight, InvalidMachine, Machine, Node, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import (
    Always,
    And,
    AttributeOf,
    Cell,
    Compare,
    Guard,
    Happens,
    HoleTerm,
    NamedTerm,
    Negation,
    Not,
    Number,
    Or,
    Product,
    Sum,
    Term,
    Test,
)
from srm.machine.validate import RESERVED, find_problems
from tests.machines import machines

ONE = Number(1.0)
WAIT = Happens("wait")


def machine(*rules: Rule, **parts: Any) -> Machine:
    return Machine(**{"name": "m", "nodes": (Node("s", rules),), "start": "s", "holes": (Hole("a"),)} | parts)


def guarded(guard: Guard) -> Machine:
    return machine(Rule(guard, ONE))


def paying(pay: Term) -> Machine:
    return machine(Rule(WAIT, pay))


def asking(*test: Any) -> Machine:
    return guarded(Happens("pick", (Test(*test),)))


def constrained(*atom: Any) -> Machine:
    return machine(constraints=(Constraint((Atom(*atom),)),))


def nested(depth: int) -> Term:
    term: Term = HoleTerm("a")
    for _ in range(depth):
        term = Negation(term)
    return term


INVALID: dict[str, tuple[Callable[[], Machine], str]] = {
    "no nodes": (lambda: Machine("m", (), "s"), "there is no start node; write `start NAME` where the machine begins"),
    "a name with a dot": (lambda: machine(name="a.b"), "'a.b' cannot name a machine; use letters, digits and _"),
    "a name in capitals of elsewhere": (lambda: machine(name="é"), "'é' cannot name a machine; use letters, digits and _"),
    "no name": (lambda: machine(name=""), "'' cannot name a machine; use letters, digits and _"),
    "a vocabulary's name": (lambda: machine(words="and"), "and is a word of the language and cannot name a vocabulary"),
    "a sum of one": (lambda: paying(Sum((ONE,))), "a sum or a product of fewer than two parts"),
    "an empty product": (lambda: paying(Product(())), "a sum or a product of fewer than two parts"),
    "an empty and": (lambda: guarded(And(())), "`and` and `or` join at least two guards"),
    "an or of one": (lambda: guarded(Or((WAIT,))), "`and` and `or` join at least two guards"),
    "a relation": (lambda: guarded(Compare(ONE, "==", ONE)), "terms are compared with <=, >=, <, >, =, !=, not =="),
    "a test's relation": (lambda: asking("colour", "<", "red"), "attributes are tested with =, != or `next to`, not <"),
    "an attribute's name": (lambda: asking("the colour", "=", "red"), "'the colour' cannot name an attribute; use letters, digits and _"),
    "a value's name": (lambda: asking("colour", "=", "light red"), "'light red' cannot name a value; use letters, digits and _"),
    "a value of the language": (lambda: asking("colour", "=", "or"), "or is a word of the language and cannot name a value"),
    "a cell below 0": (lambda: asking("place", "=", Cell(-1, 2)), "the numbers of a cell go from 0 to 32767"),
    "next to nothing": (lambda: asking("place", "next to", "none"), "nothing is next to none; write a cell as (x, y)"),
    "an attribute of now": (lambda: asking("place", "=", AttributeOf("drop", "place")), "drop.place can be compared with only in hindsight"),
    "a number that is none": (lambda: paying(Number(float("nan"))), "a number too large to be held"),
    "a term too deep": (lambda: paying(nested(31)), "nested deeper than 30; name a part of it with `let`"),
    "a term a million deep": (lambda: paying(nested(100_000)), "nested deeper than 30; name a part of it with `let`"),
    "a guard too deep": (lambda: guarded(Not(Not(Compare(nested(28), ">", ONE)))), "nested deeper than 30"),
    "an unknown term": (lambda: paying(NamedTerm("left")), "left is not a term named by a `let` before node s"),
    "a rule of a later tier": (lambda: machine(Rule(WAIT, ONE, tier=1)), "`otherwise` must follow a rule it can yield to"),
    "a tier left out": (
        lambda: machine(Rule(WAIT, ONE), Rule(WAIT, ONE, tier=2)),
        "`otherwise` must follow a rule it can yield to",
    ),
    "a negative tier": (lambda: machine(Rule(WAIT, ONE, tier=-1)), "`otherwise` must follow a rule it can yield to"),
    "hindsight of no change": (
        lambda: machine(Rule(WAIT, ONE, hindsight=Hindsight(()))),
        "hindsight that changes nothing; write what is paid anew below it",
    ),
    "every of no event": (lambda: machine(Rule(WAIT, ONE, hindsight=Hindsight((RepayEvery(()),)))), "`every` of no event"),
    "hindsight of an absent event": (
        lambda: machine(
            Rule(WAIT, ONE, hindsight=Hindsight((RepayLast(Happens("pick", (Test("place", "=", AttributeOf("drop", "place")),)), ONE),)))
        ),
        "drop.place: the rule's guard does not speak of drop",
    ),
    "an atom of nothing": (lambda: constrained((), "<=", ONE), "an atom that speaks of nothing"),
    "a strict atom": (
        lambda: constrained((HoleTerm("a"),), "<", ONE),
        "a constraint compares with <=, >= or =, not <: a bound that may be approached but not reached cannot be "
        "optimised over",
    ),
    "an unknown exception": (lambda: constrained(EveryHole(("b",)), "<=", ONE), "unknown hole ?b"),
    "a label in two lines": (
        lambda: constrained((HoleTerm("a"),), "<=", ONE, "one\ntwo"),
        "a label must be one line of printable characters without quotation marks",
    ),
    "a quoted label": (
        lambda: constrained((HoleTerm("a"),), "<=", ONE, 'so "called"'),
        "a label must be one line of printable characters without quotation marks",
    ),
    "a spread alone": (lambda: machine(holes=(Hole("a", None, 0.5),)), "?a has a spread but no value"),
    "a counter of no rule": (
        lambda: machine(counters=(Counter("c", RuleOf("opened")),)),
        "#c counts rule opened, but no rule has that name",
    ),
    "a reset by a faulty test": (
        lambda: machine(counters=(Counter("c", WAIT, resets=(Happens("pick", (Test("place", "~", Cell(0, 0)),)),)),)),
        "attributes are tested with =, != or `next to`, not ~",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_invalid_machines_do_not_come_into_being(name: str) -> None:
    build, problem = INVALID[name]
    with pytest.raises(InvalidMachine) as refused:
        build()
    assert [told.split(": ", 1)[1] for told in refused.value.problems] == [problem]


def test_what_is_just_allowed() -> None:
    deep = paying(nested(30))
    assert parse(str(deep)) == deep
    guard = guarded(Not(Not(Compare(nested(27), ">", ONE))))
    assert parse(str(guard)) == guard
    assert asking("colour", "=", "none")
    assert guarded(Always())


def test_all_problems_are_told_at_once_with_the_machine() -> None:
    with pytest.raises(MachineError) as refused:
        machine(Rule(WAIT, HoleTerm("b"), "t"), Rule(WAIT, HoleTerm("c")))
    assert refused.value.problems == (
        "machine m: unknown hole ?b",
        "machine m: the rule leads to t, which is not a node",
        "machine m: unknown hole ?c",
    )


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_words_of_the_language_name_nothing(word: str) -> None:
    with pytest.raises(MachineError, match=f"{word} is a word of the language and cannot name a node"):
        Machine("m", (Node("s"), Node(word)), "s")


def test_words_of_other_sections_may_be_names() -> None:
    # only what `RESERVED` lists is taken: these are read as names everywhere
    assert parse("machine m\nstart end\n    goal // 1 -> end\n").start == "end"


@given(machines())
def test_valid_machines_have_no_problems_and_lose_it_with_a_node(drawn: Machine) -> None:
    assert list(find_problems(drawn)) == []
    with pytest.raises(MachineError):
        replace(drawn, start="nowhere")
