"""What the likelihoods read: demonstrations and play as the machine sees them, holes still open.

    M demonstrations   R policies that played   K assignments   N entries (steps that may pay)   G groups of silent steps

Each policy's play is a rollout whose columns begin with an episode, with the log-probability of what the policy did, and of what
was demonstrated. Pay is symbolic, so old play is paid anew under any assignment. Every policy counts as much as any other and all of
them together as much as the demonstrations: the evidence is M demonstrations, however many frames were played.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.errors import DemonstrationError, TrajectoryError
from srm.evaluate import batched, symbolic
from srm.evaluate.payer import read_rollout
from srm.evaluate.program import Program
from srm.evaluate.success import accepting_rules
from srm.infer.posterior.prior import Floats
from srm.trajectory import Rollout, first_columns

if TYPE_CHECKING:
    from srm.infer.posterior.preferences import ComparedEpisodes

FLOOR = -2.0  # of log pi: where a policy has given an action up, it alone would explain every demonstration of it
MOST_ENTRIES = 1000  # of one policy's play
MOST_GROUPS = 24  # of silent steps with nearly the same log-probability


@dataclass(frozen=True, eq=False)
class Play:
    """What one policy did: a rollout whose columns begin with an episode."""

    rollout: Rollout
    log_prob: np.ndarray  # [T, B] of the policy that played it
    demonstrated_log_prob: np.ndarray  # [T of the demonstrations, M] of the same policy

    def __post_init__(self) -> None:
        if self.log_prob.shape != self.rollout.valid.shape:
            raise TrajectoryError(
                f"log_prob: shape {list(self.log_prob.shape)}, expected one number for each step of the rollout, "
                f"{list(self.rollout.valid.shape)}"
            )


def episode_numbers(rollout: Rollout) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """[T, B] the number of the episode that each step belongs to, and [episodes] whether it was played to its end."""
    over = rollout.terminated | rollout.truncated
    # Episodes of a column are numbered as they end; the one under way at the end of a column is not whole.
    first = np.concatenate([[0], np.cumsum(over.sum(axis=0) + 1)])  # [B + 1]
    episode = first[:-1] + np.cumsum(over, axis=0) - over
    whole = np.ones(first[-1], np.bool_)
    whole[first[1:] - 1] = False
    return episode, whole


@dataclass(frozen=True, eq=False)
class EvidenceSide:
    """Demonstrations, or one policy's play: pay is open until an assignment is given."""

    residual: symbolic.Residual
    valid: npt.NDArray[np.bool_]  # [T, B]
    episode: npt.NDArray[np.intp]  # [T, B] the number of the episode that each step belongs to
    whole: npt.NDArray[np.bool_]  # [episodes] whether it was played to its end

    @staticmethod
    def of(program: Program, event_reader: EventReader, rollout: Rollout, column: str = "env") -> EvidenceSide:
        residual, _ = read_rollout(program, event_reader, rollout, column)
        return EvidenceSide(residual, rollout.valid, *episode_numbers(rollout))

    @property
    def steps(self) -> int:
        return int(self.valid.sum())

    def pay(self, assignments: Floats) -> Floats:
        """[K, N]."""
        return batched.pay(self.residual, assignments).pay

    def at(self, log_prob: np.ndarray) -> Floats:
        """The log-probabilities of the entries' actions, [N], floored."""
        entries = self.residual.entries
        return np.maximum(log_prob[entries.step, entries.env], FLOOR).astype(np.float64)

    def silent(self, log_prob: np.ndarray) -> tuple[Floats, Floats]:
        """The steps that pay nothing whatever the holes are, as groups: mean log-probability [G], number of steps [G]."""
        quiet = self.valid.copy()
        quiet[self.residual.entries.step, self.residual.entries.env] = False
        values = np.sort(np.maximum(log_prob[quiet], FLOOR).astype(np.float64))
        if len(values) == 0:
            return np.zeros(0), np.zeros(0)
        if values[-1] - values[0] < 1e-6:
            return values[:1], np.array([float(len(values))])
        groups = [group for group in np.array_split(values, MOST_GROUPS) if len(group)]
        return np.array([group.mean() for group in groups]), np.array([float(len(group)) for group in groups])

    def totals(self, discount: float = 1.0) -> Floats:
        """[N, whole episodes]: turns pay [K, N] into the (discounted) totals of the episodes that were played to their end."""
        entries = self.residual.entries
        episode = self.episode[entries.step, entries.env]
        kept = self.whole[episode]
        matrix = np.zeros((len(episode), int(self.whole.sum())))
        factor = discount ** (entries.step - self._begin()[episode])
        matrix[np.flatnonzero(kept), (np.cumsum(self.whole) - 1)[episode[kept]]] = factor[kept]
        return matrix

    def sum_by_episode(self, pay: Floats) -> Floats:
        """The totals [K, whole episodes] of pay [K, N]."""
        entries = self.residual.entries
        episode = self.episode[entries.step, entries.env]
        sums = [np.bincount(episode, row, minlength=len(self.whole))[self.whole] for row in pay]
        return np.stack(sums).astype(np.float64)

    def accepted(self) -> npt.NDArray[np.bool_]:
        """Which whole episodes bring the machine to an accepting node; no guard of it may compare a hole."""
        entries, program = self.residual.entries, self.residual.program
        rule = batched.pay(self.residual, np.zeros((1, program.tables.holes))).rule[0]
        accepts = np.append(accepting_rules(program.machine), False)[rule]  # the last is that of idle steps
        counted = np.bincount(self.episode[entries.step, entries.env][accepts], minlength=len(self.whole))
        return (counted > 0)[self.whole]

    def _begin(self) -> npt.NDArray[np.intp]:
        """The first valid step of each episode."""
        begin = np.zeros(len(self.whole), np.intp)
        step, env = np.nonzero(self.valid)
        begin[self.episode[step, env][::-1]] = step[::-1]  # the earliest is written last
        return begin

    def episode_log_prob(self, log_prob: np.ndarray) -> Floats:
        """The log-probability of all actions of each whole episode."""
        sums = np.bincount(self.episode[self.valid], log_prob[self.valid], minlength=len(self.whole)).astype(np.float64)
        return sums[self.whole]


