"""Lines 5 to 8: the sampler's cost is the one that is written down, and demonstrations teach the holes something real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from srm.domains.reading import read_events
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError, RunError
from srm.evaluate.batched import pay
from srm.evaluate.payer import walk_rollout
from srm.infer.algorithm1.concretizer import Concretizer, ConcretizerConfig, InferenceProblem, SamplerSide, _Targets
from srm.infer.algorithm1.gaussian import SamplerConfig
from srm.infer.algorithm1.loop import InferConfig
from srm.infer.algorithm1.reward_net import RewardNetConfig
from srm.infer.algorithm1.sequences import Follower
from srm.infer.algorithm1.variational import exercised, summarise_q
from srm.infer.project import Polytope
from srm.infer.rounding import tidy
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from srm.trajectory import Demonstrations, Rollout
from tests.infer.play import MINIGRID, demonstrations, uniform

TASK, DOORKEY = find_task("DoorKey-5x5"), find_machine("doorkey")
SMALL = ConcretizerConfig(reward_net=RewardNetConfig(steps=2, sequences=16))


def problem(
    config: ConcretizerConfig = SMALL, machine: Machine = DOORKEY, demos: Demonstrations | None = None
) -> InferenceProblem:
    demos = demos or demonstrations("DoorKey-5x5")
    return InferenceProblem.of(machine, machine.constraint(), TASK.event_reader(), demos, MINIGRID, config, seed=0)


def learn(concretizer: Concretizer, rollouts: Sequence[Rollout], first: int = 0, effort: int = 1) -> dict[str, float]:
    """Rounds against a policy that acts at random; the losses of the last."""
    carry = None
    for index, rollout in enumerate(rollouts, first):
        events = read_events(TASK.event_reader(), rollout)
        residual, carry = walk_rollout(concretizer.program, rollout, events, carry)
        demonstrated = uniform(concretizer.demonstrated)
        losses = concretizer.learn(index, rollout, residual, uniform(rollout), demonstrated, effort)
    return losses


def test_the_cost_of_a_side_is_the_mean_over_its_real_steps(rollouts: list[Rollout]) -> None:
    concretizer, rollout = Concretizer(problem()), rollouts[0]
    residual = concretizer.demonstration
    valid, rng = concretizer.demonstrated.valid, np.random.default_rng(0)
    f, holes = -rng.random(valid.shape), rng.normal(size=(3, 5))
    side, idle = SamplerSide(residual, f, valid), 0.7
    cost = side.cost(holes, idle)
    dense = pay(residual, holes).dense()  # [K, T, B]
    squares = np.square(dense - idle - f)[:, valid] / 2
    assert np.diagonal(cost.values(holes)) == pytest.approx(squares.mean(axis=1))
    assert cost.by_idle == pytest.approx(-(dense - idle - f)[:, valid].mean())
    step = 1e-6
    for hole in range(5):
        moved = holes + step * np.eye(5)[hole]
        by_step = (np.diagonal(side.cost(moved, idle).values(moved)) - np.diagonal(cost.values(holes))) / step
        assert by_step == pytest.approx(np.diagonal(cost.gradients(holes)[..., hole]), abs=1e-4)
    assert rollout.valid.any()


def test_a_concretizer_goes_on_where_it_was_saved(rollouts: list[Rollout]) -> None:
    first, second = Concretizer(problem()), Concretizer(problem())
    learn(first, rollouts[:1])
    second.load(first.arrays())
    first.follower = Follower(first.net)  # a resumed run begins new episodes
    for concretizer in (first, second):
        learn(concretizer, rollouts[1:2], first=1)
    assert first.belief().mode.tolist() == second.belief().mode.tolist()


def test_foreign_weights_are_refused_by_name() -> None:
    with pytest.raises(RunError, match="reward_net"):
        Concretizer(problem()).load({"reward_net.trunk.first.weight": np.zeros(3)})


def test_demonstrations_without_an_event_of_the_machine_are_refused() -> None:
    demos = demonstrations("DoorKey-5x5")
    first = demos.trajectories[0]
    still = replace(
        first, actions=np.full(first.steps, 6), observations=np.repeat(first.observations[:1], first.steps + 1, axis=0)
    )
    with pytest.raises(DemonstrationError, match="no event of machine doorkey"):
        Concretizer(problem(demos=replace(demos, trajectories=(still,), seeds=(0,))))


def test_the_paper_s_side_of_every_setting_can_be_learnt_with(rollouts: list[Rollout]) -> None:
    concretizer, rollout = Concretizer(problem(InferConfig().as_printed())), rollouts[0]
    losses = learn(concretizer, [rollout])
    assert np.isfinite(list(losses.values())).all()
    assert concretizer.net.trunk.out == 64 * 4 * 4  # 7x7 after three 2x2 of stride 1, and no pooling
    assert concretizer.follower.follow(rollout).memory.shape[2] == 2 * 128


@pytest.mark.parametrize(("noise", "shape"), [("sequence", (5,)), ("step", (8, 5))])
def test_eps_is_shared_by_a_sequence_or_not(
    noise: Literal["sequence", "step"], shape: tuple[int, ...], rollouts: list[Rollout]
) -> None:
    concretizer, rollout = Concretizer(problem()), rollouts[0]
    targets = _Targets(concretizer.follower.follow(rollout), uniform(rollout), np.zeros(rollout.actions.shape))
    parts, eps = targets.draw(RewardNetConfig(sequences=5, noise=noise), np.random.default_rng(0))
    assert eps.shape == shape
    logits, _ = targets.judge(parts, eps, torch.zeros(8, 5), None)
    shared = eps.expand(8, 5)[parts.valid] + np.log(7)
    assert logits.numpy() == pytest.approx(shared.numpy(), abs=1e-5)


ONCE = """\
machine once
words minigrid
holes ?pick ?limit
counters
    #picked counts pick_up_key
