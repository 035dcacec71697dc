"""Is EnvPool's driving that of highway-env, how do the drivers' styles differ, and does the posterior tell which of them demonstrated?

    python -m benchmarks.driving port --task merge --episodes 120 -o results/driving/port_merge.csv
    python -m benchmarks.driving starts --task merge --episodes 300
    python -m benchmarks.driving speed
    python -m benchmarks.driving infer --seed 100

`port` plays episodes of highway-env and of EnvPool by the same drivers, who see nothing but observations, and compares what can be compared: how the own
car answers to actions, what a step is paid, and how episodes are distributed (two-sample Kolmogorov-Smirnov tests; Fisher's exact one for crashes). highway-env takes minutes: it steps some
fifty frames a second. No seed gives both the same traffic.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import fisher_exact, ks_2samp

import srm
from srm.domains.base import Stepping, Task
from srm.domains.control.highway.expert import STYLES
from srm.domains.control.highway.vocabulary import (
    FASTER,
    HIGHWAY,
    HIGHWAY_WORDS,
    LANE_LEFT,
    LANE_RIGHT,
    MERGE,
    SLOWER,
    SPEEDS,
    VX,
    VY,
    Y,
)
from srm.domains.envs import gather, make_envs
from srm.domains.record import play
from srm.domains.tasks import find_task
from srm.seeding import stream
from srm.trajectory import Rollout, as_rollout, masked

TASKS = ("highway", "merge")
ROADS = {"highway": HIGHWAY, "merge": MERGE}
FILES = {task: {"cautious": task, "brisk": f"{task}_brisk"} for task in TASKS}  # demonstrations that ship
MOST_STEPS = 40  # of an episode; the longest that was seen has 30
COLUMNS = ("task", "driver", "of an episode", "episodes of each", "highway-env", "EnvPool", "p", "differs")
SURE = 0.01  # a difference is one if it is less likely than this by chance, shared among all comparisons of a task
SCRIPT = (FASTER, SLOWER, SLOWER, LANE_LEFT, FASTER, LANE_RIGHT)  # for the own car
Driver = Callable[[np.ndarray], int]


def drivers(task: str, seed: int) -> dict[str, Driver]:
    rng = stream(seed, "random driver")
    return {**STYLES[task], "random": lambda _: int(rng.integers(5))}


def original(task: Task, driver: Driver, seed: int, count: int) -> Rollout:
    """Episodes of highway-env, side by side."""
    env = task.environment(task.env_id)
    drives = [play(env, lambda seen: driver(seen[-1]), number, MOST_STEPS) for number in range(seed, seed + count)]
    env.close()
    return as_rollout(drives)


def ported(task: Task, driver: Driver, seed: int, count: int) -> Rollout:
    """The first episode of each of EnvPool's envs."""
    envs = make_envs(task.env_id, count, seed, "envpool")
    seen, poses = envs.reset()
    observations, actions, steps = seen, [], []
    for _ in range(MOST_STEPS):
        actions.append(np.array([driver(observation) for observation in observations]))
        steps.append(envs.step(actions[-1]))
        observations = steps[-1].observations
    envs.close()
    rollout = gather(seen, poses, actions, steps)
    over = np.cumsum(rollout.terminated | rollout.truncated, axis=0)
    return masked(rollout, np.concatenate([np.ones((1, count), np.bool_), over[:-1] == 0]))


def drive(task: Task, driver: Driver, seed: int, count: int, stepping: Stepping) -> Rollout:
    return (ported if stepping == "envpool" else original)(task, driver, seed, count)


def measures(task: Task, rollout: Rollout) -> dict[str, np.ndarray]:
    """Of each episode."""
    events, valid = task.event_reader().read(rollout), rollout.valid
    steps = valid.sum(axis=0)

    def times(event: str) -> np.ndarray:
        return np.bincount(events.env[events.event == HIGHWAY_WORDS.event_index[event]], minlength=rollout.envs)

    def mean(signal: str) -> np.ndarray:
        return np.where(valid, events.signals[..., HIGHWAY_WORDS.signal_index[signal]], 0).sum(axis=0) / steps

    return {
        "steps": steps,
        "return": np.where(valid, rollout.task_reward, 0).sum(axis=0),
        "crashes": times("crash"),
        "speed": mean("speed"),
        "gap": mean("gap"),
        "time to collision": mean("time_to_collision"),
        "lane changes": times("change_lane"),
    }


def own_motion(task: Task, stepping: Stepping, seed: int) -> np.ndarray:
    """What the own car does by the script, [T, 3]: across the road since the start, and both speeds. Of the first episode without a crash that begins
    in a lane with another on its left, and on highway's road also on its right."""
    for number in range(seed, seed + 100):
        moves = iter(SCRIPT)
        rollout = drive(task, lambda _, moves=moves: next(moves, 1), number, 1, stepping)
        own, played = rollout.observations[: len(SCRIPT) + 1, 0, 0], rollout.valid[: len(SCRIPT) + 1]
        if np.isclose(own[0, Y], 1 / ROADS[task.name].range) and played.all() and len(played) > len(SCRIPT):
            return own[1:, [Y, VX, VY]] - [own[0, Y], 0, 0]
    raise AssertionError(f"{task.env_id}: no episode of the script without a crash")