def demonstrated_side(program: Program, event_reader: EventReader, demonstrated: Rollout) -> EvidenceSide:
    """Refuses demonstrations that the machine says nothing about."""
    side = EvidenceSide.of(program, event_reader, demonstrated, "demonstration")
    if len(side.residual.entries) == 0:
        raise DemonstrationError(
            f"the demonstrations show no event of machine {program.machine.name}; "
            "record some of its own task with `srm demo`"
        )
    return side


@dataclass(frozen=True, eq=False)
class Evidence:
    """Demonstrations and the play of R policies."""

    demonstrations: EvidenceSide
    demonstrated_log_probs: tuple[np.ndarray, ...]  # R of [T, M]
    plays: tuple[EvidenceSide, ...]  # R
    log_probs: tuple[np.ndarray, ...]  # R of [T, B]
    compared: ComparedEpisodes | None = None  # answers about pairs of episodes

    @staticmethod
    def of(
        program: Program,
        event_reader: EventReader,
        demonstrated: Rollout,
        plays: tuple[Play, ...],
        *,
        by_episode: bool = False,
    ) -> Evidence:
        """`by_episode`: only totals of episodes are asked for, so that all of the play can be read."""
        if not plays:
            raise DemonstrationError(
                "no play to compare the demonstrations with; give that of at least one policy, such as `random_play`"
            )
        for play in plays:
            if play.demonstrated_log_prob.shape != demonstrated.valid.shape:
                raise TrajectoryError(
                    f"demonstrated_log_prob: shape {list(play.demonstrated_log_prob.shape)}, expected one number for each "
                    f"step of the demonstrations, {list(demonstrated.valid.shape)}"
                )
        side = demonstrated_side(program, event_reader, demonstrated)
        most = None if by_episode else MOST_ENTRIES
        read = [_bounded(program, event_reader, play, most) for play in plays]
        return Evidence(
            side,
            tuple(play.demonstrated_log_prob for play in plays),
            tuple(played for played, _ in read),
            tuple(log_prob for _, log_prob in read),
        )

    @property
    def sides(self) -> tuple[EvidenceSide, ...]:
        """Demonstrations, play, and last the episodes that were compared, if any were."""
        compared = () if self.compared is None else (self.compared.side,)
        return (self.demonstrations, *self.plays, *compared)


def _bounded(
    program: Program, event_reader: EventReader, play: Play, most: int | None
) -> tuple[EvidenceSide, np.ndarray]:
    """The play as the machine sees it, and its log-probabilities. Where pay depends on nearly every step, as in control, some of its envs
    say as much as all of them: a likelihood costs by the entry, and the weight of play does not grow with it."""
    side = EvidenceSide.of(program, event_reader, play.rollout)
    entries = len(side.residual.entries)
    if most is None or entries <= most:
        return side, play.log_prob
    count = max(1, play.rollout.envs * most // entries)
    return EvidenceSide.of(program, event_reader, first_columns(play.rollout, count)), play.log_prob[:, :count]
