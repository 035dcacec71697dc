"""What draws say of each hole: where it lies, how much narrower that is than before, and by what it was set.

    S draws of the posterior   H holes   J atoms   N entries of the demonstrations

Nothing here is a guess about the machine: a hole is set by what moves the likelihood when the hole alone is exchanged between draws
(demonstrations, play), and where nothing does, by the constraint or by the prior. The weight of a demonstrated step is the
covariance of the hole with that step's log-likelihood: by so much would the hole's mean fall if the step were left out a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.evaluate.batched import linear
from srm.evaluate.reference import Ambiguous
from srm.infer.posterior.likelihood import Steps
from srm.infer.posterior.prior import Floats, Prior, spaces
from srm.infer.posterior.sample import Density, Draws
from srm.infer.posterior.slices import LogDensity
from srm.machine.checks.core.constraint import row_text
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.machine.terms import compared_terms

INTERVAL = (0.05, 0.95)
EXCHANGED = 128  # draws between which a hole is exchanged
STEPS_OF_A_HOLE = 5  # kinds of steps that decided it most
LEAST_CORRELATION = 0.15  # of a hole with a step: three standard errors of the fewest draws that count as converged
NOTHING_SAID = 0.05  # narrower by less than this, and moved by less than that many prior spreads twice over: no news
ON_AN_ATOM = 0.1  # of the prior's spread: so near to an atom the peak lies on it
BEYOND = (0.1, 0.2, 0.4, 0.7, 1.0)  # of the prior's spread: how far the peak is moved across an atom
PRESSED = 1.5  # that much more likely (log-odds) beyond it, 4 to 1; parts that share a budget gain about 1


@dataclass(frozen=True)
class DecidingStep:
    """A demonstrated step and the hole's mean it accounts for; the first of those that weigh the same."""

    demonstration: int
    step: int
    weight: float  # how much lower the hole's mean would be without it, to first order
    alike: int = 1  # steps that weigh as much, this one among them: the same rule, met the same way


@dataclass(frozen=True)
class HoleSummary:
    """What is known of one hole."""

    name: str
    mean: float
    spread: float  # standard deviation
    low: float  # of the 90 % interval
    high: float
    prior_mean: float
    prior_spread: float
    ratio: float | None  # to the largest hole that is paid; None: a threshold, which has a scale of its own
    narrower: float  # 1 - spread / spread of the prior, at least 0: the share that the evidence took away
    set_by: str  # "demonstrations", "play", "constraint", "prior" or "nothing reads it"
    r_hat: float
    effective: float
    steps: tuple[DecidingStep, ...]


@dataclass(frozen=True)
class PressedAtom:
    """An atom that the evidence would break: the posterior sits on it."""

    text: str
    gain: float  # log-odds beyond it


@dataclass(frozen=True)
class Tradeoff:
    """Two holes that the evidence holds together."""

    first: str
    second: str
    correlation: float


def summarise(
    machine: Machine, constraint: Constraint | None, prior: Prior, before: Floats, density: Density, draws: Draws
) -> tuple[HoleSummary, ...]:
    """One summary a hole; `before` [S, H] are draws of the prior."""
    x = draws.assignments
    means, spreads = x.mean(axis=0), x.std(axis=0)
    paid = paid_holes(machine)
    largest = max(
        (abs(mean) for mean, name in zip(means, machine.hole_names, strict=True) if name in paid), default=0.0
    )
    shown, played = exchange(density, draws)
    decided = deciding_steps(density, draws)
    listed = []
    for i, name in enumerate(machine.hole_names):
        low, high = np.quantile(x[:, i], INTERVAL)
        was, were = float(before[:, i].mean()), float(before[:, i].std())
        narrower = max(0.0, 1 - spreads[i] / were) if were > 0 else 0.0
        moved = abs(means[i] - was) / were if were > 0 else 0.0
        listed.append(
            HoleSummary(
                name,
                float(means[i]),
                float(spreads[i]),
                float(low),
                float(high),
                was,
                were,
                float(means[i] / largest) if name in paid and largest > 0 else None,
                float(narrower),
                _set_by(
                    shown[i],
                    played[i],
                    narrower,
                    moved,
                    _is_constrained(machine, i, was, were),
                    name in read_holes(machine),
                ),
                float(draws.r_hat[i]),
                float(draws.effective[i]),
                decided[i],
            )
        )
    return tuple(listed)