start s
    pick_up_key and #picked < ?limit // ?pick
"""


@pytest.mark.parametrize("estimator", ["mixed", "pathwise"])
def test_a_hole_that_only_a_guard_reads_is_learnt_except_by_pathwise(
    estimator: Literal["mixed", "pathwise"], rollouts: list[Rollout]
) -> None:
    """The demonstrated pick-up is the first of its episode: a limit above 0 pays it."""
    config = ConcretizerConfig(RewardNetConfig(steps=8, sequences=32), SamplerConfig(estimator=estimator))
    concretizer = Concretizer(problem(config, machine=parse(ONCE)))
    learn(concretizer, rollouts[:6], effort=2)
    pick, limit = concretizer.belief().mode
    if estimator == "pathwise":
        assert limit == 0
    else:
        assert pick > 0.3
        assert limit > 0.3


@pytest.mark.slow
def test_ten_demonstrations_teach_what_is_worth_doing(rollouts: list[Rollout]) -> None:
    """From a policy that acts at random alone: the demonstrated milestones become worth something."""
    concretizer = Concretizer(problem(ConcretizerConfig()))
    learn(concretizer, rollouts, effort=2)
    belief = concretizer.belief()
    worth = dict(zip(concretizer.program.machine.hole_names, belief.mode, strict=True))
    assert worth["goal"] >= worth["unlock"] > 0.2
    assert worth["pick"] > 0.2
    assert worth["drop"] < 0
    machine = concretizer.program.machine
    demonstrated = exercised(concretizer.demonstration, belief.mode)
    summary = summarise_q(
        machine, machine.constraint(), belief, demonstrated, [0] * len(demonstrated), np.random.default_rng(0)
    )
    assert summary.margin is not None
    assert summary.margin >= 0
    assert {hole.name: hole.demonstrated for hole in summary.holes}["goal"] == 10  # once in each demonstration
    assert {"close", "drop"} <= set(summary.unexercised)
    allowed = Polytope.of(machine, machine.constraint())
    assert allowed.excess(tidy(allowed, belief.mode)).max() <= 0
