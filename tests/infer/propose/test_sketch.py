"""What becomes of a structure: stretches that are done again, undoing, several ways, thresholds, attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srm.errors import DemonstrationError
from srm.infer.propose.facts import happens_again, taking_turns, undoers
from srm.infer.propose.propose import Proposal, propose_machine
from srm.infer.propose.reading import Account, Occurrence, PlayAccount
from srm.machine.vocabulary import Balance, Event, Vocabulary
from tests.infer.propose.accounts import COLOUR, SIGNAL, WORDS, account, account_of, shares, story


def proposed(account: Account) -> Proposal:
    return propose_machine(account, "house", "House-v0")


def rules(proposal: Proposal, node: str) -> list[str]:
    return [" ".join(str(rule).split()) for rule in proposal.machine.node(node).rules]


def test_a_stretch_that_may_be_done_again_pays_each_event_once_between_two() -> None:
    proposal = proposed(account(*["take unlock see drop goal"] * 10))
    assert proposal.machine.start == "before_see"
    assert "unlock // ?unlock" in rules(proposal, "before_see")
    assert "take and #take < 1 // ?take" in rules(proposal, "before_see")
    (counter,) = proposal.machine.counters
    assert str(counter) == "#take counts take resets on unlock"


def test_what_cannot_happen_again_is_a_chain() -> None:
    proposal = proposed(account(*["take press goal"] * 10))
    assert [node.name for node in proposal.machine.nodes] == ["before_take", "before_press", "before_goal", "done"]


def test_play_that_always_goes_on_needs_no_way_back() -> None:
    proposal = proposed(account(*["take unlock goal"] * 10, runs=["take unlock goal"] * 20))
    assert proposal.machine.start == "before_take"
    assert "unlock: no way back, since play went on to goal in 20 of 20 episodes" in proposal.explanation


def test_play_that_stops_after_a_milestone_shows_a_way_back() -> None:
    """The vocabulary says nothing of `press`, so the machine bounds how often it pays."""
    proposal = proposed(account(*["press goal"] * 10, runs=[*["press press"] * 10, *["press goal"] * 10]))
    assert "press and #press < ?press_times // ?press" in rules(proposal, "before_goal")
    assert "play stopped after it in 10 of 20 episodes" in proposal.text


def test_undoing_costs_unless_something_later_needs_it() -> None:
    assert "drop // ?undo_take" in rules(proposed(account(*["take unlock goal"] * 10)), "before_goal")
    needed = proposed(account(*["take unlock see drop goal"] * 10))
    assert not any(hole.name == "undo_take" for hole in needed.machine.holes)
    assert "drop undoes take, but the demonstrations need it, so it costs nothing" in needed.explanation


def test_a_search_is_paid_for_each_door_and_little() -> None:
    """Whoever knows the house opens one door; whoever does not, several. What a closed door takes back cannot be farmed."""
    proposal = proposed(account(*["open take unlock goal"] * 10))
    assert "open // ?open" in rules(proposal, "before_goal")
    atoms = proposal.text.partition("constraint")[2]
    assert "?open + ?undo_unlock <= 0" in atoms
    assert "30 * ?open <= ?take" in atoms
    assert "* ?take <=" not in atoms  # one at a time is no search


def test_two_ways_split_and_join() -> None:
    proposal = proposed(account(*["take press goal"] * 5, *["open press goal"] * 5))
    start = proposal.machine.node(proposal.machine.start)
    assert {rule.target for rule in start.rules} == {"before_press", "done"}
    assert {str(rule.guard) for rule in start.rules} == {"take", "open", "goal"}


def test_the_end_pays_wherever_it_comes() -> None:
    proposal = proposed(account(*["take press goal"] * 10))
    assert all(any(r.target == "done" for r in node.rules) for node in proposal.machine.nodes if node.name != "done")


def test_a_varying_number_is_a_hole_in_a_guard() -> None:
    proposal = proposed(account(*["open take goal"] * 5, *["open open take goal"] * 5))
    (times,) = [hole for hole in proposal.machine.holes if hole.name == "open_times"]
    assert times.space is not None
    assert (times.space.low, times.space.high, times.space.whole) == (1, 2, True)


def test_a_height_that_random_play_never_reaches_is_a_milestone() -> None:
    words = replace(WORDS, signals=(SIGNAL,))
    heights = [0.0, 0.1, 0.2, 0.9, 0.9, 1.0]
    stories = [replace(story("press goal", n, signals=heights), length=6) for n in range(5)]
    stories = [replace(s, occurrences=(Occurrence(0, "press"), Occurrence(5, "goal"))) for s in stories]
    low = replace(story("", 0, solved=False), length=100, signals=np.linspace(0, 0.3, 100)[:, None])
    shown = replace(account_of(stories, words=words), random=PlayAccount((low,), shares([low], words)))
    proposal = proposed(shown)
    (hole,) = [hole for hole in proposal.machine.holes if hole.name == "height_from"]
    assert hole.space is not None
    assert 0.29 <= hole.space.low <= 0.31
    assert hole.space.high == 1.0
    assert "every hole except ?height_from <= ?goal" in proposal.text
    assert "height > ?height_from // ?high_height -> before_goal" in rules(proposal, "before_high_height")


def test_a_value_that_play_does_not_share_is_asked_for() -> None:
    words = Vocabulary("buttons", (Event("press", "a button", ("colour",)), Event("goal", "the goal")), (COLOUR,))
    played = ["press:red press:blue"] * 10
    proposal = proposed(account(*["press:red goal"] * 5, random=played, random_length=100, words=words))
    assert rules(proposal, "before_press")[-1] == "press where colour = red // ?press -> before_goal"


@pytest.mark.parametrize("texts", [["", ""], ["take", "drop", "press"]], ids=["nothing", "nothing in common"])
def test_too_little_to_go_by_is_refused_with_a_sentence(texts: list[str]) -> None:
    with pytest.raises(DemonstrationError, match="add words for what they do"):
        proposed(account(*texts))


def test_demonstrations_that_all_fail_are_refused() -> None:
    with pytest.raises(DemonstrationError, match="none of 2 demonstrations solves the task"):
        proposed(account(failed=["take", "take"]))


def test_what_cannot_be_proved_is_refused_with_a_sentence() -> None:
    """Any of fourteen events may hold at a step: more sets than `srm check` looks at."""
    names = [f"see{number}" for number in range(14)]
    words = Vocabulary("crowd", tuple(Event(name, name, act=False) for name in names))
    with pytest.raises(DemonstrationError, match=r"could be proved .*more than 4,096 sets of events"):
        proposed(account(*[" ".join(names)] * 3, words=words))


def test_an_end_that_also_comes_earlier_has_a_hole_of_its_own() -> None:
    """Pressing the first time ends nothing, so it does not pay as the end does."""
    proposal = proposed(account(*["press take press"] * 5))
    assert rules(proposal, "before_press") == ["press // ?press -> before_take"]
    assert rules(proposal, "before_take") == ["take // ?take -> before_press_2"]
    assert rules(proposal, "before_press_2")[0] == "press // ?last_press -> done"
    assert '"last_press is worth most"  every hole <= ?last_press' in proposal.text


def test_where_one_way_ends_on_the_way_of_the_other_its_end_ends_both() -> None:
    proposal = proposed(account(*["take unlock goal press"] * 4, *["open press open see unlock goal"] * 2))
    assert rules(proposal, "before_goal")[0] == "goal // ?goal -> done"
    assert '"goal is worth most"' in proposal.text
    assert not any(hole.name == "last_press" for hole in proposal.machine.holes)


def test_an_end_that_comes_twice_at_once_has_no_way_back() -> None:
    """Unlocking may happen again, but nothing would tell the last time from the one before."""
    proposal = proposed(account(*["take unlock unlock"] * 5))
    assert rules(proposal, "before_unlock_2")[0] == "unlock // ?last_unlock -> done"


@pytest.mark.parametrize("order", [("take", "press"), ("press", "take")], ids=" ".join)
def test_events_in_any_order_of_which_none_is_the_end_are_refused(order: tuple[str, str]) -> None:
    both = [" ".join(order), " ".join(reversed(order))] * 5
    with pytest.raises(DemonstrationError, match=r"press, take come in any order, .* add a word for its end"):
        proposed(account(*both))


def test_balances_say_what_undoes_and_what_happens_again() -> None:
    assert undoers("take", WORDS) == ("drop",)
    assert undoers("close", WORDS) == ("open", "unlock")
    assert taking_turns("take", "drop", WORDS) == WORDS.balances[0]
    assert taking_turns("unlock", "close", WORDS) == WORDS.balances[1]
    assert taking_turns("close", "unlock", WORDS) is None
    assert [event.name for event in WORDS.events if happens_again(event.name, WORDS)] == ["unlock"]
    both = replace(WORDS, balances=(Balance(("take", "press"), ("drop",)), Balance(("take",), ("drop",))))
    assert undoers("drop", both) == ("take",)


def test_what_ends_a_task_is_an_event_before_it_is_a_threshold() -> None:
    words = replace(WORDS, events=(*WORDS.events, Event("win", "wins")), signals=(SIGNAL,))
    stories = [replace(story("press win", n, signals=[0.0, 0.1, 0.2, 0.2, 0.2, 1.0]), length=6) for n in range(5)]
    stories = [replace(s, occurrences=(Occurrence(0, "press"), Occurrence(5, "win"))) for s in stories]
    low = replace(story("", 0, solved=False), length=100, signals=np.linspace(0, 0.3, 100)[:, None])
    proposal = proposed(replace(account_of(stories, words=words), random=PlayAccount((low,), shares([low], words))))
    assert rules(proposal, "before_win")[0] == "win // ?win -> done"


def test_two_ways_that_meet_are_counted_together() -> None:
    proposal = proposed(account(*["take press goal"] * 5, *["take open goal"] * 5))
    assert "# ends all 10 demonstrations" in proposal.text
    assert "# in all 10 demonstrations" in proposal.text
    assert "ends 5 of 10" not in proposal.text


def test_nothing_is_done_again_until_what_also_comes_before_it() -> None:
    proposal = proposed(account(*["unlock press goal"] * 7, *["press unlock press goal"] * 3))
    assert "another unlock" not in proposal.text


def test_a_task_may_be_called_anything() -> None:
    assert (
        propose_machine(account(*["take goal"] * 5), "3 door-keys", "House-v0").machine.name
        == "task_3_door_keys_proposed"
    )


def test_an_event_that_is_called_like_a_hole_of_ours_gets_a_sentence() -> None:
    words = replace(WORDS, events=(*WORDS.events, Event("undo_take", "something else")))
    with pytest.raises(DemonstrationError, match=r"of its own: there are two holes named undo_take; rename one$"):
        proposed(account(*["take undo_take goal"] * 5, words=words))
