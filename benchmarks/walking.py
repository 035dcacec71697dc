"""Are the weights that a walker was trained on found again in ten of its episodes, and by which likelihood?

    python -m benchmarks.walking styles --seed 100 --episodes 20
    python -m benchmarks.walking truth --seed 100
    python -m benchmarks.walking record --seed 0

Both styles of Hopper are policies that ship. Each was paid by a machine whose values are known (`hopper_frugal`, `hopper_fast`), so the ratios that their
demonstrations are to give back are known too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import srm
from srm.domains.control.hopper.expert import STYLES
from srm.domains.demonstrations import save
from srm.domains.experts import actor_of
from srm.domains.record import play
from srm.domains.registry import domain_named
from srm.domains.tasks import find_task
from srm.machine.language.parse import find_machine
from srm.trajectory import Trajectory, as_rollout

SHIPPED = {"frugal": "hopper", "fast": "hopper_fast"}
MEASURED = ("speed", "torque", "height", "lean")
UNIT = "speed"  # whose weight the others are measured by


def show_styles(seed: int, episodes: int) -> None:
    """Of every episode, whether it falls or not."""
    task = find_task("hopper")
    env, index = task.environment(task.env_id), task.vocabulary.signal_index
    print(f"| style | falls | steps | {' | '.join(MEASURED)} | return |")
    print(f"|---|--:|--:|{'--:|' * len(MEASURED)}--:|")
    for style, expert in STYLES.items():
        hops = [play(env, actor_of(expert, env, 0.0, number), number) for number in range(seed, seed + episodes)]
        steps, falls = np.array([hop.steps for hop in hops]), sum(hop.terminated for hop in hops)
        rollout = as_rollout(hops)
        signals = task.event_reader().read(rollout).signals.sum(axis=0) / steps[:, None]
        cells = [f"{signals[:, index[word]].mean():.3f}" for word in MEASURED]
        earned = np.mean([hop.total_reward for hop in hops])
        print(
            f"| {style} | {falls} of {episodes} | {steps.mean():.0f} | {' | '.join(cells)} | {earned:.0f} |", flush=True
        )
    env.close()


def record_shipped(seed: int) -> None:
    """Writes the demonstrations that ship: as `srm demo hopper --habit STYLE` records them, but with the precision of float32, and of `info` only the
    number that the words read: 0.7 MB each in place of 1.3."""
    task, domain = find_task("hopper"), domain_named("hopper")
    assert domain is not None
    assert domain.demonstrations is not None
    assert domain.record_with is not None
    for style, name in SHIPPED.items():
        demos = domain.record_with(task, 10, seed, habit=style, noise=0.0)
        path = domain.demonstrations / f"{name}.npz"
        save(replace(demos, trajectories=tuple(map(shortened, demos.trajectories))), path)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def shortened(episode: Trajectory) -> Trajectory:
    def short(numbers: np.ndarray) -> np.ndarray:
        return numbers.astype(np.float32).astype(np.float64)

    info = {"reward_forward": short(episode.info["reward_forward"])}
    return replace(episode, observations=short(episode.observations), info=info)


def show_truth(seed: int, likelihoods: Sequence[str]) -> None:
    """Each style demonstrates, without a rival that hops and with the other style for one."""
    machine = find_machine("hopper")
    print("| likelihood | demonstrator | rival | weight by that of speed | true | 90 % | covered |")
    print("|---|---|---|---|--:|--:|---|")
    for likelihood in likelihoods:
        for style, shown in SHIPPED.items():
            true = {hole.name: hole.value or 0.0 for hole in find_machine(f"hopper_{style}").holes}
            other = next(name for name in SHIPPED if name != style)
            for rival in ((), (other,)):
                posterior = srm.infer(
                    "hopper",
                    machine,
                    shown,
                    play=[SHIPPED[name] for name in rival],
                    seed=seed,
                    posterior={"likelihood": likelihood},
                )
                draws = posterior.draws.draws.reshape(-1, len(posterior.draws.holes)).T
                by_hole = dict(zip(posterior.draws.holes, draws, strict=True))
                for hole in sorted(set(true) - {UNIT}):
                    low, high = np.quantile(by_hole[hole] / by_hole[UNIT], (0.05, 0.95))
                    ratio = true[hole] / true[UNIT]
                    inside = "yes" if low <= ratio <= high else "no"
                    print(
                        f"| {likelihood} | {style} | {', '.join(rival) or 'none'} | ?{hole} | {ratio:.3g} "
                        f"| {low:.3g} to {high:.3g} | {inside} |",
                        flush=True,
                    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("styles", "truth", "record"))
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--likelihoods", nargs="+", default=["averages", "totals", "steps", "trajectories"])
    given = parser.parse_args(arguments)
    if given.part == "styles":
        show_styles(given.seed, given.episodes)
    elif given.part == "record":
        record_shipped(given.seed)
    else:
        show_truth(given.seed, given.likelihoods)


if __name__ == "__main__":
    main(sys.argv[1:])
