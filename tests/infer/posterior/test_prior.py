"""The prior is uniform on the constraint within the spaces: its moments are known, and so are its chords."""

from __future__ import annotations

import numpy as np
import pytest

from srm.errors import AssignmentError
from srm.infer.posterior.prior import IDLE_SPACE, Prior
from srm.infer.posterior.slices import prior_walkers
from tests.infer.posterior.machines import prior_of


def draws_of(prior: Prior, size: int = 1024) -> np.ndarray:
    """[S, H] as the machine sees them."""
    walkers = prior_walkers(prior, 2, size // 2, np.random.default_rng(0), sweeps=40)
    shown = prior.rounded(walkers.reshape(-1, prior.dimensions))
    assert prior.inside(shown).all()
    return shown[:, :-1]


def test_a_box_has_the_moments_of_uniform_numbers() -> None:
    draws = draws_of(prior_of("?a in 0 .. 2, ?b"))
    assert draws.mean(axis=0) == pytest.approx([1.0, 0.0], abs=0.3)
    assert draws.std(axis=0) == pytest.approx([2 / np.sqrt(12), 10 / np.sqrt(12)], rel=0.1)
    assert (np.abs(draws) <= [2, 5]).all()


def test_a_simplex_has_the_moments_of_a_dirichlet() -> None:
    draws = draws_of(prior_of("?a, ?b, ?c", "?a >= 0", "?b >= 0", "?c >= 0", "?a + ?b + ?c <= 1"))
    assert draws.mean(axis=0) == pytest.approx([0.25] * 3, abs=0.03)
    assert draws.var(axis=0) == pytest.approx([3 / 80] * 3, rel=0.2)


@pytest.mark.parametrize(
    "atoms",
    [("?a + ?b = 1",), ("?a + ?b <= 1", "?a + ?b >= 1"), ("?a + ?b = 1", "2 * ?a = 2 - 2 * ?b")],
    ids=["written", "implied", "twice"],
)
def test_an_equality_leaves_a_uniform_line(atoms: tuple[str, ...]) -> None:
    draws = draws_of(prior_of("?a in 0 .. 1, ?b in 0 .. 1, ?c in 0 .. 1", *atoms))
    assert draws[:, 0] + draws[:, 1] == pytest.approx(1.0)
    assert draws.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.05)
    assert draws.std(axis=0) == pytest.approx([1 / np.sqrt(12)] * 3, rel=0.1)


def test_a_hole_pinned_to_the_end_of_its_space_stays_there() -> None:
    draws = draws_of(prior_of("?a in 0 .. 1, ?b in 0 .. 1", "?a >= 1", "?b = 0.25"), 64)
    assert draws == pytest.approx(np.broadcast_to([1.0, 0.25], draws.shape))


def test_whole_numbers_are_equally_probable_to_the_ends_of_their_space() -> None:
    draws = draws_of(prior_of("?n in 0 .. 3 whole, ?a"), 2048)
    values, counts = np.unique(draws[:, 0], return_counts=True)
    assert values.tolist() == [0, 1, 2, 3]
    assert counts / len(draws) == pytest.approx([0.25] * 4, abs=0.05)


def test_a_whole_number_is_as_probable_as_it_leaves_room_to_others() -> None:
    draws = draws_of(prior_of("?n in 0 .. 3 whole, ?a in 0 .. 3", "?a <= ?n"), 2048)
    shares = [(draws[:, 0] == n).mean() for n in range(4)]
    assert shares == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6], abs=0.05)
    assert draws[:, 1].mean() == pytest.approx(14 / 12, abs=0.1)
    assert (draws[:, 1] <= draws[:, 0]).all()


def test_two_whole_numbers_share_a_budget_from_the_first_draw_on() -> None:
    draws = draws_of(prior_of("?n in 0 .. 3 whole, ?m in 0 .. 3 whole", "?n + ?m <= 1"), 2048)
    pairs, counts = np.unique(draws, axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert counts / len(draws) == pytest.approx([1 / 3] * 3, abs=0.05)


@pytest.mark.parametrize(
    "atoms", [("?a = 0.5 * ?n",), ("?a <= 0.5 * ?n", "?a >= 0.5 * ?n")], ids=["written", "implied"]
)
def test_a_hole_tied_to_a_whole_number_keeps_the_equality_after_rounding(atoms: tuple[str, ...]) -> None:
    draws = draws_of(prior_of("?n in 0 .. 4 whole, ?a in 0 .. 1", *atoms), 2048)
    assert draws[:, 1] == pytest.approx(0.5 * draws[:, 0])
    shares = [(draws[:, 0] == n).mean() for n in range(5)]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0], abs=0.05)  # ?a is at most 1


def test_whole_numbers_tied_to_each_other_stay_whole() -> None:
    draws = draws_of(prior_of("?n in 0 .. 4 whole, ?m in 0 .. 2 whole", "?n = 2 * ?m"), 2048)
    pairs, counts = np.unique(draws, axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 0], [2, 1], [4, 2]]
    assert counts / len(draws) == pytest.approx([1 / 3] * 3, abs=0.06)


def test_chords_end_at_the_nearest_faces() -> None:
    prior = prior_of("?a in 0 .. 1, ?b in 0 .. 1", "?a + ?b <= 1")
    x = np.array([[0.25, 0.5, 0.0]] * 4)
    directions = np.array([[1.0, 0, 0], [0, -2.0, 0], [1.0, -1.0, 0], [0, 0, 1.0]])
    low, high = prior.chords(x, directions)
    assert low == pytest.approx([-0.25, -0.125, -0.25, IDLE_SPACE.low])
    assert high == pytest.approx([0.25, 0.25, 0.5, IDLE_SPACE.high])


def test_a_direction_of_no_length_has_no_chord() -> None:
    prior = prior_of("?a in 0 .. 1")
    low, high = prior.chords(prior.centre[None], np.zeros((1, 2)))
    assert not np.isfinite(high - low).any()


@pytest.mark.parametrize(
    "atoms", [("?a >= 6",), ("?a = 1", "?a = 2"), ("?a + ?b = 11",)], ids=["outside", "contradiction", "sum"]
)
def test_a_constraint_outside_the_spaces_is_refused(atoms: tuple[str, ...]) -> None:
    with pytest.raises(AssignmentError, match="allows nothing within the holes' assignment spaces"):
        prior_of("?a, ?b", *atoms)
