"""E_demo[L] >= E_pi[L], by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from srm.experiment.inference import check_solution
from srm.experiment.solution import Comparison, Earned, Solution
from srm.machine.parse import parse
from srm.task.table import find_task
from tests.infer.play import demonstrations, random_rollouts

TASK = find_task("DoorKey-5x5")


def test_totals_are_those_of_whole_episodes_discounted_and_not() -> None:
    """Paid 1 for the goal: a demonstration earns 1, or the discount to the power of its steps before the goal."""
    machine = parse("machine m\nwords minigrid\nholes ?goal\nstart s\n  reach_goal // ?goal -> end\naccept end\n")
    shown = demonstrations("DoorKey-5x5", 3)
    idle = random_rollouts(TASK, rollouts=1, steps=600, worlds=2)[0]
    solution = check_solution(machine, TASK.vocabulary(), np.ones(1), shown.as_rollout(), idle, 0.9)
    assert solution is not None
    assert solution.plain.demonstrations == Earned(1.0, 0.0, 3)
    expected = np.mean([0.9 ** (trajectory.steps - 1) for trajectory in shown.trajectories])
    assert solution.discounted.demonstrations.mean == pytest.approx(expected)
    assert solution.plain.policy.episodes == (idle.ended | idle.cut).sum()
    assert Solution.from_json(json.loads(json.dumps(solution.to_json()))) == solution
    assert solution.plain.policy.mean == pytest.approx(idle.ended.sum() / (idle.ended | idle.cut).sum())


@pytest.mark.parametrize(
    ("mine", "verdict"),
    [(Earned(0.5, 0.1, 9), "holds"), (Earned(1.1, 0.1, 9), "open"), (Earned(1.5, 0.1, 9), "fails")],
    ids=["less", "within two errors", "more"],
)
def test_a_policy_that_earns_clearly_more_is_no_solution(mine: Earned, verdict: str) -> None:
    assert Comparison(Earned(1.0, 0.0, 3), mine).verdict == verdict


@pytest.mark.parametrize("plain", [None, [], {}, {"plain": 3}, {"plain": {"policy": {"mean": "x"}}}], ids=repr)
def test_what_is_no_comparison_is_refused(plain: object) -> None:
    with pytest.raises(ValueError):
        Solution.from_json(plain)
