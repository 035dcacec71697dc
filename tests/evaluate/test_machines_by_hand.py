"""The shipped machines on hand-written traces, with every number worked out by hand. Reference and batched must give them."""

from __future__ import annotations

from itertools import permutations

import pytest

from srm.machine.language.parse import find_machine
from tests.evaluate.scripts import pay_of


def check(name: str, told: list[tuple[str, float]], values: dict[str, float] | None = None) -> None:
    """Each step's events and what is paid for it when the episode is over."""
    paid = pay_of(find_machine(name), [events for events, _ in told], values)
    assert paid == pytest.approx([pay for _, pay in told])


# DoorKey: goal 1, unlock 0.5, close -0.5, pick 0.1, drop -0.2


def test_doorkey_pays_milestones_and_the_first_closing_only() -> None:
    check(
        "doorkey_handset",
        [
            ("", 0),
            ("close_door yellow (3, 3)", 0),  # not a word of before_unlocking, and not counted there
            ("pick_up_key yellow (1, 2)", 0.1),
            ("drop_key yellow (1, 1)", -0.2),
            ("pick_up_key yellow (1, 1)", 0.1),
            ("reach_goal (6, 6)", 0),  # nor is this
            ("unlock_door yellow (4, 4)", 0.5),
            ("close_door yellow (4, 4)", -0.5),  # 0 * -0.5 + 0.5 = 0.5 > 0
            ("open_door yellow (4, 4)", 0),
            ("close_door yellow (4, 4)", 0),  # 1 * -0.5 + 0.5 = 0: dead from here on
            ("close_door yellow (4, 4)", 0),  # 2 * -0.5 + 0.5 = -0.5
            ("drop_key yellow (5, 5)", 0),
            ("reach_goal (6, 6)", 1),
            ("reach_goal (6, 6)", 0),  # the machine has ended
        ],
    )


def test_doorkey_pays_closings_until_they_have_used_up_the_unlocking() -> None:
    values = {"goal": 1.0, "unlock": 0.5, "close": -0.2, "pick": 0.1, "drop": -0.2}
    check(
        "doorkey",
        [
            ("unlock_door yellow (4, 4)", 0.5),
            ("close_door yellow (4, 4)", -0.2),  # 0.5 > 0
            ("close_door yellow (4, 4)", -0.2),  # 1 * -0.2 + 0.5 = 0.3
            ("close_door yellow (4, 4)", -0.2),  # 2 * -0.2 + 0.5 = 0.1
            ("close_door yellow (4, 4)", 0),  # 3 * -0.2 + 0.5 = -0.1
            ("reach_goal (6, 6)", 1),
        ],
        values,
    )


# KeyCorridor


def test_keycorridor_takes_advances_for_doors_out_of_the_milestone() -> None:
    values = {
        "target": 1.0, "find_key": 0.5, "drop_used": 0.2, "unlock": 0.6, "open": 0.1, "drop_unused": -0.5,
        "pick_used": -0.2, "close": -0.1,
    }  # fmt: skip
    check(
        "keycorridor",
        [
            ("open_door red (2, 2)", 0.1),  # 0 * (-0.1 - 0.1) + 0.5 = 0.5 > 0
            ("close_door red (2, 2)", -0.1),
            ("open_door red (2, 2)", 0.1),  # 1 * -0.2 + 0.5 = 0.3
            ("open_door blue (2, 4)", 0.1),  # 2 * -0.2 + 0.5 = 0.1
            ("open_door grey (2, 6)", 0),  # 3 * -0.2 + 0.5 = -0.1
            ("pick_up_key green (1, 6)", 0.2),  # 0.5 - 3 * 0.1: three of the four doors were paid
            ("open_door blue (4, 4)", 0.1),  # 0 * -0.2 + 0.6 = 0.6
            ("drop_key green (1, 1)", -0.5),
            ("pick_up_key green (1, 1)", 0.5),  # the whole milestone, which dropping had taken back
            ("close_door blue (4, 4)", -0.1),
            ("open_door blue (4, 4)", 0.1),  # 1 * -0.2 + 0.6 = 0.4
            ("unlock_door green (6, 4)", 0.4),  # 0.6 - 2 * 0.1
            ("open_door blue (4, 4)", 0),  # not a word of after_unlocking
            ("drop_key green (5, 5)", 0.2),
            ("pick_up_key green (5, 5)", -0.2),
            ("drop_key green (5, 5)", 0.2),
            ("pick_up_target red (8, 4)", 1),
        ],
        values,
    )


