"""The envs with known truth: what the benchmark's grid pays is what the machine pays, and its Z is the sum over trajectories."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks import recovery
from benchmarks.recovery import compare, recover
from benchmarks.tabular import ACTIONS, CELLS, Grid, Problem, TabularWords, machine
from srm.evaluate.payer import Payer
from srm.infer.posterior.sample import PosteriorConfig
from srm.seeding import stream

HOLES = np.array([1.0, -0.5, 2.0, -1.0])


def walked(grid: Grid, cell: int, actions: np.ndarray, holes: np.ndarray) -> list[float]:
    """What each step pays."""
    state, pays = cell, []
    for action in actions:
        pays.append(float(np.append(holes, 0.0)[grid.paid[state, action]]))
        state = grid.after[state, action]
    return pays


def test_the_grid_pays_what_the_machine_pays() -> None:
    problem = Problem.draw(stream(0, "problem"), 20)
    values = dict(zip(machine().hole_names, HOLES.tolist(), strict=True))
    pay = Payer(machine(), TabularWords(), values)(problem.demonstrated)
    for m, cell in enumerate(problem.begun.tolist()):
        assert pay[:, m].tolist() == walked(problem.grid, cell, problem.demonstrated.actions[:, m], HOLES)


def test_the_partition_function_is_the_sum_over_all_trajectories() -> None:
    grid = Grid.of(np.array([6, 7, 8, 12]), steps=4)
    z = grid.partition(HOLES[None])[0, :CELLS, 0]
    for cell in (1, 7, 13):
        totals = [sum(walked(grid, cell, np.array(way), HOLES)) for way in product(range(ACTIONS), repeat=4)]
        assert z[cell] == pytest.approx(np.exp(totals).sum())


def test_policies_are_distributions_and_none_earns_more_than_the_best() -> None:
    grid = Grid.of(np.array([6, 7, 8, 12]))
    soft, best = grid.soft_policy(HOLES), grid.best_policy(HOLES)
    assert soft.sum(axis=2) == pytest.approx(1.0)
    uniform = np.full_like(soft, 1 / ACTIONS)
    assert grid.earned(uniform, HOLES) < grid.earned(soft, HOLES) < grid.earned(best, HOLES)


def test_the_expert_earns_what_its_demonstrations_are_paid() -> None:
    problem = Problem.draw(stream(1, "problem"), 500)
    values = dict(zip(machine().hole_names, problem.holes.tolist(), strict=True))
    pay = Payer(machine(), TabularWords(), values)(problem.demonstrated).sum(axis=0)
    earned = problem.grid.earned(problem.grid.soft_policy(problem.holes), problem.holes)
    assert pay.mean() == pytest.approx(earned, abs=4 * pay.std() / np.sqrt(500))


def test_draws_at_the_truth_cover_it_without_regret() -> None:
    problem = Problem.draw(stream(0, "problem"), 1)
    near = problem.holes + np.random.default_rng(0).normal(0, 1e-6, (100, 4))
    result = compare(problem, near, problem.holes, 0.0, True)
    assert result.covers.all()
    assert result.sure.all()
    assert result.sign_right.all()
    assert result.regret == pytest.approx(0.0, abs=1e-6)


def test_ten_demonstrations_say_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "CONFIG", PosteriorConfig(ensembles=2, walkers=24, sweeps=40))
    problem = Problem.draw(stream(0, "problem"), 10)
    few, many = (recover("both", problem.first(count), stream(0, "draws")) for count in (1, 10))
    assert many.width.mean() < few.width.mean()
