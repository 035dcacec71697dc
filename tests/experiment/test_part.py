"""The second process of a run: whatever it dies of is told in one line, and it goes where it hinders."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np
import pytest

from srm.errors import RunError
from srm.experiment.part import WATCHED, Partner
from srm.train.episodes import Episodes
from srm.train.learner import NotFinite
from srm.train.together import Exchange, Meeting


def partner(pipe: Connection) -> Partner:
    """Of a process that has 0.55 of the worlds."""
    return Partner(pipe, Exchange(Meeting.of(multiprocessing.get_context("spawn"), 1), 0, 0.55, lambda: True))


def test_a_partner_that_was_killed_gives_no_reason() -> None:
    pipe, other_end = multiprocessing.Pipe()
    other_end.close()
    assert partner(pipe).reason() is None
    with pytest.raises(RunError, match="has died"):
        partner(pipe).finish()


def test_a_partner_that_diverged_says_so() -> None:
    pipe, other_end = multiprocessing.Pipe()
    other_end.send(NotFinite("loss is nan"))
    other_end.send(NotFinite("loss is nan"))
    assert isinstance(partner(pipe).reason(), NotFinite)
    with pytest.raises(NotFinite, match="loss is nan"):
        partner(pipe).finish()


@pytest.mark.parametrize(("worked", "hinders"), [(0.54, True), (0.56, False)])
def test_a_partner_hinders_if_the_first_process_would_be_sooner_alone(
    worked: float, hinders: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds of a second, of which the first works so much for its 0.55 of the worlds: 0.98 or 1.02 seconds for all of them."""
    pipe, other_end = multiprocessing.Pipe()
    second = partner(pipe)
    clock = iter([value for k in range(WATCHED) for value in ((9.0 * k, k), (9.0 * k + 1, k + worked))])
    monkeypatch.setattr(second, "_clock", lambda: np.array(next(clock)))
    for _ in range(WATCHED):
        assert not second.hinders  # too early to tell
        second.begin()
        other_end.send(Episodes(np.zeros(0), np.zeros(0), np.zeros(0)))
        second.finish()
    assert second.hinders == hinders
