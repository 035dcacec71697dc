"""A small grid written as observations and poses: the agent looks along x, so the cell in front of (x, y) is (x + 1, y)."""

from __future__ import annotations

import numpy as np

from srm.domains.states import hashed
from srm.rl.visits import Visits
from srm.trajectory import Rollout

EMPTY, KEY = (1, 0, 0), (5, 4, 0)
Moment = tuple[tuple[int, int], tuple[int, int, int], tuple[int, int, int]]  # place, front, carried


def rollout(moments: list[Moment], terminated: tuple[int, ...] = (), resetting: tuple[int, ...] = ()) -> Rollout:
    """One env that goes through these moments."""
    steps = len(moments) - 1
    observations = np.zeros((steps + 1, 1, 7, 7, 3), np.uint8)
    poses = np.zeros((steps + 1, 1, 3), np.int16)
    for t, (place, front, carried) in enumerate(moments):
        observations[t, 0, 3, 5], observations[t, 0, 3, 6] = front, carried
        poses[t, 0, :2] = place
    is_end, is_reset = (np.isin(np.arange(steps), at)[:, None] for at in (terminated, resetting))
    none = np.zeros((steps, 1), bool)
    zeros = np.zeros((steps, 1))
    return Rollout(observations, zeros.astype(np.int64), poses, zeros.astype(np.float32), is_end, none, ~is_reset)


def counts(kind: str, *rollouts: Rollout) -> list[list[int]]:
    visits = Visits(kind)  # type: ignore[arg-type]
    return [visits.count(one)[:, 0].astype(int).tolist() for one in rollouts]


HERE, THERE = (1, 1), (2, 1)


def test_a_place_is_counted_from_the_first_view_on() -> None:
    moments: list[Moment] = [(place, EMPTY, EMPTY) for place in (HERE, THERE, HERE, HERE, THERE)]
    assert counts("spots", rollout(moments)) == [[1, 2, 3, 2]]


def test_taking_a_key_makes_another_state_and_putting_it_back_the_old_one() -> None:
    moments: list[Moment] = [
        (HERE, KEY, EMPTY),
        (HERE, EMPTY, KEY),  # taken
        (HERE, KEY, EMPTY),  # put back: as at first
        (HERE, EMPTY, KEY),  # taken again
    ]
    assert counts("states", rollout(moments)) == [[1, 2, 2]]
    assert counts("spots", rollout(moments)) == [[2, 3, 4]]


def test_a_change_out_of_sight_is_remembered() -> None:
    # The key is taken at one place and put down at another; back at the first, nothing near differs but the key's place.
    taken_there: list[Moment] = [(HERE, KEY, EMPTY), (HERE, EMPTY, KEY), (THERE, EMPTY, KEY), (THERE, KEY, EMPTY)]
    and_back: list[Moment] = [*taken_there, (HERE, EMPTY, EMPTY), (THERE, KEY, EMPTY)]
    assert counts("states", rollout(and_back)) == [[1, 1, 1, 1, 2]]


def test_an_agent_that_turns_away_changes_nothing() -> None:
    moments: list[Moment] = [(HERE, KEY, EMPTY), (THERE, EMPTY, EMPTY), (HERE, KEY, EMPTY)]
    assert counts("states", rollout(moments)) == [[1, 2]]


def test_counts_go_on_in_the_next_rollout_and_begin_anew_with_an_episode() -> None:
    first: list[Moment] = [(place, EMPTY, EMPTY) for place in (HERE, THERE, HERE)]
    second: list[Moment] = [(place, EMPTY, EMPTY) for place in (HERE, THERE, THERE, HERE, THERE)]
    found = counts("spots", rollout(first), rollout(second, terminated=(0,), resetting=(1,)))
    # step 0 ends at THERE, its second visit; step 1 resets to THERE, the new episode's first observation
    assert found == [[1, 2], [2, 1, 1, 2]]


def test_hashes_of_many_small_states_differ() -> None:
    x, y, code = np.meshgrid(np.arange(30), np.arange(30), np.arange(30), indexing="ij")
    numbers = np.stack([x, y, code], axis=-1).reshape(-1, 3)
    assert len(np.unique(hashed(numbers, 1))) == len(numbers)
