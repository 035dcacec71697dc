"""What draws say of each hole: where it lies, how much narrower that is than before, and by what it was set.

    S draws of the posterior   H holes   J atoms   N entries of the demonstrations

Nothing here is a guess about the machine: a hole is set by what moves the likelihood when the hole alone is exchanged between draws
(demonstrations, play), and where nothing does, by the constraint or by the prior. The weight of a demonstrated step is the
covariance of the hole with that step's log-likelihood: by so much would the hole's mean fall if the step were left out a little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.evaluate.batched import linear
from srm.evaluate.reference import Ambiguous
from srm.infer.hole_uses import paid_holes, read_holes
from srm.infer.posterior.likelihood import AverageLikelihood, StepLikelihood
from srm.infer.posterior.prior import Floats, spaces
from srm.infer.posterior.record import DecidingStep, HoleSummary, PressedAtom
from srm.infer.posterior.sample import Density, Draws, InferenceTarget
from srm.infer.posterior.slices import LogDensity
from srm.machine.checks.core.constraint import row_text
from srm.machine.holes import DEFAULT_SPACE
from srm.machine.model import Machine

INTERVAL = (0.05, 0.95)
EXCHANGED = 128  # draws between which a hole is exchanged
WEIGHED = 1000  # draws by which demonstrated steps are weighed
STEPS_OF_A_HOLE = 5  # kinds of steps that decided it most
LEAST_CORRELATION = 0.15  # of a hole with a step: three standard errors of the fewest draws that count as converged
NOTHING_SAID = 0.05  # narrower by less than this, and moved by less than that many prior spreads twice over: no news
ON_AN_ATOM = 0.1  # of the prior's spread: so near to an atom the peak lies on it
BEYOND = (0.1, 0.2, 0.4, 0.7, 1.0)  # of the prior's spread: how far the peak is moved across an atom
PRESSED = 1.5  # that much more likely (log-odds) beyond it, 4 to 1; parts that share a budget gain about 1


@dataclass(frozen=True)
class Tradeoff:
    """Two holes that the evidence holds together."""

    first: str
    second: str
    correlation: float


def summarise(target: InferenceTarget, before: Floats, draws: Draws) -> tuple[HoleSummary, ...]:
    """One summary a hole; `before` [S, H] are draws of the prior."""
    machine, x = target.machine, draws.assignments
    paid, read = paid_holes(machine), read_holes(machine)
    moved_by = exchange(target.density, draws)
    steps = deciding_steps(target.density, draws)

    # Before and after
    means, spreads = x.mean(axis=0), x.std(axis=0)
    lows, highs = np.quantile(x, INTERVAL, axis=0)
    prior_means, prior_spreads = np.array([(hole.mean(), hole.std()) for hole in before.T]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        narrower = np.where(prior_spreads > 0, np.maximum(0.0, 1 - spreads / prior_spreads), 0.0)
        moved = np.where(prior_spreads > 0, np.abs(means - prior_means) / prior_spreads, 0.0)
    largest = max(
        [abs(mean) for mean, name in zip(means, machine.hole_names, strict=True) if name in paid], default=0.0
    )

    # Hole by hole
    summaries = []
    for i, name in enumerate(machine.hole_names):
        constrained = _is_constrained(machine, i, prior_means[i], prior_spreads[i])
        summary = HoleSummary(
            name=name,
            mean=float(means[i]),
            spread=float(spreads[i]),
            low=float(lows[i]),
            high=float(highs[i]),
            prior_mean=float(prior_means[i]),
            prior_spread=float(prior_spreads[i]),
            ratio=float(means[i] / largest) if name in paid and largest > 0 else None,
            narrower=float(narrower[i]),
            set_by=_set_by(
                {side: by[i] for side, by in moved_by.items()}, narrower[i], moved[i], constrained, name in read
            ),
            r_hat=finite(draws.r_hat[i]),
            effective=finite(draws.effective[i]),
            steps=steps[i],
        )
        summaries.append(summary)
    return tuple(summaries)


def finite(value: float) -> float | None:
    """None for what no JSON can say."""
    return float(value) if math.isfinite(value) else None


def _set_by(moved_by: Mapping[str, float], narrower: float, moved: float, constrained: bool, is_read: bool) -> str:
    """`moved_by` is how much the likelihood of each kind of evidence moves with the hole; the first of two that are equal counts."""
    if not is_read:
        return "nothing reads it"
    says_nothing = narrower < NOTHING_SAID and moved < 2 * NOTHING_SAID
    if sum(moved_by.values()) <= 0 or says_nothing:
        return "constraint" if constrained else "prior"
    return max(moved_by, key=lambda side: moved_by[side])


def _is_constrained(machine: Machine, hole: int, mean: float, spread: float) -> bool:
    """Whether the prior within the constraint is another than the hole's own space alone would give."""
    space = spaces(machine)[hole]
    width = space.high - space.low + space.whole
    flat = np.sqrt((width**2 - space.whole) / 12)
    return abs(spread - flat) > 0.1 * flat or abs(mean - (space.low + space.high) / 2) > 0.1 * flat


