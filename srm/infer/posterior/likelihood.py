"""How likely the evidence is under an assignment: four likelihoods over the same residuals.

    K assignments   c the idle constant of each   N entries of all sides   n terms

**steps** is the paper's p(0_A, 1_E | pi_A, E, l) with the machine itself in the discriminator: logit D = pay - c - log pi_A, with
demonstrated steps as 1 and played steps as 0. It is sharp, and takes the pay of a step for the log-odds of taking it.
**totals** is the paper's definition of a solution as evidence: each demonstration out-earns the episodes of every policy met so
far, with the odds of a Bradley-Terry model on what whole episodes are paid. It sees what steps cannot: that small pay, often
paid, can outweigh a milestone.
**trajectories** is the maximum-entropy model, exp(pay of the episode) / Z, without Z: which episode is the demonstration, among it and
those of a policy, each divided by the probability of its actions? For a soft-optimal expert this is exact where all episodes are
of one length; where random episodes are longer than demonstrations their number alone outweighs any pay.
**averages** asks what `totals` asks, of means instead of single episodes, and counts the standard errors with which they are known. Where every
step pays, what an episode earns is mostly luck; that one lucky episode of random play out-earns a demonstration says nothing of the
weights (`python -m benchmarks.dense` has the coverage of both).

Weights: the played steps together weigh as much as the demonstrated ones, and each policy as much as another. Steps of an episode
are no independent evidence (whoever stays near an apple passes it twenty times), so that together they count for `temper` steps,
however long a demonstration is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from srm.errors import DemonstrationError, SettingError
from srm.infer.hole_uses import guard_holes
from srm.infer.posterior.evidence import Evidence, EvidenceSide
from srm.infer.posterior.prior import Floats

FEW = 5  # episodes that say how somebody succeeds
LUCK = np.linspace(-3, 3, 25)  # of the demonstrators, in standard errors
LOG_CHANCE = -(LUCK**2) / 2 - np.log(np.exp(-(LUCK**2) / 2).sum())


class Likelihood(Protocol):
    def __call__(self, pays: list[Floats], c: Floats) -> Floats:
        """The log-likelihood [K] from the pay [K, N] of each side of the evidence."""
        ...


def softplus(x: Floats) -> Floats:
    """log(1 + e^x)."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@dataclass(frozen=True, eq=False)
class StepLikelihood:
    """log D of demonstrated steps and log (1 - D) of played ones, each a term with its weight."""

    column: npt.NDArray[np.intp]  # [n] of the pays laid side by side
    log_prob: Floats  # [n]
    sign: Floats  # [n] 1 demonstrated, -1 played
    weight: Floats  # [n]
    silent_log_prob: Floats  # [G] of steps that pay nothing
    silent_sign: Floats  # [G]
    silent_weight: Floats  # [G]
    demonstrated: int  # the first so many terms are of demonstrations

    @staticmethod
    def of(evidence: Evidence, temper: float) -> StepLikelihood:
        """Each demonstration, and as much of play, counts for `temper` steps."""
        demonstrations, policies = evidence.demonstrations, len(evidence.plays)
        entries, count = len(demonstrations.residual.entries), demonstrations.valid.shape[1]
        each = temper * count / (policies * demonstrations.steps)  # weight of a demonstrated step
        parts: list[tuple[np.ndarray, Floats, float, float]] = []  # columns, log-probabilities, sign, weight
        silent: list[tuple[Floats, Floats, float]] = []

        # Demonstrated steps, once for each policy
        for log_prob in evidence.demonstrated_log_probs:
            parts.append((np.arange(entries), demonstrations.at(log_prob), 1.0, each))
            groups, counts = demonstrations.silent(log_prob)
            silent.append((groups, counts * each, 1.0))

        # Played steps
        offset = entries
        for side, log_prob in zip(evidence.plays, evidence.log_probs, strict=True):
            weight = each * demonstrations.steps / max(1, side.steps)
            columns = offset + np.arange(len(side.residual.entries))
            parts.append((columns, side.at(log_prob), -1.0, weight))
            groups, counts = side.silent(log_prob)
            silent.append((groups, counts * weight, -1.0))
            offset += len(columns)

        return StepLikelihood(
            np.concatenate([columns for columns, *_ in parts]),
            np.concatenate([log_prob for _, log_prob, *_ in parts]),
            np.concatenate([np.full(len(columns), sign) for columns, _, sign, _ in parts]),
            np.concatenate([np.full(len(columns), weight) for columns, *_, weight in parts]),
            np.concatenate([groups for groups, *_ in silent]),
            np.concatenate([np.full(len(groups), sign) for groups, _, sign in silent]),
            np.concatenate([weights for _, weights, _ in silent]),
            entries * policies,
        )

    def terms(self, pays: list[Floats], c: Floats) -> Floats:
        """The log-likelihood of each term, [K, n]."""
        pay = np.concatenate(pays, axis=1)[:, self.column]
        return -softplus(self.sign * (c[:, None] + self.log_prob - pay)) * self.weight

    def silent(self, c: Floats) -> Floats:
        """Of the steps that pay nothing, [K, G]."""
        return -softplus(self.silent_sign * (c[:, None] + self.silent_log_prob)) * self.silent_weight

    def __call__(self, pays: list[Floats], c: Floats) -> Floats:
        return self.terms(pays, c).sum(axis=1) + self.silent(c).sum(axis=1)


