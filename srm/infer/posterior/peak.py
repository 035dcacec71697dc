"""The assignment that pays: the peak of the posterior, with a slight preference for small numbers.

The mean of a posterior that knows little is mostly the prior's: under DoorKey's constraint most of what is allowed has `?pick` below 0, and
so has the mean where ten demonstrations count for what they are worth. The peak says what the evidence says, however little that is.
Much of it is flat: a penalty that nobody demonstrates may be -2 or -5 and explain as much. There the smallest number will do, and it
trains best (docs/algorithm.md has the frames), so the peak is that of

    log posterior, every step counted in full, - sum over paid holes of (hole / unit)^2 / 2

Pay is log-odds, of which 1 is a natural unit; it is a fifth of the default space, and so the unit of a hole is a fifth of the farthest that its
space reaches. (With 1 for all, `?land in 0 .. 40` was held to 7 where the posterior lay between 20 and 39, and `?time in -0.02 .. 0` to nothing.)

It is found by annealing: the ensemble goes on from draws of the posterior while the density is raised to ever higher powers. What is
returned is the mean of the walkers that end there, so a threshold lies in the middle of what is equally likely.

Where an atom against farming holds the peak back, something of its loop has to give way, and the density does not mind what: an expert who
closes every door may be explained by paid closing and costly opening. A policy that pays for the first door it opens never gets to the
second (KeyCorridor: 0.00 after 2 M frames, three seeds of three). So `paying_point` lets what undoes give way: the hole of the loop that
demonstrations come to first is not paid below 0 (the same demonstrations: 0.80 after 403 k and 594 k frames).
"""

from __future__ import annotations

import numpy as np

from srm.errors import AssignmentError
from srm.evaluate.batched import linear
from srm.infer.hole_uses import paid_holes
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.sample import Draws, InferenceTarget
from srm.infer.posterior.slices import LogDensity, prior_walkers, sweep
from srm.infer.posterior.summary import preferring_small
from srm.machine.checks.check import with_atoms
from srm.machine.holes import Atom, Constraint
from srm.machine.model import Machine
from srm.machine.terms import HoleTerm, Number

POWERS = 2.0 ** np.arange(9)
SWEEPS = 10  # at each power
LEVEL = 0.1  # log-density within which walkers count as at the peak
ON_AN_ATOM = 0.01  # pay


def paying_point(target: InferenceTarget, draws: Draws, rng: np.random.Generator) -> Floats:
    """The peak [D], with no loop's first hole paid below 0 because an atom against farming holds it back."""
    if target.density.averages is not None:
        # Averages say a direction, and the preference for small numbers would choose the scale: the mean of a convex set lies inside it.
        mean: Floats = target.prior.rounded(np.append(draws.assignments.mean(axis=0), draws.idle.mean())[None])[0]
        return mean
    machine, full = target.machine, target.density.in_full()
    at = peak(machine, target.prior, full, draws.walkers, rng)
    first = [
        hole
        for hole in _held_back_first(target, at[:-1])
        if at[hole] < 0 and machine.hole_names[hole] in paid_holes(machine)
    ]
    if not first:
        return at
    atoms = [Atom((HoleTerm(machine.hole_names[hole]),), ">=", Number(0.0)) for hole in first]
    try:
        kept = Prior.of(machine, with_atoms(target.constraint, atoms))
    except AssignmentError:  # the designer's constraint, or a space, wants it below 0
        return at
    ensembles, size, _ = draws.walkers.shape
    walkers = prior_walkers(kept, ensembles, size, rng)
    return peak(machine, kept, full, walkers, rng)


def _held_back_first(target: InferenceTarget, at: Floats) -> list[int]:
    """Of each atom against farming on which the point [H] lies: the hole that demonstrations are paid first."""
    demonstrations = target.density.evidence.demonstrations
    a, b, _ = linear(target.machine, Constraint(target.forbidden.atoms, "farming"))
    spaces = len(target.machine.rows(None))
    on = [row for row, bound in zip(a[spaces:], b[spaces:], strict=True) if bound - row @ at < ON_AN_ATOM]
    if not on:
        return []
    bumps = np.concatenate([np.zeros((1, len(at))), np.eye(len(at)) * 1e-3])
    pays = demonstrations.pay(at + bumps)  # [1 + H, N]
    reads = np.abs(pays[1:] - pays[0]) > 0  # [H, N] whether an entry's pay depends on a hole
    step = demonstrations.residual.entries.step
    never = demonstrations.valid.shape[0]
    earliest = np.where(reads, step, never).min(axis=1, initial=never)  # [H]
    return [int(min(np.flatnonzero(row), key=lambda hole: earliest[hole])) for row in on]


def peak(machine: Machine, prior: Prior, full: LogDensity, start: Floats, rng: np.random.Generator) -> Floats:
    """[D], holes as the machine sees them and c; inside the constraint up to rounding of whole numbers.

    `full` is the log-density with every step counted for one (`Density.in_full`); the walkers [C, W, D] go on from `start`.
    """
    preferred = preferring_small(machine, full)
    walkers = start.reshape(1, -1, prior.dimensions).copy()
    power = 1.0

    def raised(x: Floats) -> Floats:
        return power * preferred(x)

    for power in POWERS:  # noqa: B007  (`raised` reads it)
        values = raised(prior.rounded(walkers[0]))[None]
        for _ in range(SWEEPS):
            sweep(prior, raised, walkers, values, rng)
    best = values[0] >= values.max() - power * LEVEL
    return prior.rounded(walkers[0])[best].mean(axis=0)