def preferring_small(machine: Machine, density: LogDensity) -> LogDensity:
    """A log-density with a slight preference for small pay (`peak.py` says why), each hole measured by its space."""
    paid = paid_holes(machine)
    units = [max(abs(space.low), abs(space.high)) / DEFAULT_SPACE.high or 1.0 for space in spaces(machine)]
    small = np.array([(name in paid) / unit**2 for name, unit in zip(machine.hole_names, units, strict=True)])  # [H]
    return lambda x: density(x) - 0.5 * np.square(x[:, :-1]) @ small


def exchange(density: Density, draws: Draws) -> dict[str, Floats]:
    """How much the log-likelihood of demonstrations, of play and of preferences [H] moves when a hole alone is exchanged between draws."""
    x, c = _some(draws, EXCHANGED)
    if density.averages is not None:
        return _exchange_averages(density, density.averages, x)
    steps = StepLikelihood.of(density.evidence, density.config.temper)
    answers = density.parts.get("preferences", lambda _, c: np.zeros(len(c)))
    pays = density.pays(x)
    base, answered = steps.terms(pays, c), answers(pays, c)
    moved = np.zeros((3, x.shape[1]))
    for hole in range(x.shape[1]):
        other = x.copy()
        other[:, hole] = np.roll(x[:, hole], 1)
        kept = consistent(density, other)
        if kept.any():
            pays = density.pays(other[kept])
            change = steps.terms(pays, c[kept]) - base[kept]
            moved[0, hole] = np.abs(change[:, : steps.demonstrated].sum(axis=1)).mean()
            moved[1, hole] = np.abs(change[:, steps.demonstrated :].sum(axis=1)).mean()
            moved[2, hole] = np.abs(answers(pays, c[kept]) - answered[kept]).mean()
    return dict(zip(("demonstrations", "play", "preferences"), moved, strict=True))


def _exchange_averages(density: Density, averages: AverageLikelihood, x: Floats) -> dict[str, Floats]:
    """An average of demonstrations is compared with one of play, so that neither moves alone: it counts for the demonstrations."""
    base, answered, moved, preferred = averages(x), density.preferred(x), *np.zeros((2, x.shape[1]))
    for hole in range(x.shape[1]):
        other = x.copy()
        other[:, hole] = np.roll(x[:, hole], 1)
        moved[hole] = np.abs(averages(other) - base).mean()
        preferred[hole] = np.abs(density.preferred(other) - answered).mean()
    return {"demonstrations": moved, "preferences": preferred}


def consistent(density: Density, assignments: Floats) -> npt.NDArray[np.bool_]:
    """Where the machine does not contradict itself, [K]: outside its constraint two of its rules may hold at one step."""
    try:
        density.pays(assignments)
    except Ambiguous:
        if len(assignments) == 1:
            return np.zeros(1, np.bool_)
        return np.concatenate([consistent(density, half) for half in np.array_split(assignments, 2)])
    return np.ones(len(assignments), np.bool_)


