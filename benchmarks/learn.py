"""What each line of Algorithm 1 costs, and how fast the whole is beside plain PPO.

    python benchmarks/learn.py [--rounds 12]
    python benchmarks/learn.py --estimators

DoorKey-8x8, ten demonstrations, 64 envs and 8 minibatches, otherwise the settings of `srm learn`. Lines are timed in one process on one core, in processor time. The speeds are
in wall time, medians of a round: plain PPO with the same settings on one core, Algorithm 1 on one core, and on two with lines 5 to 8
in a process of their own.

`--estimators`: the variance of the four estimators of J_soft's gradient with respect to q's mean, from K = 16 draws each, after three rounds of
warm-up.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from srm.domains import demonstrations as demos
from srm.domains.tasks import find_task
from srm.evaluate.payer import Payer, read_rollout
from srm.infer.algorithm1 import concretizer
from srm.infer.algorithm1.background import BackgroundInference, InlineInference
from srm.infer.algorithm1.loop import InferConfig, infer
from srm.infer.algorithm1.sequences import follow
from srm.machine.language.parse import find_machine
from srm.rl.loop import train
from srm.rl.make import LearnerConfig
from srm.rl.ppo import PpoConfig

TASK, SEED = find_task("doorkey"), 0
CONFIG, LEARNER = InferConfig(), LearnerConfig(ppo=PpoConfig(num_envs=64, minibatches=8))
FRAMES = LEARNER.ppo.num_envs * LEARNER.ppo.num_steps


def problem() -> concretizer.InferenceProblem:
    machine = find_machine("doorkey")
    demonstrations = demos.load(demos.shipped(TASK), TASK)
    return concretizer.InferenceProblem.of(
        machine, machine.constraint(), TASK.event_reader(), demonstrations, 7, CONFIG, SEED
    )


def learner() -> Any:
    return LEARNER.make(TASK.make_envs(LEARNER.ppo.num_envs, SEED), SEED)


class Timed:
    """Processor seconds spent in some methods, those that they call among each other counted once."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._inside = False

    def watch(self, owner: Any, method: str, line: str) -> None:
        inner: Callable[..., Any] = getattr(owner, method)

        def timed(*arguments: Any, **named: Any) -> Any:
            if self._inside:
                return inner(*arguments, **named)
            start, self._inside = time.process_time(), True
            try:
                return inner(*arguments, **named)
            finally:
                self._inside = False
                self.spent[line] += time.process_time() - start

        setattr(owner, method, timed)


def lines(rounds: int) -> None:
    policy, holes, clock = learner(), InlineInference(problem(), TASK.event_reader()), Timed()
    inner = holes._concretizer
    for owner, method, line in (
        (policy, "collect", "2 play"),
        (holes, "pay", "3 read the rollout, and pay by the most likely assignment"),
        (policy, "update", "4 PPO"),
        (policy, "log_probs", "6 log pi of the demonstrations"),
        (inner.sampler, "draw", "5 draw K assignments"),
        (inner.follower, "follow", "6, 7 f along the rollout, twice"),
        (concretizer, "follow", "6, 7 f along the demonstrations, twice"),
        (inner, "_fit_reward_net", "6, 7 gradient steps of f"),
        (inner, "_fit_sampler", "8 gradient steps of q"),
    ):
        clock.watch(owner, method, line)
    steps = infer(policy, holes, CONFIG)
    for _ in range(CONFIG.warm_up + 3):
        next(steps)
    clock.spent.clear()
    start = time.process_time()
    for _ in range(rounds):
        next(steps)
    whole = (time.process_time() - start) / rounds
    clock.spent["everything else"] = rounds * whole - sum(clock.spent.values())
    print(f"a round of {FRAMES:,} frames: {1000 * whole:.0f} ms")
    for line, spent in sorted(clock.spent.items()):
        print(f"  {line:<52} {1000 * spent / rounds:6.1f} ms  {100 * spent / rounds / whole:4.1f} %")


def estimators(draws: int = 200) -> None:
    policy, inner = learner(), concretizer.Concretizer(problem())
    batch = policy.collect()
    rollout = batch.rollout
    residual, _ = read_rollout(inner.program, TASK.event_reader(), rollout)
    for index in range(3):
        demonstrated_log_prob = policy.log_probs(inner.demonstrated)
        inner.learn(index, rollout, residual, batch.log_prob, demonstrated_log_prob, CONFIG.warm_up_effort)
    sides = [
        concretizer.SamplerSide(
            residual, follow(inner.net, source, np.ones(source.envs, np.bool_)).f.double().numpy(), source.valid
        )
        for residual, source in ((inner.demonstration, inner.demonstrated), (residual, rollout))
    ]
    q = inner.sampler
    for estimator in ("mixed", "pathwise", "score", "score_plain"):
        q.config, rng, gradients = replace(q.config, estimator=estimator), np.random.default_rng(0), []
        for _ in range(draws):
            mean, log_variance, idle = q()
            drawn = q.draws(mean, log_variance, q.config.samples, rng)
            cost = sides[0].cost(drawn.h, idle.item()) + sides[1].cost(drawn.h, idle.item())
            gradients.append(torch.autograd.grad(q.soft(cost, drawn, mean, log_variance), mean)[0].numpy())
        print(f"{estimator:<12} variance {np.var(gradients, axis=0).sum():.2g}")


def speed_of(rounds: Any, warm_up: int, count: int) -> float:
    """Frames a second of the median round."""
    for _ in range(warm_up):
        next(rounds)
    marks = [time.perf_counter()]
    for _ in range(count):
        next(rounds)
        marks.append(time.perf_counter())
    return FRAMES / float(np.median(np.diff(marks)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--estimators", action="store_true", help="compare the estimators' variance instead")
    arguments = parser.parse_args()
    count = arguments.rounds
    torch.set_num_threads(1)
    if arguments.estimators:
        estimators()
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    lines(count)
    payer = Payer(find_machine("doorkey_handset"), TASK.event_reader())
    speed = {"PPO, one core": speed_of(train(learner(), lambda batch: payer(batch.rollout), 2**40), 3, count)}
    speed["Algorithm 1, one core"] = speed_of(
        infer(learner(), InlineInference(problem(), TASK.event_reader()), CONFIG), CONFIG.warm_up + 3, count
    )
    os.sched_setaffinity(0, cores)
    background = BackgroundInference(problem(), TASK.event_reader())
    speed["Algorithm 1, two cores"] = speed_of(infer(learner(), background, CONFIG), CONFIG.warm_up + 3, count)
    background.close()
    for name, frames in speed.items():
        print(f"{name:<24} {frames:>8,.0f} frames/s  {frames / speed['PPO, one core']:.2f} of plain PPO")


if __name__ == "__main__":
    main()
