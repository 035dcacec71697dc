"""Conditions, letters and the solver, each held against trying everything out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from srm.machine.checks.core.conditions import (
    FALSE,
    TRUE,
    Occurs,
    Reading,
    Sign,
    at_least,
    counters_of,
    every,
    follow_events,
    given,
    literals_of,
    negate,
    number_form,
    sign,
)
from srm.machine.checks.core.letters import TooManyLetters, alphabet
from srm.machine.checks.core.solve import Prover
from srm.machine.checks.core.subject import Subject
from srm.machine.language.parse import parse
from srm.machine.terms import Happens
from tests.machines import WORDS, Names, guards

MACHINE = parse("""
machine m
holes ?a ?b
counters
    #n counts pick
    #m counts drop
start here
    pick and #n * ?a + #m * (?b - ?a) > 2 * ?b - 1  // ?a
    drop and not (#n <= 3 or ?a = ?b)               // ?b -> end
accept end
constraint
    ?a <= 2
    ?b >= -1
""")
NAMES = Names(holes=("a", "b"), counters=("n", "m"))


@st.composite
def conditions(draw: st.DrawFn, names: Names = NAMES):
    return Subject(MACHINE).condition(draw(guards(names)))


def test_a_guard_becomes_a_condition_with_the_negations_at_its_leaves():
    subject = Subject(MACHINE)
    _, dropping = (subject.condition(rule.guard) for rule in MACHINE.nodes[0].rules)
    assert literals_of(dropping) == (Happens("drop"),)
    assert counters_of(dropping) == ("n",)
    relations = [part.relation for part in dropping.parts if isinstance(part, Sign)]
    assert relations == [">", "!="]


def test_equal_comparisons_are_equal_values():
    subject = Subject(MACHINE)
    first, second = (
        subject.condition(parse(f"machine m\nholes ?a\nstart s\n    x and {text} // 1\n").nodes[0].rules[0].guard)
        for text in ("2 * ?a > 4", "not (?a <= 2)")
    )
    assert first == second


@pytest.mark.parametrize(
    ("number", "relation", "truth"), [(1, ">", TRUE), (0, ">", FALSE), (0, ">=", TRUE), (1, "=", FALSE)]
)
def test_comparisons_of_numbers_are_decided_at_once(number, relation, truth):
    assert sign(number_form(number), relation) == truth


@drawn(conditions(Names()))
def test_negating_twice_gives_the_same_truth_for_every_letter(condition):
    for letter in alphabet(literals_of(condition), WORDS):
        assert given(condition, letter.happening) == negate(given(negate(condition), letter.happening))


@settings(max_examples=60)
@drawn(conditions(), conditions())
def test_events_allow_a_condition_if_some_letter_does(first, second):
    both = every((first, second))
    letters = alphabet(literals_of(both), WORDS)
    some_letter = any(given(both, letter.happening) != FALSE for letter in letters)
    assert Prover(Subject(MACHINE, WORDS)).imaginable(both) == some_letter
    left = follow_events(both, WORDS.groups)
    assert any(given(left, letter.happening) != FALSE for letter in letters) == some_letter


@settings(max_examples=60)
@drawn(conditions())
def test_what_is_said_to_be_impossible_is_never_found_and_examples_are_examples(condition):
    subject = Subject(MACHINE, WORDS, MACHINE.constraints[0])
    answer = Prover(subject).example(condition)
    letters = alphabet(literals_of(condition), WORDS)
    if answer.possible:
        reading = Reading(answer.holes, answer.counters, answer.signals)
        events = {happens.event for happens in answer.events}
        assert any(
            reading.holds(given(condition, letter.happening)) for letter in letters if events == set(letter.events)
        )
        assert all(reading.holds(said) for said in subject.allowed)
    elif answer.possible is False:
        values = [Fraction(number, 2) for number in range(-2, 5)]
        for a, b, n, m in product(values, values, range(4), range(3)):
            reading = Reading({"a": a, "b": b}, {"n": n, "m": m})
            assert not any(reading.holds(given(condition, letter.happening)) for letter in letters)


def test_letters_are_acts_alone_or_beside_what_is_seen():
    letters = alphabet((Happens("pick"), Happens("drop"), Happens("see")), WORDS)
    assert [letter.events for letter in letters] == [
        (),
        ("pick",),
        ("drop",),
        ("see",),
        ("pick", "see"),
        ("drop", "see"),
    ]


def test_without_a_vocabulary_any_events_may_coincide():
    assert len(alphabet((Happens("x"), Happens("y"), Happens("z")), None)) == 8
    with pytest.raises(TooManyLetters):
        alphabet([Happens(f"event{number}") for number in range(40)], None)


def test_an_effort_that_is_too_small_leaves_the_question_undecided():
    condition = every(
        (Occurs(Happens("pick")), Subject(MACHINE).condition(MACHINE.nodes[0].rules[0].guard), at_least("m", 9))
    )
    assert Prover(Subject(MACHINE), effort=1).can(condition) is None