@dataclass(frozen=True, eq=False)
class TotalLikelihood:
    """Each demonstration out-earns the whole episodes of every policy; the policy that comes nearest decides.

    The strongest rival rather than the mean of all: a policy that has found a way to be paid is not outvoted by random play.
    """

    sums: tuple[Floats, ...]  # of each side, [N, whole episodes]

    @staticmethod
    def of(evidence: Evidence) -> TotalLikelihood:
        return TotalLikelihood(tuple(side.totals() for side in (evidence.demonstrations, *evidence.plays)))

    def __call__(self, pays: list[Floats], c: Floats) -> Floats:
        # What was compared comes last, and is no play.
        demonstrated, *played = (pay @ sums for pay, sums in zip(pays, self.sums, strict=False))  # [K, M], [K, J]
        met = [totals for totals in played if totals.shape[1]]
        if not met:
            return np.zeros(len(c))
        lost = [softplus(totals[:, None, :] - demonstrated[:, :, None]).mean(axis=2).sum(axis=1) for totals in met]
        return -np.max(lost, axis=0)


@dataclass(frozen=True, eq=False)
class TrajectoryLikelihood:
    """Which episode is the demonstration, among it and the whole episodes of a policy."""

    sums: tuple[Floats, ...]  # of each side, [N, whole episodes]
    played: tuple[Floats, ...]  # of each policy's whole episodes, [J]: minus the log-probability of their actions
    demonstrated: tuple[Floats, ...]  # the same of the demonstrations, [M], under each policy

    @staticmethod
    def of(evidence: Evidence) -> TrajectoryLikelihood:
        demonstrations = evidence.demonstrations
        return TrajectoryLikelihood(
            tuple(side.totals() for side in (evidence.demonstrations, *evidence.plays)),
            tuple(
                -side.episode_log_prob(log_prob)
                for side, log_prob in zip(evidence.plays, evidence.log_probs, strict=True)
            ),
            tuple(-demonstrations.episode_log_prob(log_prob) for log_prob in evidence.demonstrated_log_probs),
        )

    def __call__(self, pays: list[Floats], c: Floats) -> Floats:
        demonstrated, *played = (pay @ sums for pay, sums in zip(pays, self.sums, strict=False))
        lost = [
            softplus(_log_sum_exp(totals + played_surprise)[:, None] - demonstrated - own_surprise).sum(axis=1)
            for totals, played_surprise, own_surprise in zip(played, self.played, self.demonstrated, strict=True)
            if totals.shape[1]
        ]
        return -np.mean(lost, axis=0) if lost else np.zeros(len(c))


