"""How often rules fire an episode and what they pay, counted across rollouts and worked out by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.evaluate import batched, symbolic
from srm.evaluate.program import Program
from srm.evaluate.trace import total
from srm.infer.posterior.live import LiveConfig
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.runs.learning_settings import Learning
from srm.runs.rule_rates import RuleRates, milestones, rates_text, rule_names
from srm.runs.run import Run
from srm.runs.training import Training
from tests.evaluate.scripts import Script, events_of
from tests.evaluate.test_trace import MAZE, traced

SMALL = LearnerConfig(
    network=NetConfig(width=16, memory=8), ppo=PpoConfig(num_envs=4, num_steps=16, epochs=1, minibatches=2)
)
KEY, UNLOCK, GOAL = "pick_up_key yellow (1, 2)", "unlock_door yellow (4, 4)", "reach_goal (6, 6)"


def rates_of(machine: Machine, rollouts: Sequence[Script], ends: Sequence[Sequence[int]]) -> RuleRates:
    """Successive rollouts of one env, with the steps at which episodes end in each."""
    rates, program, carry = RuleRates(machine), Program(machine, MINIGRID_WORDS), None
    for script, at in zip(rollouts, ends, strict=True):
        over = np.zeros((len(script), 1), np.bool_)
        over[list(at)] = True
        residual, carry = symbolic.read(program, events_of(script), over, np.ones_like(over), carry)
        rates.add(batched.pay(residual, batched.assignment_of(machine)[None], by_rule=True), over)
    return rates


def test_an_episode_counts_once_it_has_ended_with_all_that_it_did_in_earlier_rollouts() -> None:
    machine = find_machine("doorkey_handset")
    first, second = (KEY, UNLOCK), (GOAL, KEY, KEY, "hit_wall")
    under_way = rates_of(machine, [first], [[]]).row()
    assert all(math.isnan(value) for value in under_way.values())
    one = rates_of(machine, [first, second], [[], [0]])
    assert one.row()["rule.before_unlocking.pick_up_key.rate"] == 1
    assert one.row()["rule.after_unlocking.reach_goal.pay"] == 1.0
    two = rates_of(machine, [first, second], [[], [0, 3]]).row()
    assert two["rule.before_unlocking.pick_up_key.rate"] == 1.5  # one, then two
    assert two["rule.before_unlocking.pick_up_key.pay"] == pytest.approx(0.15)
    assert two["rule.before_unlocking.unlock_door.rate"] == 0.5
    assert two["rule.before_unlocking.drop_key.rate"] == 0


def test_envs_are_counted_apart() -> None:
    machine = find_machine("doorkey_handset")
    rates, program = RuleRates(machine), Program(machine, MINIGRID_WORDS)
    over = np.array([[False, True], [False, False], [True, True]])
    nothing = events_of(("", "", ""))
    events = type(nothing)(
        3, 2, *(np.array(x, np.int32) for x in ([0, 1], [0, 1])),
        np.full(2, MINIGRID_WORDS.event_index["pick_up_key"], np.int16),
        np.full((2, len(MINIGRID_WORDS.attributes)), -1, np.int32), np.zeros((3, 2, len(MINIGRID_WORDS.signals))),
    )  # fmt: skip
    residual, _ = symbolic.read(program, events, over, np.ones_like(over))
    rates.add(batched.pay(residual, batched.assignment_of(machine)[None], by_rule=True), over)
    fired = rates.arrays()["rules"][:, 0, 0]
    assert fired.tolist() == [1, 0, 1]  # the first env's episode, then the two of the second


def test_pay_with_hindsight_is_what_a_trace_says_each_rule_brought() -> None:
    machine = find_machine("obstructedmaze_1_handset")
    row = rates_of(machine, [MAZE], [[len(MAZE) - 1]]).row()
    sums = total(machine, machine.values(), [traced(machine, MAZE)])
    for name, rule in zip(rule_names(machine), sums.rules, strict=True):
        assert row[f"rule.{name}.rate"] == rule.fired, name
        assert row[f"rule.{name}.pay"] == pytest.approx(rule.amount), name


def test_a_rule_is_called_by_its_name_or_its_event_or_its_number() -> None:
    machine = parse(
        """machine m
counters
    #walls  counts hit_wall
start s
    found: see_target // 1 -> t
    pick_up_key // 0
    drop_key and #walls > 1 // 1
    drop_key and #walls < 1 // 1
node t
    pick_up_key // 1
"""
    )
    assert rule_names(machine) == ("found", "s.pick_up_key", "s.3", "s.4", "t.pick_up_key")
    columns = RuleRates(machine).row()
    assert "rule.s.pick_up_key.rate" in columns
    assert "rule.s.pick_up_key.pay" not in columns  # it never pays
    assert [machine.rules[i][2] for i in milestones(machine)] == ["found"]


def test_milestones_have_short_names_where_these_are_clear() -> None:
    assert list(RuleRates(find_machine("doorkey")).milestones()) == ["unlock_door", "reach_goal"]


@pytest.mark.parametrize(
    "settings",
    [
        Training("DoorKey-5x5", reward="doorkey_handset", frames=3000, learning=SMALL),
        Learning("DoorKey-5x5", frames=3000, count=3, learning=SMALL, posterior=LiveConfig(sweeps=20, first_look=20)),
    ],
    ids=["train", "learn"],
)
def test_a_log_has_every_rule_and_goes_on_with_its_means_when_it_is_resumed(
    settings: Training | Learning, tmp_path: Path
) -> None:
    run = Run.begin(settings, tmp_path / "run")
    rounds = run.rounds()
    last = next(progress for progress in rounds if progress.counted >= 4)
    rounds.close()
    run.close()
    assert last.milestones["reach_goal"] == last.row["rule.after_unlocking.reach_goal.rate"]
    again = Run.resume(tmp_path / "run", frames=100_000)
    assert again._rules is not None
    assert again._rules.row() == {name: v for name, v in last.row.items() if name.startswith("rule.")}
    again.writer.close()
    with (tmp_path / "run" / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name in rule_names(find_machine("doorkey")):
        assert float(rows[-1][f"rule.{name}.rate"]) == pytest.approx(last.row[f"rule.{name}.rate"], rel=1e-4)
        assert f"rule.{name}.pay" in rows[-1]


def test_a_run_on_the_tasks_reward_has_no_rules(tmp_path: Path) -> None:
    run = Run.begin(Training("DoorKey-5x5", frames=1, learning=SMALL), tmp_path / "run")
    (progress,) = run.rounds()
    assert not progress.milestones
    assert not [name for name in progress.row if name.startswith("rule.")]


def test_a_line_of_progress_has_the_rates_once_they_are_known() -> None:
    assert rates_text({"unlock_door": 0.834, "reach_goal": 0.0}) == "  unlock_door 0.83  reach_goal 0.00 an episode"
    assert rates_text({"unlock_door": math.nan}) == rates_text({}) == ""