def deciding_steps(density: Density, draws: Draws) -> list[tuple[DecidingStep, ...]]:
    """For each hole the kinds of demonstrated steps that weigh most together; none where only averages of episodes count."""
    if density.averages is not None:
        return [()] * draws.assignments.shape[1]
    x, c = _some(draws, WEIGHED)
    evidence = density.evidence
    steps, entries = StepLikelihood.of(evidence, density.config.temper), evidence.demonstrations.residual.entries
    terms = steps.terms(density.pays(x), c)[:, : steps.demonstrated]
    by_step = terms.reshape(len(x), len(evidence.plays), -1).sum(axis=1)  # [S, N] of all policies
    weights = (x - x.mean(axis=0)).T @ (by_step - by_step.mean(axis=0)) / len(x)  # [H, N]
    noise = LEAST_CORRELATION * np.outer(x.std(axis=0), by_step.std(axis=0))
    listed = []
    for row, least in zip(weights, noise, strict=True):
        # What was rounded alike is alike: numbers of one kind differ by the order of a sum at most.
        _, first, alike = np.unique(row.round(9), return_index=True, return_counts=True)
        strongest = [
            k for k in np.argsort(-np.abs(row[first] * alike)) if abs(row[first[k]]) > max(least[first[k]], 1e-6)
        ]
        listed.append(
            tuple(
                DecidingStep(int(entries.env[n]), int(entries.step[n]), float(row[n]), int(alike[k]))
                for k in strongest[:STEPS_OF_A_HOLE]
                for n in (first[k],)
            )
        )
    return listed


def pressed_atoms(target: InferenceTarget, before: Floats, at: Floats) -> tuple[PressedAtom, ...]:
    """Atoms, and ends of assignment spaces, that hold the evidence back, the strongest first.

    The peak [D] is moved across each atom that it lies on, straight or along one of the atom's holes, by up to one spread of the prior;
    if what the peak is the peak of gains by that, the atom is what stops it.
    """
    machine, density = target.machine, target.density
    a, b, equality = linear(machine, target.constraint)
    rows = machine.rows(target.constraint)

    # Points beyond each atom that the peak lies on
    candidates: list[int] = []  # the row that each point beyond is about
    points = [at]
    for i, row in enumerate(a):
        width = (before @ row).std()
        room = b[i] - row @ at[:-1]
        if equality[i] or not row.any() or room >= ON_AN_ATOM * width:
            continue
        along_holes = [np.eye(len(row))[hole] for hole in np.flatnonzero(row)]
        for direction in (row, *along_holes):
            across = np.append(direction / (row @ direction), 0.0)
            points += [at + across * (room + share * width) for share in BEYOND]
            candidates += [i] * len(BEYOND)

    # What is gained there
    values, kept = np.full(len(points), -np.inf), consistent(density, np.array(points)[:, :-1])
    values[kept] = preferring_small(machine, density.in_full())(np.array(points)[kept])
    gains = np.full(len(rows), -np.inf)
    np.maximum.at(gains, candidates, values[1:] - values[0])
    pressed = [PressedAtom(row_text(rows[i]), float(gains[i])) for i in np.flatnonzero(gains >= PRESSED)]
    return tuple(sorted(pressed, key=lambda atom: -atom.gain))


def tradeoffs(machine: Machine, draws: Draws, least: float = 0.3, most: int = 6) -> tuple[Tradeoff, ...]:
    """Pairs of holes with the largest correlations."""
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.nan_to_num(np.atleast_2d(np.corrcoef(draws.assignments.T)))
    names = machine.hole_names
    pairs = [Tradeoff(names[i], names[j], float(matrix[i, j])) for i in range(len(names)) for j in range(i)]
    strong = [pair for pair in pairs if abs(pair.correlation) >= least]
    return tuple(sorted(strong, key=lambda pair: -abs(pair.correlation))[:most])


def _some(draws: Draws, most: int) -> tuple[Floats, Floats]:
    """At most so many draws, evenly chosen: assignments [K, H] and c [K]."""
    rows = np.linspace(0, len(draws.assignments) - 1, min(most, len(draws.assignments))).astype(np.intp)
    return draws.assignments[rows], draws.idle[rows]