@dataclass(frozen=True, eq=False)
class EpisodeMoments:
    """What the whole episodes of a side are paid for each unit of each hole, and for nothing: count, mean and scatter."""

    count: int
    mean: Floats  # [H + 1]
    scatter: Floats  # [H + 1, H + 1] sum of the outer products of deviations from the mean

    @staticmethod
    def of(units: Floats) -> EpisodeMoments:
        """Of [J, H + 1]."""
        mean = units.mean(axis=0) if len(units) else np.zeros(units.shape[1])
        deviations = units - mean
        return EpisodeMoments(len(units), mean, deviations.T @ deviations)


def units_by_episode(side: EvidenceSide) -> Floats:
    """[whole episodes, H + 1]; pay is affine in the holes."""
    holes = side.residual.program.tables.holes
    pays = side.pay(np.concatenate([np.eye(holes), np.zeros((1, holes))]))
    return side.sum_by_episode(np.concatenate([pays[:-1] - pays[-1], pays[-1:]])).T


def rivals(side: EvidenceSide) -> list[EpisodeMoments]:
    """A policy, and apart from its failures what it does where it brings the machine to an accepting node."""
    units, accepted = units_by_episode(side), side.accepted()
    kinds = [units, units[accepted]] if FEW <= accepted.sum() < len(accepted) else [units]
    return [EpisodeMoments.of(kind) for kind in kinds if len(kind)]


@dataclass(frozen=True, eq=False)
class AverageLikelihood:
    """Demonstrators earn more on average than every policy met: a Bradley-Terry model on the difference of two means. That is the
    paper's definition of a solution, as evidence.

    A policy that succeeds now and then is a rival twice, by all of its episodes and by those that succeed: demonstrations are
    chosen by their success, and beside a failure every style looks cheap.

    Means are known up to their standard errors. That of the demonstrations is in all comparisons, so the likelihood is the average over
    what they may truly earn; that of a policy is its own. One demonstration alone shows no spread: the policies' counts as that of one more.
    """

    demonstrated: Floats  # [H + 1] mean of what an episode is paid for each unit of each hole, and for nothing
    error: Floats  # [H + 1, H + 1] variance of that mean
    played: Floats  # [R, H + 1]
    errors: Floats  # [R, H + 1, H + 1]

    @staticmethod
    def of(evidence: Evidence) -> AverageLikelihood:
        machine = evidence.demonstrations.residual.program.machine
        if guard_holes(machine):
            raise SettingError(
                f"--posterior.likelihood averages: a guard of machine {machine.name} compares ?{min(guard_holes(machine))}, "
                "which averages say nothing of; use both"
            )
        ours = EpisodeMoments.of(units_by_episode(evidence.demonstrations))
        met = [rival for side in evidence.plays for rival in rivals(side)]
        if not met:
            raise DemonstrationError(
                "no episode of play came to its end, so that averages cannot be compared; give more --frames, or --play RUN"
            )
        spreads = [rival.scatter / max(1, rival.count - 1) for rival in met]
        return AverageLikelihood(
            ours.mean,
            (ours.scatter + np.mean(spreads, axis=0)) / ours.count**2,
            np.stack([rival.mean for rival in met]),
            np.stack([spread / rival.count for spread, rival in zip(spreads, met, strict=True)]),
        )

    def __call__(self, assignments: Floats) -> Floats:
        """[K]."""
        units = np.pad(assignments, ((0, 0), (0, 1)), constant_values=1.0)
        pairs = (units[:, :, None] * units[:, None, :]).reshape(len(units), -1)  # [K, (H + 1)^2]
        error = np.sqrt(pairs @ self.error.ravel())
        variance = pairs @ self.errors.reshape(len(self.errors), -1).T  # [K, R]
        lead = (units @ (self.demonstrated - self.played).T)[..., None] + error[:, None, None] * LUCK  # [K, R, Q]
        # A logistic function of a number that is known up to a normal error, on average over the error
        each = -softplus(-lead / np.sqrt(1 + np.pi / 8 * variance)[..., None])
        return _log_sum_exp(each.sum(axis=1) + LOG_CHANCE)


def _log_sum_exp(x: Floats) -> Floats:
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))
