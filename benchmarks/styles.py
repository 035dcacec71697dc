"""Do styles of LunarLander's pilots differ, does the posterior tell which of them demonstrated, and does a policy carry them over?

    python -m benchmarks.styles pilots --seed 100 --episodes 60
    python -m benchmarks.styles infer --seed 100 --methods totals averages
    srm suite control-lunarlander; python -m benchmarks.styles policies --runs runs/control-lunarlander
    srm suite control-truth; python -m benchmarks.styles truth --runs runs/control-truth

Each pilot demonstrates ten episodes. The rivals are random play and ten episodes of each other pilot that lands: of the other style, and of Gymnasium's own
`heuristic`. All are flown from seeds of their own. What tells styles apart is the ratio of `?haste` to `?fuel`: whoever sinks at a steady speed v pays
haste * v and fuel / v for the way, so that the cheapest v is sqrt(fuel / haste).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.box2d.lunar_lander import heuristic

import srm
from srm.domains.base import Task
from srm.domains.control.lunarlander.expert import STYLES
from srm.domains.control.lunarlander.vocabulary import LANDER_READER, LANDER_WORDS
from srm.domains.experts import actor_of
from srm.domains.record import play, record
from srm.domains.tasks import find_task
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.infer import Posterior, infer, random_play
from srm.infer.posterior.sample import PosteriorConfig
from srm.machine.language.parse import find_machine, load
from srm.runs.policy import record_policy
from srm.runs.word_means import WordMean
from srm.trajectory import Rollout, Trajectory, as_rollout

TASKS = ("lunarlander", "lunarlander_continuous")
DEMONSTRATIONS = 10
DIGITS = {"steps": 0, "fuel": 0, "speed": 2, "touchdown": 2, "return": 0}  # of what is measured
RATIO = ("haste", "fuel")
STYLE_DEMONSTRATIONS = {"gentle": "lunarlander", "frugal": "lunarlander_frugal"}
CARRIED = (("speed", "mean"), ("fuel", "sum"), ("haste", "sum"), ("impact", "sum"))


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


def show_policies(runs: Path) -> None:
    """Of each curve: how often its policies land and, of those that do, each word's ratio to the demonstrator's, seed by seed."""
    print("| demonstrator | what pays | seeds | lands | speed | fuel | haste | speed at touchdown |")
    print("|---|---|--:|---|---|---|---|---|")
    for style, demos in STYLE_DEMONSTRATIONS.items():
        for curve in (*sorted(runs.glob(f"{style}-*")), runs / "task"):
            told = [srm.evaluate(run, episodes=100, demonstrations=demos) for run in sorted(curve.glob("seed*/"))]
            means = [{(m.word, m.of): m for m in each.words.words} for each in told if each.words is not None]
            lands = ", ".join(f"{each.success.mean:.2f}" for each in told)
            cells = (", ".join(_ratio(mean[word]) for mean in means) for word in CARRIED)
            print(
                f"| {style} | {curve.name.removeprefix(f'{style}-')} | {len(told)} | {lands} | {' | '.join(cells)} |",
                flush=True,
            )


def _ratio(mean: WordMean) -> str:
    return "-" if mean.ratio is None else f"{mean.ratio:.2f}"


def show_truth(runs: Path, seed: int) -> None:
    """Each policy of a folder demonstrates in turn, and the others are its rivals: are the ratios it was trained on inside their 90 % intervals?"""
    task, machine = find_task("lunarlander"), find_machine("lunarlander")
    folders = sorted(runs.glob("*/seed*/"))
    shown = [record_policy("lunarlander", folder, DEMONSTRATIONS, seed) for folder in folders]
    print("| run | hole | true ratio to ?land | 90 % | covered |")
    print("|---|---|--:|--:|---|")
    covered = []
    for folder, demos in zip(folders, shown, strict=True):
        true = {hole.name: hole.value or 0.0 for hole in load(folder / "machine.srm").holes}
        others = [other for other in folders if other != folder]
        posterior = srm.infer(task, machine, demos, play=others, seed=seed)
        by_hole = posterior.draws.draws.reshape(-1, len(machine.hole_names)).T
        draws = dict(zip(posterior.draws.holes, by_hole, strict=True))
        for hole in machine.hole_names[1:]:
            low, high = np.quantile(draws[hole] / draws["land"], (0.05, 0.95))
            ratio = true[hole] / true["land"]
            covered.append(low <= ratio <= high)
            inside = "yes" if covered[-1] else "no"
            print(f"| {folder.parent.name} | ?{hole} | {ratio:.3g} | {low:.3g} to {high:.3g} | {inside} |", flush=True)
    print(f"\n{sum(covered)} of {len(covered)} covered")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("pilots", "infer", "policies", "truth"))
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--task", choices=TASKS, default=TASKS[0])
    parser.add_argument("--methods", nargs="+", default=["averages", "totals"])
    parser.add_argument("--runs", type=Path)
    given = parser.parse_args(arguments)
    if given.part == "policies":
        show_policies(given.runs)
    elif given.part == "truth":
        show_truth(given.runs, given.seed)
    elif given.part == "pilots":
        show_pilots(find_task(given.task), given.seed, given.episodes)
    else:
        show_inference(find_task(given.task), given.seed, given.methods)


if __name__ == "__main__":
    main(sys.argv[1:])
