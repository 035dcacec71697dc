"""Whether the sampler draws from the density it is given: simulation-based calibration (Talts and others, 2018).

    T steps   B envs   H holes   L = 63 draws   ranks 0 ... L

A random small machine, holes drawn from its prior by rejection, and labels (demonstrated or played) drawn for fixed steps from the
model's own likelihood, logit D = pay - c - log pi. If the draws are of the posterior, the rank of the truth among them is uniform.
Machines differ in what their holes do: pay, limit a counter, be a threshold of a signal, be whole, or be tied by a constraint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chisquare, kstest

from srm.evaluate.batched import linear
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import EvidenceSide
from srm.infer.posterior.likelihood import StepLikelihood
from srm.infer.posterior.prior import Floats, Prior, spaces
from srm.infer.posterior.sample import Draws, PosteriorConfig, draw
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.machine.vocabulary import Event, Signal, Vocabulary
from srm.seeding import stream
from srm.trajectory import Events, Rollout

DRAWS, BINS = 63, 16
STEPS, ENVS = 30, 4
IDLE = 3.0  # c lies within -IDLE .. IDLE: where it may be anything, most labels are all the same and say nothing
CONFIG = PosteriorConfig(ensembles=4, walkers=16, first_look=150, sweeps=600)

WORDS = Vocabulary(
    "bells",
    events=(Event("ring", "the bell rings"), Event("knock", "somebody knocks")),
    signals=(Signal("height", "above the floor, 0 to 1"),),
)
LIMITS = ("?limit in 0 .. 4 whole", "?limit in 0 .. 4")
PAYS = ("?knock in -3 .. 3", "?knock in -2 .. 2 whole")
ATOMS = (
    "",
    "",
    "?ring <= ?knock",
    "?ring + ?knock + ?high >= 1",
    "?ring <= ?limit - 2 \n    ?high >= 0 - ?limit",
    "?ring = ?high",
    "?ring = 0.5 * ?limit",
)
TEXT = """
machine bells
words bells

holes
    ?ring in -3 .. 3
    {pay}
    ?high in -3 .. 3
    ?enough in 0 .. 1
    {limit}

counters
    #rings counts ring

start begin
    ring and #rings < ?limit  // ?ring
    knock                     // ?knock -> {target}
    otherwise
    height > ?enough          // ?high

node later
    ring                      // ?knock - ?ring
    otherwise
    height < ?enough          // 0.5 * ?high

constraint
    {atom}
