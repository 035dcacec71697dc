"""Which point of the posterior to pay: its mean, or the mean of its most probable draws.

For each number of demonstrations and each temper two machines are written, with values divided by the largest, so that `srm train
TASK --reward FILE` shows what each teaches. Random play stands against the demonstrations that ship with the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from srm.chance import stream
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import Evidence
from srm.infer.posterior.infer import random_play, unfarmable
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.sample import Density, Draws, PosteriorConfig, draw
from srm.infer.posterior.slices import LogDensity
from srm.machine.model import Machine
from srm.machine.parse import find_machine
from srm.machine.text import machine_text
from srm.task.demos import load, shipped
from srm.task.table import find_task
from srm.trajectory import as_rollout

RATED, PEAK = 5000, 0.02  # draws whose density is compared, and the share of them that counts as most probable


def most_probable(density: LogDensity, draws: Draws) -> Floats:
    """The mean [H] of the most probable of the draws: near the mode, and inside any convex constraint.

    Where evidence is weak the posterior's mean is mostly that of the prior, which may teach the opposite of what is demonstrated; the mode
    says what the evidence says however little that is, and hardly depends on `temper`. `srm.infer.posterior.peak` goes on to the mode itself.
    """
    x = np.column_stack([draws.assignments, draws.idle])
    x = x[np.linspace(0, len(x) - 1, min(RATED, len(x))).astype(np.intp)]
    values = np.concatenate([density(part) for part in np.array_split(x, max(1, len(x) // 256))])
    best: Floats = x[np.argsort(-values, kind="stable")[: max(1, round(PEAK * len(x)))], :-1].mean(axis=0)
    return best


def measure(
    name: str, demonstrations: Sequence[int], tempers: Sequence[float], folder: Path, seed: int
) -> Iterable[str]:
    """A table's rows: the values of both points, and the files they are in."""
    task, machine = find_task(name), find_machine(find_task(name).machines[0]).opened()
    vocabulary = task.vocabulary()
    constraint, _ = unfarmable(machine, machine.constraint(), vocabulary)
    yield f"| M | temper | point | file | {' | '.join(f'?{hole}' for hole in machine.hole_names)} |"
    yield "|--:|--:|---|---|" + "--:|" * len(machine.holes)
    folder.mkdir(parents=True, exist_ok=True)
    for count in demonstrations:
        demonstrated = as_rollout(load(shipped(task)).trajectories[:count])
        evidence = Evidence.of(
            Program(machine, vocabulary.words), vocabulary, demonstrated, (random_play(task, demonstrated, seed),)
        )
        for temper in tempers:
            config = PosteriorConfig(temper=temper)
            density = Density(evidence, config)
            draws = draw(Prior.of(machine, constraint), density, config, stream(seed, "posterior"))
            points = {"mean": draws.assignments.mean(axis=0), "peak": most_probable(density, draws)}
            for point, values in points.items():
                file = folder / f"{machine.name}_{count}_{temper:g}_{point}.srm"
                scaled = np.round(values / np.abs(values).max(), 3)
                file.write_text(machine_text(concrete(machine, scaled)), encoding="utf-8")
                yield f"| {count} | {temper:g} | {point} | {file} | {' | '.join(f'{v:.2f}' for v in scaled)} |"


def concrete(machine: Machine, values: Floats) -> Machine:
    return machine.concretize(dict(zip(machine.hole_names, values.tolist(), strict=True)))
