"""Do styles of LunarLander's pilots differ, and does the posterior tell which of them demonstrated?

    python -m benchmarks.styles pilots --seed 100 --episodes 60
    python -m benchmarks.styles infer --seed 100 --methods totals averages

Each pilot demonstrates ten episodes. The rivals are random play and ten episodes of each other pilot that lands: of the other style, and of Gymnasium's own
`heuristic`. All are flown from seeds of their own. What tells styles apart is the ratio of `?haste` to `?fuel`: whoever sinks at a steady speed v pays
haste * v and fuel / v for the way, so that the cheapest v is sqrt(fuel / haste).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.envs.box2d.lunar_lander import heuristic

from srm.domains.base import Task
from srm.domains.control.lunarlander.expert import STYLES
from srm.domains.control.lunarlander.vocabulary import LANDER_READER, LANDER_WORDS
from srm.domains.experts import actor_of
from srm.domains.record import play, record
from srm.domains.tasks import find_task
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.infer import Posterior, infer, random_play
from srm.infer.posterior.sample import PosteriorConfig
from srm.machine.language.parse import find_machine
from srm.trajectory import Rollout, Trajectory, as_rollout

TASKS = ("lunarlander", "lunarlander_continuous")
DEMONSTRATIONS = 10
DIGITS = {"steps": 0, "fuel": 0, "speed": 2, "touchdown": 2, "return": 0}  # of what is measured
RATIO = ("haste", "fuel")


def heuristic_pilot(env: Any, observation: np.ndarray) -> Any:
    """Gymnasium's own."""
    return heuristic(env.unwrapped, observation)


PILOTS = {**STYLES, "gymnasium": heuristic_pilot}


def flights(task: Task, pilot: str, seed: int, count: int) -> list[Trajectory]:
    """Whether they land or not."""
    env = task.environment(task.env_id)
    flown = [play(env, actor_of(PILOTS[pilot], env, 0.0, number), number) for number in range(seed, seed + count)]
    env.close()
    return flown


def measures(task: Task, flown: Sequence[Trajectory]) -> dict[str, np.ndarray]:
    """Of each episode that lands."""
    landed = [trajectory for trajectory in flown if task.solved(trajectory)]
    rollout = as_rollout(landed)
    events, index = LANDER_READER.read(rollout), LANDER_WORDS.signal_index
    impacts = events.signals[..., index["impact"]]
    first = np.argmax(impacts > 0, axis=0)
    steps = rollout.valid.sum(axis=0)
    return {
        "steps": steps,
        "fuel": events.signals[..., index["fuel"]].sum(axis=0),
        "speed": np.where(rollout.valid, events.signals[..., index["speed"]], 0).sum(axis=0) / steps,
        "touchdown": np.take_along_axis(impacts, first[None], axis=0)[0],
        "return": np.array([trajectory.total_reward for trajectory in landed]),
    }


def show_pilots(task: Task, seed: int, episodes: int) -> None:
    print("| pilot | lands | steps | fuel | mean speed | speed at touchdown | return |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for pilot in PILOTS:
        of = measures(task, flights(task, pilot, seed, episodes))
        numbers = [f"{of[key].mean():.{digits}f} +- {of[key].std():.{digits}f}" for key, digits in DIGITS.items()]
        print(f"| {pilot} | {len(of['steps'])} of {episodes} | {' | '.join(numbers)} |", flush=True)


def rival(rollout: Rollout, demonstrated: Rollout, log_uniform: float) -> Play:
    """Somebody else's episodes. How likely their actions were is not known; as likely as any others is what is assumed."""
    return Play(rollout, np.full(rollout.valid.shape, log_uniform), np.full(demonstrated.valid.shape, log_uniform))


def inferred(task: Task, style: str, likelihood: Any, seed: int) -> Posterior:
    def shown(pilot: str, first: int) -> Rollout:
        return record(replace(task, expert=PILOTS[pilot]), DEMONSTRATIONS, first).as_rollout()

    machine = find_machine("lunarlander")
    demonstrated = shown(style, seed)
    random = random_play(task, demonstrated, seed)
    uniform = float(random.log_prob[0, 0])
    others = [shown(pilot, seed + 1000 + number) for number, pilot in enumerate(PILOTS) if pilot != style]
    plays = [random, *(rival(other, demonstrated, uniform) for other in others)]
    config = PosteriorConfig(likelihood=likelihood)
    return infer(machine, machine.constraint(), task.event_reader(), demonstrated, plays, config, seed=seed)


def show_inference(task: Task, seed: int, methods: Sequence[str]) -> None:
    print("| likelihood | demonstrator | ?haste / ?fuel, 90 % | ?fuel | ?haste | ?hard | ?land |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for method in methods:
        for style in STYLES:
            posterior = inferred(task, style, method, seed)
            holes = {hole.name: hole for hole in posterior.holes}
            columns = dict(zip(holes, posterior.draws.assignments.reshape(-1, len(holes)).T, strict=True))
            low, high = np.quantile(columns[RATIO[0]] / columns[RATIO[1]], (0.05, 0.95))
            told = [f"{holes[name].low:.3g} to {holes[name].high:.3g}" for name in ("fuel", "haste", "hard", "land")]
            late = "" if posterior.converged else " (not converged)"
            print(f"| {method}{late} | {style} | {low:.2g} to {high:.2g} | {' | '.join(told)} |", flush=True)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("pilots", "infer"))
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--task", choices=TASKS, default=TASKS[0])
    parser.add_argument("--methods", nargs="+", default=["averages", "totals"])
    given = parser.parse_args(arguments)
    if given.part == "pilots":
        show_pilots(find_task(given.task), given.seed, given.episodes)
    else:
        show_inference(find_task(given.task), given.seed, given.methods)


if __name__ == "__main__":
    main(sys.argv[1:])