def test_keycorridor_with_the_revised_values_pays_one_door_before_the_key() -> None:
    # target 1, find_key 0.1, drop_used 0, unlock 0.5, open 0.1, drop_unused 0, pick_used -0.1, close -0.1
    check(
        "keycorridor_revised",
        [
            ("open_door red (2, 2)", 0.1),  # 0 * -0.2 + 0.1 = 0.1
            ("open_door blue (2, 4)", 0),  # 1 * -0.2 + 0.1 = -0.1
            ("pick_up_key green (1, 6)", 0),  # 0.1 - 1 * 0.1
            ("open_door blue (4, 4)", 0.1),  # 0.5
            ("open_door blue (4, 6)", 0.1),  # 0.3
            ("open_door blue (4, 8)", 0.1),  # 0.1
            ("open_door blue (6, 8)", 0),  # -0.1
            ("unlock_door green (6, 4)", 0.2),  # 0.5 - 3 * 0.1
            ("drop_key green (5, 5)", 0),
            ("pick_up_target red (8, 4)", 1),
        ],
    )


def test_keycorridor_as_a_plain_reward_machine_pays_every_door() -> None:
    check(
        "keycorridor_rm",
        [
            ("open_door red (2, 2)", 0.1),
            ("close_door red (2, 2)", -0.1),
            ("open_door red (2, 2)", 0.1),
            ("open_door blue (2, 4)", 0.1),
            ("pick_up_key green (1, 6)", 0),
            ("drop_key green (1, 1)", 0),
            ("unlock_door green (6, 4)", 0.5),
            ("drop_key green (5, 5)", 0.1),
            ("pick_up_key green (5, 5)", -0.1),
            ("pick_up_target red (8, 4)", 1),
        ],
    )


# ObstructedMaze: target 3, see 1, close -0.02, open 0.02, unlock 0.6, open_box, pick_ball, pick_key and drop_ball 0.1,
# drop_key 0, pick_used -0.6, drop_used 0.6. Of `left` a box, a ball, a key and a ball's drop each take 0.12, a key's drop 0.02.


def test_obstructedmaze_pays_in_advance_while_something_of_the_unlocking_is_left() -> None:
    check(
        "obstructedmaze_3_handset",
        [
            ("open_box red (2, 2)", 0.1),  # left 0.6
            ("pick_up_ball green (4, 3)", 0.1),  # left 0.48
            ("drop_ball green (1, 1)", 0.1),  # left 0.36
            ("pick_up_key red (2, 2)", 0.1),  # left 0.24
            ("drop_key red (1, 3)", 0),  # left 0.12, and ?drop_key is 0
            ("open_box (7, 7)", 0.1),  # left 0.1
            ("pick_up_ball green (1, 1)", 0),  # left -0.02
            ("open_door blue (9, 9)", 0.02),
            ("close_door blue (9, 9)", -0.02),
            ("unlock_door red (4, 4)", 0.6),  # all that was used up is forgotten
            ("pick_up_ball green (1, 1)", 0.1),  # left 0.6
            ("hit_wall", 0),
        ],
    )


def test_obstructedmaze_sees_the_target_before_whatever_else_happens_at_that_step() -> None:
    check(
        "obstructedmaze_3_handset",
        [
            ("see_target (9, 9); open_door blue (9, 9)", 1),  # not 0.02
            ("see_target (9, 9); unlock_door red (4, 4)", 0),  # after_seeing_target pays no door
            ("see_target (9, 9)", 0),
            ("drop_key red (3, 3)", 0.6),
            ("see_target (9, 9); pick_up_key red (3, 3)", -0.6),
            ("drop_key red (3, 3)", 0.6),
            ("see_target (9, 9); pick_up_target blue (9, 9)", 3),
        ],
    )


