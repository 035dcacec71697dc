"""The second process of a run: whatever it dies of is told in one line."""

from __future__ import annotations

import multiprocessing

import pytest

from srm.errors import RunError
from srm.experiment.part import Partner
from srm.train.learner import NotFinite


def test_a_partner_that_was_killed_gives_no_reason() -> None:
    pipe, other_end = multiprocessing.Pipe()
    other_end.close()
    assert Partner(pipe).reason() is None
    with pytest.raises(RunError, match="has died"):
        Partner(pipe).finish()


def test_a_partner_that_diverged_says_so() -> None:
    pipe, other_end = multiprocessing.Pipe()
    other_end.send(NotFinite("loss is nan"))
    other_end.send(NotFinite("loss is nan"))
    assert isinstance(Partner(pipe).reason(), NotFinite)
    with pytest.raises(NotFinite, match="loss is nan"):
        Partner(pipe).finish()