def unexplained(task: Task, rollout: Rollout) -> np.ndarray:
    """What steps are paid besides highway-env's formula, of those at which no lane is being changed and, in merge, nobody can be on the ramp's end yet."""
    own = rollout.after()[..., 0, :]
    lane, speed = np.rint(ROADS[task.name].range * own[..., Y]), SPEEDS * own[..., VX]
    crashed = rollout.info["crashed"] > 0
    fast = (speed - 20) / 10
    if task.name == "highway":
        formula = (1 - crashed + 0.1 * lane / 2 + 0.4 * np.clip(fast, 0, 1)) / 1.5
        compared = rollout.valid.copy()
    else:
        turned = np.isin(rollout.actions, (LANE_LEFT, LANE_RIGHT))
        formula = (1.5 - crashed + 0.1 * lane + 0.2 * fast - 0.05 * turned) / 1.8
        compared = rollout.valid & (np.arange(rollout.steps) < 3)[:, None]
    compared &= (np.abs(own[..., VY]) < 1e-4) & ~np.isin(rollout.actions, (LANE_LEFT, LANE_RIGHT))
    return (rollout.task_reward - formula)[compared]


def chance_of_difference(key: str, ours: np.ndarray, theirs: np.ndarray) -> float:
    """How likely two samples differ as much if both environments are the same one."""
    if key == "crashes":  # of yes and no Kolmogorov and Smirnov say little
        return float(fisher_exact([[ours.sum(), (1 - ours).sum()], [theirs.sum(), (1 - theirs).sum()]]).pvalue)
    return float(ks_2samp(ours, theirs).pvalue)


def compare_starts(task: Task, seed: int, count: int) -> None:
    """How the five cars stand and go before the first step: of each number that ever varies, both means, and how likely they are of one kind."""
    env, envs = task.environment(task.env_id), make_envs(task.env_id, count, seed, "envpool")
    ours, theirs = np.stack([env.reset(seed=number)[0] for number in range(seed, seed + count)]), envs.reset()[0]
    places = [(car, place) for car, place in np.ndindex(5, 5) if np.ptp(np.concatenate([ours, theirs])[:, car, place])]
    for car, place in places:
        our, their = ours[:, car, place], theirs[:, car, place]
        chance = float(ks_2samp(our, their).pvalue)
        differs = "yes" if chance < SURE / len(places) else "no"
        name = ("presence", "x", "y", "vx", "vy")[place]
        print(f"| {task.name} | car {car}, {name} | {our.mean():.3f} | {their.mean():.3f} | {chance:.2g} | {differs} |")


def compare_ports(task: Task, seed: int, count: int, out: Path | None) -> None:
    """The own car's motion, the reward, and a row for each driver and measure."""
    ours, theirs = (own_motion(task, stepping, seed) for stepping in ("gymnasium", "envpool"))
    print(f"{task.env_id}: own car by the script, largest difference {np.abs(ours - theirs).max():.2g}", flush=True)
    rows, chosen = [], drivers(task.name, seed)
    for name, driver in chosen.items():
        both = [drive(task, driver, seed, count, stepping) for stepping in ("gymnasium", "envpool")]
        rest = [np.abs(unexplained(task, rollout)).max() for rollout in both]
        print(f"{task.env_id}, {name}: largest unexplained reward {rest[0]:.2g}, EnvPool's {rest[1]:.2g}", flush=True)
        ours, theirs = (measures(task, rollout) for rollout in both)
        for key in ours:
            chance = chance_of_difference(key, ours[key], theirs[key])
            differs = "yes" if chance < SURE / (len(chosen) * len(ours)) else "no"
            rows.append((task.name, name, key, count, ours[key].mean(), theirs[key].mean(), chance, differs))
            print("| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2g} | {} |".format(*rows[-1]), flush=True)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])


def show_speed(seed: int) -> None:
    """Steps in a second of processor time, eight envs, random actions, resets included."""
    for task in map(find_task, TASKS):
        for stepping, steps in (("gymnasium", 10), ("envpool", 2_000)):
            envs = make_envs(task.env_id, 8, seed, stepping)
            envs.reset()
            rng, begin = stream(seed, "speed"), time.process_time()
            for _ in range(steps):
                envs.step(rng.integers(5, size=8))
            print(f"{task.env_id}, {stepping}: {8 * steps / (time.process_time() - begin):,.0f} steps/s", flush=True)
            envs.close()


def show_inference(seed: int) -> None:
    """Each style demonstrates, without a rival and beside the other style. Random play is EnvPool's: highway-env would take minutes for it."""
    print("| task | demonstrator | rival | hole | mean | 90 % |")
    print("|---|---|---|---|--:|--:|")
    for task, files in FILES.items():
        for style, file in files.items():
            rival = next(other for name, other in files.items() if name != style)
            for rivals, whose in (((), "none"), ((rival,), "the other style")):
                posterior = srm.infer(find_task(task).using("envpool"), demonstrations=file, play=rivals, seed=seed)
                for hole in posterior.summary.holes:
                    shown = f"{hole.mean:.3g} | {hole.low:.3g} to {hole.high:.3g}"
                    print(f"| {task} | {style} | {whose} | ?{hole.name} | {shown} |", flush=True)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("port", "starts", "speed", "infer"))
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--task", choices=TASKS, default="merge", help="of `port` and `starts`")
    parser.add_argument("-o", "--out", type=Path, help="a table of what `port` compares")
    given = parser.parse_args(arguments)
    if given.part == "port":
        compare_ports(find_task(given.task), given.seed, given.episodes, given.out)
    elif given.part == "starts":
        compare_starts(find_task(given.task), given.seed, given.episodes)
    elif given.part == "speed":
        show_speed(given.seed)
    else:
        show_inference(given.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
