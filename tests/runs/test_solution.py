"""E_demo[L] >= E_pi[L], by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from srm.domains.tasks import find_task
from srm.machine.language.parse import parse
from srm.runs.inference import check_solution
from srm.runs.solution import Earned, EarningsComparison, Solution
from tests.infer.play import demonstrations, random_rollouts

TASK = find_task("DoorKey-5x5")


def test_totals_are_those_of_whole_episodes_discounted_and_not() -> None:
    """Paid 1 for the goal: a demonstration earns 1, or the discount to the power of its steps before the goal."""
    machine = parse("machine m\nwords minigrid\nholes ?goal\nstart s\n  reach_goal // ?goal -> end\naccept end\n")
    shown = demonstrations("DoorKey-5x5", 3)
    idle = random_rollouts(TASK, rollouts=1, steps=600, envs=2)[0]
    solution = check_solution(machine, TASK.event_reader(), np.ones(1), shown.as_rollout(), idle, 0.9)
    assert solution is not None
    assert solution.plain.demonstrations == Earned(1.0, 0.0, 3)
    expected = np.mean([0.9 ** (trajectory.steps - 1) for trajectory in shown.trajectories])
    assert solution.discounted.demonstrations.mean == pytest.approx(expected)
    assert solution.plain.policy.episodes == (idle.terminated | idle.truncated).sum()
    assert Solution.from_json(json.loads(json.dumps(solution.to_json()))) == solution
    assert solution.plain.policy.mean == pytest.approx(idle.terminated.sum() / (idle.terminated | idle.truncated).sum())


@pytest.mark.parametrize(
    ("mine", "verdict"),
    [(Earned(0.5, 0.1, 9), "holds"), (Earned(1.1, 0.1, 9), "open"), (Earned(1.5, 0.1, 9), "fails")],
    ids=["less", "within two errors", "more"],
)
def test_a_policy_that_earns_clearly_more_is_no_solution(mine: Earned, verdict: str) -> None:
    assert EarningsComparison(Earned(1.0, 0.0, 3), mine).verdict == verdict


def test_the_same_pay_added_up_in_another_order_is_no_more() -> None:
    assert EarningsComparison(Earned(2.4, 0.0, 10), Earned(2.4 + 1e-15, 1e-17, 128)).verdict == "holds"


def test_one_demonstration_has_no_spread_of_its_own_and_takes_the_policys() -> None:
    spread = 1.0
    policy = Earned(1.5, spread / 10, 100)
    assert EarningsComparison(Earned(1.0, 0.0, 1), policy).verdict == "open"
    assert EarningsComparison(Earned(1.0, 0.0, 1), policy).error == pytest.approx(np.hypot(spread, 0.1))
    assert (
        EarningsComparison(Earned(1.0, 0.0, 1), Earned(1.5, 0.0, 100)).verdict == "fails"
    )  # whose episodes all earn the same


def test_a_solution_that_only_fails_discounted_says_so() -> None:
    holds, fails = (EarningsComparison(Earned(1.0, 0.0, 3), Earned(mean, 0.1, 9)) for mean in (0.5, 1.5))
    assert Solution(holds, fails, 0.9).to_json()["verdict"] == "fails"
    assert "the policy out-earns the demonstrations" in str(Solution(fails, holds, 0.9))
    said = str(Solution(holds, fails, 0.9))
    assert said.startswith(
        "discounted by 0.9 demonstrations earn 1.00 ± 0.00, the policy 1.50 ± 0.10: the policy out-earns"
    )


@pytest.mark.parametrize("plain", [None, [], {}, {"plain": 3}, {"plain": {"policy": {"mean": "x"}}}], ids=repr)
def test_what_is_no_comparison_is_refused(plain: object) -> None:
    with pytest.raises(ValueError):
        Solution.from_json(plain)