"""


@dataclass(frozen=True)
class Case:
    """A machine, and what each of its holes does."""

    machine: Machine
    kinds: tuple[str, ...]  # [H]


def draw_case(rng: np.random.Generator) -> Case:
    pay, limit, atom = (str(rng.choice(choices)) for choices in (PAYS, LIMITS, ATOMS))
    text = TEXT.format(pay=pay, limit=limit, target=rng.choice(["begin", "later"]), atom=atom)
    machine = parse(text if atom else text.replace("constraint\n", ""), {WORDS.name: WORDS})
    doing = {
        "ring": "pay",
        "knock": "pay",
        "high": "pay",
        "enough": "threshold of a signal",
        "limit": "limit of a counter",
    }
    return Case(
        machine,
        tuple(
            doing[name] + (", whole" if space.whole else "") + (", constrained" if f"?{name}" in atom else "")
            for name, space in zip(machine.hole_names, spaces(machine), strict=True)
        ),
    )


class BellWords:
    """Reads observations of three numbers: whether the bell rang, whether somebody knocked, and the height."""

    vocabulary = WORDS

    def read(self, rollout: Rollout) -> Events:
        after = rollout.after()
        env, step, event = np.nonzero(np.moveaxis(after[..., :2] > 0, 0, 1))
        return Events(
            rollout.steps,
            rollout.envs,
            step.astype(np.int32),
            env.astype(np.int32),
            event.astype(np.int16),
            np.zeros((len(step), 0), np.int32),
            after[..., 2:].astype(np.float64),
        )


def draw_rollout(rng: np.random.Generator) -> Rollout:
    act = rng.choice(3, p=(0.3, 0.2, 0.5), size=(STEPS + 1, ENVS))
    observations = np.stack([act == 0, act == 1, rng.random(act.shape)], axis=-1).astype(np.float64)
    nothing = np.zeros((STEPS, ENVS))
    terminated = rng.random((STEPS, ENVS)) < 0.1
    return Rollout(
        observations,
        np.zeros((STEPS, ENVS), np.int64),
        np.zeros((STEPS + 1, ENVS, 0), np.int16),
        nothing.astype(np.float32),
        terminated,
        nothing > 0,
        nothing == 0,
    )


def draw_truth(machine: Machine, rng: np.random.Generator) -> Floats:
    """Holes and c [D] of the prior, by rejection: nothing of what is tested is used."""
    a, b, equality = linear(machine, machine.constraint())
    while True:
        holes = np.array(
            [
                rng.integers(int(space.low), int(space.high) + 1) if space.whole else rng.uniform(space.low, space.high)
                for space in spaces(machine)
            ]
        )
        for row, bound in zip(a[equality], b[equality], strict=True):  # the first hole, ?ring, is tied to others
            holes[0] = (bound - row[1:] @ holes[1:]) / row[0]
        if (a @ holes <= b + 1e-9)[~equality].all():
            return np.append(holes, rng.uniform(-IDLE, IDLE))


def narrow(prior: Prior) -> Prior:
    """The prior with c within -IDLE .. IDLE."""
    last = np.eye(prior.dimensions)[-1]
    return replace(prior, a=np.concatenate([prior.a, [last, -last]]), b=np.concatenate([prior.b, [IDLE, IDLE]]))


def labelled(side: EvidenceSide, log_prob: np.ndarray, truth: Floats, rng: np.random.Generator) -> StepLikelihood:
    """Every step demonstrated with probability D under the truth, or else played; each weighs 1."""
    pay = np.zeros(log_prob.shape)
    entries = side.residual.entries
    pay[entries.step, entries.env] = side.pay(truth[None, :-1])[0]
    probability = 1 / (1 + np.exp(truth[-1] + log_prob - pay))
    sign = np.where(rng.random(pay.shape) < probability, 1.0, -1.0)
    silent = np.ones(pay.shape, np.bool_)
    silent[entries.step, entries.env] = False
    return StepLikelihood(
        np.arange(len(entries)),
        log_prob[entries.step, entries.env],
        sign[entries.step, entries.env],
        np.ones(len(entries)),
        log_prob[silent],
        sign[silent],
        np.ones(int(silent.sum())),
        0,
    )


def posterior_of(case: Case, truth: Floats, rng: np.random.Generator) -> tuple[Prior, Draws]:
    prior = narrow(Prior.of(case.machine, case.machine.constraint()))
    side = EvidenceSide.of(Program(case.machine, WORDS), BellWords(), draw_rollout(rng))
    steps = labelled(side, rng.uniform(-2.0, 0.0, (STEPS, ENVS)), truth, rng)
    return prior, draw(prior, lambda x: steps([side.pay(x[:, :-1])], x[:, -1]), CONFIG, rng)


def ranks_of(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """The rank of each true hole among where the walkers stand at last, [H]; ties are broken by lot."""
    truth = draw_truth(case.machine, rng)
    prior, draws = posterior_of(case, truth, rng)
    points = prior.rounded(draws.walkers.reshape(-1, prior.dimensions))[:DRAWS, :-1]
    below, equal = (points < truth[:-1] - 1e-9).sum(axis=0), (np.abs(points - truth[:-1]) <= 1e-9).sum(axis=0)
    return below + rng.integers(0, equal + 1), draws.converged


def calibrate(machines: int, seed: int) -> tuple[dict[str, list[int]], int]:
    """Ranks by what a hole does, and how many of the posteriors converged."""
    ranks: dict[str, list[int]] = {}
    converged = 0
    for number in range(machines):
        rng = stream(seed, f"calibration {number}")
        case = draw_case(rng)
        listed, done = ranks_of(case, rng)
        converged += done
        for kind, rank in zip(case.kinds, listed.tolist(), strict=True):
            ranks.setdefault(kind, []).append(rank)
    return ranks, converged


def uniform_p(ranks: Iterable[int], rng: np.random.Generator) -> tuple[float, float]:
    """How probable ranks as uneven as these are if they are uniform: by chi-square over bins, and by Kolmogorov and Smirnov."""
    listed = np.array(list(ranks))
    bins = min(BINS, max(2, len(listed) // 5))
    edges = np.linspace(0, DRAWS + 1, bins + 1)
    expected = np.diff(np.ceil(edges)) / (DRAWS + 1) * len(listed)
    counts = np.histogram(listed, np.ceil(edges) - 0.5)[0]
    spread = (listed + rng.random(len(listed))) / (DRAWS + 1)
    return float(chisquare(counts, expected).pvalue), float(kstest(spread, "uniform").pvalue)


def measure(machines: int, seed: int) -> Iterable[str]:
    """A table's rows: p-values over all holes, and by what a hole does."""
    ranks, converged = calibrate(machines, seed)
    rng = stream(seed, "ties")
    yield f"{machines} machines, seed {seed}; {converged} posteriors converged"
    yield ""
    yield "| what the hole does | holes | chi-square p | Kolmogorov-Smirnov p | mean rank / L |"
    yield "|---|--:|--:|--:|--:|"
    everything = [rank for listed in ranks.values() for rank in listed]
    for kind, listed in (("all", everything), *sorted(ranks.items())):
        chi, ks = uniform_p(listed, rng)
        yield f"| {kind} | {len(listed)} | {chi:.3f} | {ks:.3f} | {np.mean(listed) / DRAWS:.3f} |"
