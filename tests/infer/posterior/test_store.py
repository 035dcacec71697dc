"""A posterior on disk: everything in it comes back, and what was changed in between is refused in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.errors import ExtraError, RunError
from srm.infer.posterior import store
from srm.infer.posterior.infer import Posterior, infer, random_play
from srm.infer.posterior.record import KIND
from srm.infer.posterior.sample import PosteriorConfig
from srm.infer.posterior.store import (
    FORMAT,
    MOST_DRAWS,
    StoredDraws,
    draws_bytes,
    read_draws,
    stored_draws,
    to_arviz,
    to_json,
)
from srm.machine.language.parse import find_machine, parse
from srm.report.run.summary import read_summary

TASK = find_task("doorkey")
SHOWN = demos.choose(TASK, None, 3)
QUICK = PosteriorConfig(first_look=30, sweeps=30)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    demonstrated = SHOWN.as_rollout()
    machine = find_machine("doorkey")
    play = random_play(TASK, demonstrated, 0, frames=1600)
    return infer(machine, machine.constraint(), TASK.event_reader(), demonstrated, [play], QUICK)


@pytest.fixture
def path(posterior: Posterior, tmp_path: Path) -> Path:
    (tmp_path / "draws.safetensors").write_bytes(draws_bytes(posterior))
    return tmp_path / "draws.safetensors"


def test_the_summary_holds_every_number_of_the_posterior(posterior: Posterior) -> None:
    told = to_json(posterior, TASK.event_reader(), SHOWN.trajectories)
    assert told["kind"] == KIND
    assert [hole["name"] for hole in told["holes"]] == list(posterior.machine.hole_names)
    for hole, summary in zip(told["holes"], posterior.holes, strict=True):
        assert (hole["mean"], hole["low"], hole["narrower"]) == (summary.mean, summary.low, summary.narrower)
        assert hole["value"] == posterior.values[summary.name]
        assert sum(hole["drawn"]) == len(posterior.draws.assignments)
        assert sum(hole["before"]) == len(posterior.prior_draws)
    assert told["convergence"]["sweeps"] == 30
    assert not told["convergence"]["converged"]
    assert told["demonstrations"] == 3


def test_a_deciding_step_has_its_events_and_its_rule(posterior: Posterior) -> None:
    told = to_json(posterior, TASK.event_reader(), SHOWN.trajectories)
    steps = [step for hole in told["holes"] for step in hole["steps"]]
    goal = next(step for step in steps if step["rule"] == "after_unlocking.2")
    assert goal["events"][0].startswith("reach_goal")
    assert goal["text"] == "reach_goal // ?goal -> end"
    assert goal["alike"] == 3
    assert not any(step["events"] for hole in to_json(posterior)["holes"] for step in hole["steps"])


def test_the_summary_comes_back_from_its_file(posterior: Posterior, tmp_path: Path) -> None:
    path = tmp_path / "posterior.json"
    path.write_text(json.dumps(to_json(posterior)))
    summary = read_summary(path)
    assert [hole.mean for hole in summary.holes] == [hole.mean for hole in posterior.holes]
    assert summary.played_steps == posterior.played_steps


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        (("kind",), "algorithm1", "has no margin, quantiles"),
        (("holes",), [], "no names of their own"),
        (("holes", 0, "name"), "<script>", "a hole has no name"),
        (("holes", 0, "mean"), "1", "holes[0]: mean: '1', expected float"),
        (("holes", 0, "mean"), float("nan"), "NaN is no finite number"),
        (("holes", 0, "drawn"), [1, 2], "the histograms do not fit together"),
        (("holes", 0, "drawn", 3), 0.5, "drawn[3]: 0.5, expected int"),
        (("holes", 0, "extent"), [1.0, 1.0], "a range has no width"),
        (("holes", 1, "name"), "goal", "no names of their own"),
        (("holes", 0, "set_by"), "magic", "set_by is none of"),
        (("convergence",), None, "expected the fields of Convergence"),
        (("surprise",), 1, "surprise is not a field of this version"),
    ],
)
def test_a_changed_summary_is_refused_in_one_line(
    posterior: Posterior, tmp_path: Path, where: tuple[Any, ...], value: Any, told: str
) -> None:
    content = json.loads(json.dumps(to_json(posterior)))
    place = content
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    path = tmp_path / "posterior.json"
    path.write_text(json.dumps(content))
    with pytest.raises(RunError) as refused:
        read_summary(path)
    assert told in str(refused.value)
    assert str(refused.value).endswith("infer again with this version")
    assert "\n" not in str(refused.value)


def test_a_summary_without_a_part_is_refused(posterior: Posterior, tmp_path: Path) -> None:
    content = to_json(posterior)
    del content["holes"], content["unproved"]
    path = tmp_path / "posterior.json"
    path.write_text(json.dumps(content))
    with pytest.raises(RunError, match="has no holes"):
        read_summary(path)


# Draws


def test_draws_come_back_by_ensemble(posterior: Posterior, path: Path) -> None:
    kept = read_draws(path)
    ensembles, walkers, _ = posterior.draws.walkers.shape
    assert kept.holes == posterior.machine.hole_names
    assert kept.draws.shape[0] == ensembles
    assert kept.draws.shape[0] * kept.draws.shape[1] <= MOST_DRAWS
    last = posterior.draws.assignments[-ensembles * walkers :].reshape(ensembles, walkers, -1)[:, -1]
    assert (kept.draws[:, -1] == last).all()
    assert (kept.prior == posterior.prior_draws).all()


def test_many_draws_are_thinned(posterior: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_DRAWS", 100)
    assert stored_draws(posterior).draws.shape[:2] == (4, 25)


def about(**changes: Any) -> dict[str, str]:
    holes = ["goal", "unlock", "close", "pick", "drop"]
    return {"srm": json.dumps({"format": FORMAT, "holes": holes} | changes)}


@pytest.mark.parametrize(
    ("change", "metadata", "told"),
    [
        ({"draws": None}, about(), "its arrays are not draws, idle, ensemble, prior"),
        ({"more": np.zeros(3)}, about(), "its arrays are not draws, idle, ensemble, prior"),
        ({"draws": np.zeros((8, 5), np.float32)}, about(), "its arrays are not"),
        ({"draws": np.zeros((8, 4))}, about(), "its arrays do not fit together"),
        ({"draws": np.zeros(8)}, about(), "its arrays do not fit together"),
        ({"prior": np.zeros((3, 4))}, about(), "its arrays do not fit together"),
        ({"idle": np.zeros(7)}, about(), "its arrays do not fit together"),
        ({"idle": np.full(8, np.nan)}, about(), "a draw is not a finite number"),
        ({"prior": np.full((3, 5), np.inf)}, about(), "a draw is not a finite number"),
        ({"ensemble": np.arange(8)[::-1].copy()}, about(), "its ensembles are not of one size"),
        ({"ensemble": np.full(8, -5)}, about(), "its ensembles are not of one size"),
        ({"ensemble": np.full(8, 2**40)}, about(), "its ensembles are not of one size"),
        ({"ensemble": np.repeat([0, 1, 2], [3, 3, 2])}, about(), "its ensembles are not of one size"),
        ({}, about(holes=["a", "a", "b", "c", "d"]), "its holes have no names of their own"),
        ({}, about(holes=["<b>", "a", "b", "c", "d"]), "its holes have no names of their own"),
        ({}, about(holes=7), "its holes have no names of their own"),
        ({}, about(format="srm-draws 9"), "its format is not srm-draws 1"),
        ({}, {}, "another program wrote"),
    ],
)
def test_a_changed_file_of_draws_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], metadata: dict[str, str], told: str
) -> None:
    arrays = {
        "draws": np.zeros((8, 5)),
        "idle": np.zeros(8),
        "ensemble": np.repeat(np.arange(2), 4),
        "prior": np.zeros((3, 5)),
    }
    arrays = {name: value for name, value in (arrays | change).items() if value is not None}
    path = tmp_path / "draws.safetensors"
    path.write_bytes(save(arrays, metadata))
    with pytest.raises(RunError) as refused:
        read_draws(path)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "make it again with `srm infer`" in str(refused.value)


def test_a_file_that_is_cut_short_or_missing_is_refused(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    assert set(load(content)) == {"draws", "idle", "ensemble", "prior"}
    for end in (0, 5, 100, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(RunError, match="holds no draws of a posterior"):
            read_draws(path)
    with pytest.raises(RunError, match="cannot be read: No such file"):
        read_draws(tmp_path / "none")


# ArviZ


def test_without_arviz_the_command_that_installs_it_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ExtraError, match=r'pip install "symbolic-reward-machines\[arviz\]"'):
        to_arviz(read_draws(path))


@pytest.mark.parametrize("version", [0, 1])
def test_arviz_gets_a_chain_for_each_ensemble(path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    old = SimpleNamespace(InferenceData=object, from_dict=lambda **groups: groups)
    new = SimpleNamespace(from_dict=lambda groups: groups)
    monkeypatch.setitem(sys.modules, "arviz", (old, new)[version])
    kept: StoredDraws = read_draws(path)
    groups = to_arviz(kept)
    assert groups["posterior"]["unlock"].shape == kept.draws.shape[:2]
    assert groups["prior"]["goal"].shape == (1, len(kept.prior))


def test_a_hole_that_an_equality_pins_and_a_whole_one_have_bins_too() -> None:
    text = (
        "machine m\nwords minigrid\nholes ?a ?b ?n in 0 .. 3 whole\nstart s\n    pick_up_key // ?a\n"
        "    drop_key // ?b\n    reach_goal // ?n -> end\naccept end\nconstraint\n    ?a = 1\n"
    )
    machine, demonstrated = parse(text, {TASK.vocabulary.name: TASK.vocabulary}), SHOWN.as_rollout()
    play = random_play(TASK, demonstrated, 0, frames=320)
    drawn = infer(machine, machine.constraint(), TASK.event_reader(), demonstrated, [play], QUICK)
    pinned, _, whole = to_json(drawn)["holes"]
    assert pinned["extent"] == (0.5, 1.5)
    assert whole["extent"] == (-0.5, 3.5)
    assert len(whole["drawn"]) == 4
