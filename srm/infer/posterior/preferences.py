"""Answers to "which of these two episodes is better?" as evidence about the holes, and which two to ask about next.

    K assignments   P pairs   B episodes   S draws   d = pay of the left episode - pay of the right one

The model is Bradley and Terry's with Davidson's ties, on what whole episodes are paid:

    P(left) = e^(d/2) / (e^(d/2) + 1 + e^(-d/2))    P(equal) = 1 / (...)    P(right) = e^(-d/2) / (...)

Without ties it is the logistic function of d, as in the likelihood of totals. `cannot say` is no evidence.

The next pair is the one whose answer is expected to tell most: the entropy of what the posterior as a whole predicts, less what
remains unsure even if the holes were known. It is largest where the draws are split on which episode is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.domains.preferences import ActionsFromSeed, Preferences
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import EvidenceSide
from srm.infer.posterior.prior import Floats
from srm.trajectory import Trajectory, as_rollout

LEFT, EQUAL, RIGHT = 1, 0, -1
SIDES = {"left": LEFT, "equal": EQUAL, "right": RIGHT}
MOST_PAIRS = 4000  # that are weighed for the next question


def log_answer(d: Floats) -> Floats:
    """The log-probability of left, equal and right, [3, ...], from differences of pay [...]."""
    options = np.stack([d / 2, np.zeros_like(d), -d / 2])
    top = np.abs(d) / 2
    return options - top - np.log(np.exp(options - top).sum(axis=0))


@dataclass(frozen=True, eq=False)
class ComparedEpisodes:
    """Pairs of episodes, holes still open, and the answers."""

    side: EvidenceSide  # each episode once
    left: npt.NDArray[np.intp]  # [P]
    right: npt.NDArray[np.intp]  # [P]
    answer: npt.NDArray[np.intp]  # [P] LEFT, EQUAL or RIGHT

    @staticmethod
    def of(
        program: Program,
        event_reader: EventReader,
        preferences: Preferences,
        trajectories: dict[ActionsFromSeed, Trajectory],
    ) -> ComparedEpisodes | None:
        """None where no answer is evidence."""
        pairs = [pair for pair in preferences.comparisons if pair.is_evidence]
        if not pairs:
            return None
        place = {episode: index for index, episode in enumerate(trajectories)}
        return ComparedEpisodes(
            EvidenceSide.of(program, event_reader, as_rollout(list(trajectories.values()))),
            np.array([place[pair.left] for pair in pairs]),
            np.array([place[pair.right] for pair in pairs]),
            np.array([SIDES[pair.answer] for pair in pairs]),
        )


@dataclass(frozen=True, eq=False)
class PreferenceLikelihood:
    """The log-likelihood of the answers; the pay of the compared episodes is the last of the evidence."""

    totals: Floats  # [N, B] turns pay of entries into that of episodes
    compared: ComparedEpisodes

    @staticmethod
    def of(compared: ComparedEpisodes) -> PreferenceLikelihood:
        return PreferenceLikelihood(compared.side.totals(), compared)

    def terms(self, pays: list[Floats]) -> Floats:
        """Of each answer, [K, P]."""
        paid = pays[-1] @ self.totals  # [K, B]
        d = paid[:, self.compared.left] - paid[:, self.compared.right]
        chosen: Floats = np.take_along_axis(log_answer(d), (1 - self.compared.answer)[None, None, :], axis=0)[0]
        return chosen

    def __call__(self, pays: list[Floats], c: Floats) -> Floats:
        return self.terms(pays).sum(axis=1)


# Which pair to ask about


def expected_news(paid: Floats, left: npt.NDArray[np.intp], right: npt.NDArray[np.intp], weight: Floats) -> Floats:
    """How much the answer about each pair is expected to tell, in nats [P]; `paid` [S, B] under draws of which each has a weight [S]."""
    log_p = log_answer(paid[:, left] - paid[:, right])  # [3, S, P]
    p = np.exp(log_p)
    share = weight / weight.sum()
    predicted = np.einsum("s,asp->ap", share, p)  # [3, P]
    unsure = -(predicted * np.log(np.maximum(predicted, 1e-300))).sum(axis=0)
    noise = np.einsum("s,asp->p", share, -p * log_p)
    news: Floats = unsure - noise
    return news


def next_pair(
    paid: Floats, weight: Floats, seen: Sequence[tuple[int, int]], rng: np.random.Generator
) -> tuple[int, int] | None:
    """The pair of episodes to ask about, in an order drawn by lot; None where all pairs have been seen."""
    count = paid.shape[1]
    left, right = np.triu_indices(count, 1)
    known = {tuple(sorted(pair)) for pair in seen}
    fresh = np.array([pair not in known for pair in zip(left.tolist(), right.tolist(), strict=True)], np.bool_)
    left, right = left[fresh], right[fresh]
    if len(left) == 0:
        return None
    if len(left) > MOST_PAIRS:
        some = rng.choice(len(left), MOST_PAIRS, replace=False)
        left, right = left[some], right[some]
    news = expected_news(paid, left, right, weight)
    best = int(rng.choice(np.flatnonzero(news >= news.max() - 1e-9)))
    pair = (int(left[best]), int(right[best]))
    return pair if rng.integers(2) else pair[::-1]
