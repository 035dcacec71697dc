"""The posterior in the loop: what pays, what is saved, and when play joins the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from srm.domains.tasks import find_task
from srm.errors import RunError, SettingError
from srm.infer.posterior.infer import random_play
from srm.infer.posterior.live import LiveConfig, LivePosterior
from srm.infer.posterior.tape import Tape
from srm.machine.checks.check import Forbidden
from srm.machine.language.parse import find_machine
from tests.infer.play import demonstrations, random_rollouts, uniform

TASK = find_task("DoorKey-5x5")
MACHINE = find_machine("doorkey").opened()
SHOWN = demonstrations("DoorKey-5x5", 3).as_rollout()
QUICK = LiveConfig(sweeps=20, first_look=20, ensembles=2)


def live(pay: Literal["peak", "mean", "draw"] = "peak") -> LivePosterior:
    config = replace(QUICK, pay=pay)
    parts = (MACHINE, MACHINE.constraint(), Forbidden(), TASK.event_reader(), SHOWN)
    return LivePosterior(*parts, config, 0, Tape(4, 32))


PLAY = random_play(TASK, SHOWN, 0, 1024)


def begun(pay: Literal["peak", "mean", "draw"] = "peak") -> LivePosterior:
    holes = live(pay)
    holes.add(PLAY)
    return holes


@pytest.mark.parametrize("pay", ["peak", "draw"])
def test_a_posterior_goes_on_from_what_was_saved(pay: Literal["peak", "draw"]) -> None:
    holes, again = begun(pay), live(pay)
    again.load(holes.arrays())
    rollout = random_rollouts(TASK, rollouts=1, steps=32, envs=4)[0]
    for one in (holes, again):
        assert np.isfinite(one.pay(rollout)).all()
        one.begin(8, rollout, uniform(rollout), uniform(SHOWN), 1)
    if pay == "peak":
        assert np.array_equal(again.belief.mode, holes.belief.mode)


@pytest.mark.parametrize("pay", ["peak", "mean"])
def test_the_posterior_at_the_end_leaves_what_pays_as_it_is(pay: Literal["peak", "mean"]) -> None:
    holes, again = begun(pay), live(pay)
    again.load(holes.arrays())
    paid = holes.belief.mode
    last, resumed = holes.posterior(), again.posterior()
    assert list(last.values.values()) == paid.tolist()
    assert np.array_equal(again.belief.mode, paid)
    assert np.array_equal(resumed.draws.assignments, last.draws.assignments)


def test_play_joins_ever_more_rarely_or_evenly_or_never() -> None:
    assert [n for n in range(1, 600) if LiveConfig().is_due(n)] == [16, 64, 256]
    assert not any(LiveConfig(refresh=0).is_due(n) for n in range(600))
    for evenly in (LiveConfig(likelihood="averages"), LiveConfig(refresh=1)):
        assert [n for n in range(1, 200) if evenly.is_due(n)] == [16, 32, 64, 128, 192]
    with pytest.raises(SettingError, match=r"--posterior.refresh -1"):
        LiveConfig(refresh=-1)


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    return begun().arrays()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("walkers", None),
        ("walkers", np.zeros((2, 16, 3))),
        ("walkers", np.full((2, 16, 6), np.nan)),
        ("belief.mode", np.zeros(2)),
        ("belief.mean", np.zeros(2)),
        ("belief.spread", np.full(5, np.nan)),
        ("belief.idle", np.zeros(3)),
        ("play.0.log_prob", np.zeros(3)),
        ("play.0.log_prob", None),
        ("play.0.demonstrated_log_prob", np.zeros((1, 1))),
        ("play.0.rollout.valid", np.zeros(3)),
        ("play.x", np.zeros(3)),
        ("play.7.log_prob", np.zeros(3)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_damaged_arrays_are_refused_in_one_line(
    name: str, value: np.ndarray | None, arrays: dict[str, np.ndarray]
) -> None:
    damaged = arrays | {name: value}
    with pytest.raises(RunError) as refused:
        live().load({key: array for key, array in damaged.items() if array is not None})
    assert "\n" not in str(refused.value)
