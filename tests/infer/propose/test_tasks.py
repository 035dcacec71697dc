"""Proposals for the tasks that ship: proved, read from wandering demonstrations too, and from one."""

from __future__ import annotations

from functools import cache

import pytest

import srm
from srm.domains import demonstrations as demos
from srm.domains.minigrid.habits import record_with
from srm.domains.tasks import FAMILIES, find_task
from srm.errors import DemonstrationError
from srm.infer.propose.against import compare_pay
from srm.infer.propose.propose import Proposal
from srm.machine.language.parse import find_machine, parse
from srm.report.proposal import proposal_page

TASKS = tuple(
    name for name, task in FAMILIES.items() if task.vocabulary.name == "minigrid"
)  # others read signals, which takes longer


@cache
def proposed(task: str) -> Proposal:
    return srm.propose(task)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_gets_a_machine_without_warnings(task: str) -> None:
    proposal = proposed(task)
    report = proposal.machine.check()
    assert report.count("error") == report.count("warning") == 0
    assert parse(proposal.text) == proposal.machine


def test_the_maze_may_unlock_again_until_the_target_is_seen() -> None:
    machine = proposed("obstructedmaze").machine
    start = machine.node("before_see_target")
    assert machine.start == start.name
    (unlock,) = [rule for rule in start.rules if str(rule.guard) == "unlock_door"]
    assert unlock.target is None
    assert {str(counter.resets[0]) for counter in machine.counters} == {"unlock_door"}


def test_putting_the_key_down_never_costs_where_it_must_be_put_down() -> None:
    for task in ("keycorridor", "obstructedmaze", "unlockpickup"):
        rules = [rule for _, rule, _ in proposed(task).machine.rules if str(rule.guard).startswith("drop_key")]
        assert [str(rule.pay) for rule in rules] == ["?drop_key"]


@pytest.mark.parametrize("task", ["doorkey", "keycorridor", "obstructedmaze"])
def test_a_third_of_random_actions_changes_no_rule(task: str) -> None:
    wandering = record_with(find_task(task), 10, 0, habit=None, noise=0.33)
    machine = srm.propose(task, wandering).machine
    clean = proposed(task).machine
    assert {str(rule) for _, rule, _ in machine.rules} == {str(rule) for _, rule, _ in clean.rules}


def test_one_demonstration_is_enough() -> None:
    machine = srm.propose("doorkey", count=1).machine
    assert machine.nodes == proposed("doorkey").machine.nodes


def test_failed_demonstrations_are_left_aside() -> None:
    shipped = demos.load(demos.shipped(find_task("doorkey")))
    cut = srm.Demonstrations(
        shipped.task,
        shipped.env_id,
        shipped.vocabulary,
        shipped.versions,
        shipped.seeds,
        tuple(_cut(t) if n < 4 else t for n, t in enumerate(shipped.trajectories)),
    )
    proposal = srm.propose("doorkey", cut)
    assert proposal.machine.nodes == proposed("doorkey").machine.nodes
    assert "6 solve the task" in proposal.explanation
    with pytest.raises(DemonstrationError, match="none of 4 demonstrations solves"):
        srm.propose("doorkey", cut, count=4)


def _cut(trajectory):  # type: ignore[no-untyped-def]
    """Its first three steps."""
    from dataclasses import replace

    return replace(
        trajectory,
        observations=trajectory.observations[:4],
        actions=trajectory.actions[:3],
        poses=trajectory.poses[:4],
        task_reward=trajectory.task_reward[:3],
        terminated=False,
    )


def test_against_a_machine_each_kind_of_step_has_both_pays() -> None:
    task = find_task("doorkey")
    trajectories = demos.load(demos.shipped(task)).trajectories
    rows = compare_pay(proposed("doorkey").machine, find_machine("doorkey"), task.event_reader(), trajectories)
    assert [(row.events, row.pay, row.other_pay, len(row.numbers)) for row in rows] == [
        ("pick_up_key", "?pick_up_key", "?pick", 10),
        ("unlock_door", "?unlock_door", "?unlock", 10),
        ("reach_goal", "?reach_goal", "?goal", 10),
    ]


def test_the_page_lists_every_demonstration() -> None:
    page = proposal_page(proposed("doorkey"))
    assert page.count('scope="row"') == 10
    assert "before_reach_goal" in page
