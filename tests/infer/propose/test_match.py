"""What is done must match what it leads to, as a key has the colour of its lock: who asks for it, when, and what is then paid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srm.evaluate.reference import Walk
from srm.infer.propose.propose import Proposal, propose_machine
from srm.machine.vocabulary import Balance, Event, Vocabulary
from tests.infer.propose.accounts import COLOUR, SHAPE, account

BOTH = ("colour", "shape")
LOCKS = Vocabulary(
    "locks",
    (
        *(Event(name, name, BOTH) for name in ("take", "drop", "unlock")),
        Event("press", "a button"),
        Event("goal", "a goal"),
    ),
    (COLOUR, SHAPE),
    balances=(Balance(("take",), ("drop",), most=1), Balance(("unlock",), most=1), Balance(("goal",), most=1)),
)
AGAIN = replace(LOCKS, balances=(LOCKS.balances[0], Balance(("unlock",), most=3), LOCKS.balances[2]))
EACH = ("take:red:round unlock:red:round goal", "take:blue:round unlock:blue:round goal")
ANY_COLOUR = ("take:red:round take:blue:round",) * 5


def key_and_lock(*played: str, each: tuple[str, ...] = EACH, match: bool = True, words: Vocabulary = LOCKS) -> Proposal:
    shown = account(*each * 5, random=played, random_length=100, words=words)
    return propose_machine(shown, "house", "House-v0", match)


def paid(proposal: Proposal, text: str, words: Vocabulary = LOCKS) -> list[float]:
    """For each step, with each milestone worth 1, what undoes it -1, and the goal 5."""
    values = {name: -1.0 if name.startswith("undo_") else 1.0 for name in proposal.machine.hole_names} | {"goal": 5.0}
    walk = Walk(proposal.machine, words, values)
    for step in text.split():
        name, *given = step.split(":")
        known = zip(words.attributes, given, strict=False)
        walk.step({name: {attribute.name: attribute.values.index(value) for attribute, value in known}}, {})  # type: ignore[union-attr]
    return walk.pay


@pytest.mark.parametrize("words", [LOCKS, AGAIN], ids=["unlocked once", "unlocked again"])
def test_a_key_of_another_colour_than_the_lock_ends_unpaid(words: Vocabulary) -> None:
    proposal = key_and_lock(*ANY_COLOUR, words=words)
    assert paid(proposal, "take:red:round", words) == [1]
    assert paid(proposal, "take:red:round unlock:blue:round", words) == [0, 1]
    assert paid(proposal, "take:red:round unlock:red:round goal", words) == [1, 1, 5]


@pytest.mark.parametrize("words", [LOCKS, AGAIN], ids=["unlocked once", "unlocked again"])
def test_a_mistake_that_is_mended_costs_nothing_in_sum(words: Vocabulary) -> None:
    proposal = key_and_lock(*ANY_COLOUR, words=words)
    mended = paid(proposal, "take:red:round drop:red:round take:blue:round unlock:blue:round goal", words)
    assert mended == [0, 0, 1, 1, 5]
    assert paid(proposal, "take:red:round drop:red:round", words) == [1, -1]


def test_each_unlocking_asks_for_the_key_taken_since_the_one_before() -> None:
    proposal = key_and_lock(*ANY_COLOUR, words=AGAIN)
    twice = "take:red:round unlock:red:round unlock:red:round take:blue:round unlock:blue:round"
    assert paid(proposal, twice, AGAIN) == [1, 1, 1, 1, 1]


def test_what_a_milestone_asks_of_itself_it_asks_for_in_hindsight_too() -> None:
    """Demonstrations take round keys alone: a square one of the right colour stays unpaid."""
    proposal = key_and_lock(*["take:red:round take:blue:square take:red:square"] * 5)
    assert "take where shape = round" in proposal.text
    assert "last take where shape = round, colour = unlock.colour  // ?take" in proposal.text
    assert paid(proposal, "take:blue:round take:red:round take:blue:square unlock:blue:round") == [1, 0, 0, 1]


def test_two_attributes_are_asked_for_at_once() -> None:
    kinds = ("red:round", "blue:square", "red:square", "blue:round")
    each = tuple(f"take:{kind} unlock:{kind} goal" for kind in kinds)
    proposal = key_and_lock(*["take:red:round take:blue:square"] * 5, each=each)
    assert "take: only the last with the colour and shape of unlock stays paid" in proposal.explanation
    assert paid(proposal, "take:red:round unlock:red:round") == [1, 1]
    assert paid(proposal, "take:red:round unlock:red:square") == [0, 1]
    assert paid(proposal, "take:red:round unlock:blue:round") == [0, 1]


def test_what_is_left_out_is_not_paid_in_hindsight() -> None:
    """Who goes from a key straight to the goal left the lock out, and is paid nothing for a key that the goal does not show to be right."""
    proposal = key_and_lock(*ANY_COLOUR)
    assert paid(proposal, "take:red:round goal") == [1, 5]
    assert paid(proposal, "goal") == [5]


def test_it_is_asked_for_by_its_flag_alone() -> None:
    proposal = key_and_lock(*ANY_COLOUR, match=False)
    assert "hindsight" not in proposal.text
    remark = "take and unlock have the same colour; play has several in 5 of 5 episodes with take, so --match would ask for it"
    assert remark in proposal.explanation


@pytest.mark.parametrize(
    ("played", "why"),
    [
        (["take:red:round", "take:blue:round"] * 5, "play has several in 0 of 10 episodes with take"),
        ([], "play hardly ever has take"),
    ],
    ids=["never another", "no play"],
)
def test_a_colour_that_nobody_can_get_wrong_is_not_asked_for(played: list[str], why: str) -> None:
    proposal = key_and_lock(*played)
    assert "hindsight" not in proposal.text
    assert f"take and unlock have the same colour; {why}, so no rule asks for it" in proposal.explanation


@pytest.mark.parametrize(
    "order",
    ["take:{0} press take:{0} unlock:{0} goal", "take:{0} drop:{0} unlock:{0} goal"],
    ids=["paid twice", "a cost after it is put down"],
)
def test_what_pays_in_several_ways_is_left_as_it_is(order: str) -> None:
    proposal = key_and_lock(*ANY_COLOUR, each=(order.format("red:round"), order.format("blue:round")))
    assert "last take" not in proposal.text
    assert "but what would have to match is paid more than once" in proposal.explanation
