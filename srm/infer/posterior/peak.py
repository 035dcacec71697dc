"""The assignment that pays: the peak of the posterior, with a slight preference for small numbers.

The mean of a posterior that knows little is mostly the prior's: under DoorKey's constraint most of what is allowed has `?pick` below 0, and
so has the mean where ten demonstrations count for what they are worth. The peak says what the evidence says, however little that is.
Much of it is flat: a penalty that nobody demonstrates may be -2 or -5 and explain as much. There the smallest number will do, and it
trains best (docs/algorithm.md has the frames), so the peak is that of

    log posterior, every step counted in full, - sum over paid holes of hole^2 / 2

(pay is log-odds, of which 1 is a natural unit).

It is found by annealing: the ensemble goes on from draws of the posterior while the density is raised to ever higher powers. What is
returned is the mean of the walkers that end there, so a threshold lies in the middle of what is equally likely.
"""

from __future__ import annotations

import numpy as np

from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.sample import Draws
from srm.infer.posterior.slices import LogDensity, sweep
from srm.infer.posterior.summary import paid_holes
from srm.machine.model import Machine

POWERS = 2.0 ** np.arange(9)
SWEEPS = 10  # at each power
LEVEL = 0.1  # log-density within which walkers count as at the peak


def peak(machine: Machine, prior: Prior, full: LogDensity, draws: Draws, rng: np.random.Generator) -> Floats:
    """[D], holes as the machine sees them and c; inside the constraint up to rounding of whole numbers.

    `full` is the log-density with every step counted for one (`Density.in_full`); the walkers go on from those of `draws`.
    """
    paid = paid_holes(machine)
    small = np.array([float(name in paid) for name in machine.hole_names])  # [H]
    walkers = draws.walkers.reshape(1, -1, prior.dimensions).copy()
    power = 1.0

    def raised(x: Floats) -> Floats:
        return power * (full(x) - 0.5 * np.square(x[:, :-1]) @ small)

    for power in POWERS:  # noqa: B007  (`raised` reads it)
        values = raised(prior.shown(walkers[0]))[None]
        for _ in range(SWEEPS):
            sweep(prior, raised, walkers, values, rng)
    best = values[0] >= values.max() - power * LEVEL
    return prior.shown(walkers[0])[best].mean(axis=0)