def _set_by(shown: float, played: float, narrower: float, moved: float, constrained: bool, is_read: bool) -> str:
    if not is_read:
        return "nothing reads it"
    says_nothing = narrower < NOTHING_SAID and moved < 2 * NOTHING_SAID
    if shown + played <= 0 or says_nothing:
        return "constraint" if constrained else "prior"
    return "demonstrations" if shown >= played else "play"


def _is_constrained(machine: Machine, hole: int, mean: float, spread: float) -> bool:
    """Whether the prior within the constraint is another than the hole's own space alone would give."""
    space = spaces(machine)[hole]
    width = space.high - space.low + space.whole
    flat = np.sqrt((width**2 - space.whole) / 12)
    return abs(spread - flat) > 0.1 * flat or abs(mean - (space.low + space.high) / 2) > 0.1 * flat


def read_holes(machine: Machine) -> frozenset[str]:
    """Holes that a guard, a pay or hindsight reads."""
    return paid_holes(machine) | guard_holes(machine)


def guard_holes(machine: Machine) -> frozenset[str]:
    """Holes that a comparison in a guard reads."""
    sides = (side for _, rule, _ in machine.rules for side in compared_terms(rule.guard))
    return frozenset(m.hole for side in sides for m in machine.form(side) if m.hole is not None)


def paid_holes(machine: Machine) -> frozenset[str]:
    """Holes that are paid, also in hindsight."""
    pays = [rule.pay for _, rule, _ in machine.rules]
    pays += [change.pay for _, rule, _ in machine.rules for change in rule.changes]
    return frozenset(m.hole for pay in pays for m in machine.form(pay) if m.hole is not None)


def preferring_small(machine: Machine, density: LogDensity) -> LogDensity:
    """A log-density with a slight preference for small pay (`peak.py` says why)."""
    paid = paid_holes(machine)
    small = np.array([float(name in paid) for name in machine.hole_names])  # [H]
    return lambda x: density(x) - 0.5 * np.square(x[:, :-1]) @ small


def exchange(density: Density, draws: Draws) -> tuple[Floats, Floats]:
    """How much the log-likelihood of demonstrations [H] and of play [H] moves when a hole alone is exchanged between draws."""
    rows = _some(draws)
    x, c = draws.assignments[rows], draws.idle[rows]
    steps = Steps.of(density.evidence, density.config.temper)
    base = steps.terms(density.pays(x), c)
    moved = np.zeros((2, x.shape[1]))
    for hole in range(x.shape[1]):
        other = x.copy()
        other[:, hole] = np.roll(x[:, hole], 1)
        kept = consistent(density, other)
        if kept.any():
            change = steps.terms(density.pays(other[kept]), c[kept]) - base[kept]
            moved[0, hole] = np.abs(change[:, : steps.demonstrated].sum(axis=1)).mean()
            moved[1, hole] = np.abs(change[:, steps.demonstrated :].sum(axis=1)).mean()
    return moved[0], moved[1]


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
    """For each hole the kinds of demonstrated steps that weigh most together."""
    rows = np.linspace(0, len(draws.assignments) - 1, min(1000, len(draws.assignments))).astype(np.intp)
    x, c = draws.assignments[rows], draws.idle[rows]
    evidence = density.evidence
    steps, entries = Steps.of(evidence, density.config.temper), evidence.demonstrations.residual.entries
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
                DecidingStep(int(entries.world[n]), int(entries.step[n]), float(row[n]), int(alike[k]))
                for k in strongest[:STEPS_OF_A_HOLE]
                for n in (first[k],)
            )
        )
    return listed


def pressed_atoms(
    machine: Machine, constraint: Constraint | None, before: Floats, density: Density, at: Floats
) -> tuple[PressedAtom, ...]:
    """Atoms, and ends of assignment spaces, that hold the evidence back, the strongest first.

    The peak [D] is moved across each atom that it lies on, straight or along one of the atom's holes, by up to one spread of the prior;
    if what the peak is the peak of gains by that, the atom is what stops it.
    """
    a, b, equality = linear(machine, constraint)
    rows = machine.rows(constraint)
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


def _some(draws: Draws) -> np.ndarray:
    return np.linspace(0, len(draws.assignments) - 1, min(EXCHANGED, len(draws.assignments))).astype(np.intp)