@pytest.mark.parametrize("name", ["obstructedmaze_2_handset", "obstructedmaze_3_handset"])
def test_obstructedmaze_on_the_edge_does_not_depend_on_the_order_of_the_moves(name: str) -> None:
    moves = ("open_box", "pick_up_ball", "pick_up_key", "drop_ball")
    machine = find_machine(name)
    for order in sorted(set(permutations((*moves, "drop_ball")))):  # 0.6 - 5 * 0.12 is 0, though not in floats
        assert pay_of(machine, [*order, "open_box"]) == pytest.approx([0.1] * 5 + [0])


def test_obstructedmaze_1_takes_advances_back_and_pays_what_led_to_the_unlocking() -> None:
    check(
        "obstructedmaze_1_handset",
        [
            ("open_box red (1, 1)", 0),  # 0.1 at once; the key it held does not fit
            ("open_box green (2, 2)", 0.1),
            ("pick_up_ball blue (5, 3)", 0.1),  # stood before the door
            ("drop_ball blue (7, 7)", 0),  # 0.1 at once; not the last
            ("pick_up_ball blue (8, 8)", 0),  # 0.1 at once; the last, but not from before the door
            ("drop_ball blue (9, 9)", 0.1),  # 0 at once, since left is 0
            ("open_door grey (6, 6)", 0.02),  # no word of hindsight
            ("pick_up_key red (3, 3)", 0),
            ("pick_up_key green (2, 2)", 0.1),  # 0 at once
            ("unlock_door green (5, 4)", 0.6),
            # the second window begins after that unlocking
            ("drop_key green (2, 2)", 0),  # ?drop_key is 0 anyway
            ("pick_up_key red (3, 3)", 0.1),
            ("unlock_door red (6, 7)", 0.6),
            ("drop_key red (3, 3)", 0),
            ("open_box yellow (4, 4)", 0.1),  # nothing is unlocked any more, so the advance stays
            ("see_target (9, 9)", 1),
        ],
    )


def test_obstructedmaze_1_re_pays_only_the_steps_of_its_rollout() -> None:
    machine = find_machine("obstructedmaze_1_handset")
    script = [
        "open_box green (2, 2)",
        "pick_up_ball blue (5, 3)",
        "drop_ball blue (7, 7)",
        "pick_up_ball blue (8, 8)",
        "drop_ball blue (9, 9)",
        "pick_up_key green (2, 2)",  # left is 0.6 - 5 * 0.12
        "unlock_door green (5, 4)",
        "see_target (9, 9)",
    ]
    whole = [0.1, 0.1, 0, 0, 0.1, 0.1, 0.6, 1]
    assert pay_of(machine, script) == pytest.approx(whole)
    # the first three steps have been handed out: the drop keeps its advance
    assert pay_of(machine, script, cuts=[3]) == pytest.approx([0.1, 0.1, 0.1, 0, 0.1, 0.1, 0.6, 1])
    # so have five: two advances stay, and the key is paid although its advance was not
    assert pay_of(machine, script, cuts=[5]) == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.6, 1])
    # the unlocking itself begins a rollout: nothing can be re-paid, but what was counted is known
    assert pay_of(machine, script, cuts=[6]) == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.1, 0, 0.6, 1])


def test_obstructedmaze_2_stops_paying_the_search_beyond_what_seeing_is_worth() -> None:
    check(
        "obstructedmaze_2_handset",
        [
            ("unlock_door red (4, 4)", 0.6),  # paid 0
            ("open_box red (2, 2)", 0.1),  # paid 0.6
            ("unlock_door blue (5, 5)", 0.6),  # paid 0.6 <= 1
            ("unlock_door grey (6, 6)", 0),  # paid 1.2 > 1
            ("open_door blue (9, 9)", 0),
            ("close_door blue (9, 9)", 0),
            ("open_box red (3, 2)", 0),
            ("pick_up_ball green (3, 4)", 0),
            ("see_target (9, 9)", 1),
            ("pick_up_target blue (9, 9)", 3),
        ],
    )


def test_obstructedmaze_2_pays_up_to_the_bound_and_not_beyond() -> None:
    doors = ["open_door blue (9, 9)"] * 22
    # before the 21st door 0.6 + 20 * 0.02 = 1 is paid, which is not beyond 1; before the 22nd 1.02 is
    expected = [0.6] + [0.02] * 21 + [0]
    assert pay_of(find_machine("obstructedmaze_2_handset"), ["unlock_door red (4, 4)", *doors]) == pytest.approx(
        expected
    )
