"""How a policy does a task, word by word, beside those who demonstrated it: how often each event happens in an episode, and what each signal reads.

Two who solve a task may differ in all of it: one hurries and burns fuel, the other takes its time. What is compared is their solved
episodes, since how somebody fails says nothing of a style.

    word_means(player, success, reader, demonstrations) -> WordMeans
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srm.domains.base import EventReader
from srm.domains.demonstrations import refuse_misfit
from srm.evaluate.success import SuccessReader
from srm.infer.posterior.evidence import episode_numbers
from srm.rl.evaluation import EnvPlayer, IntervalEstimate, mean_estimate, play_whole
from srm.rl.threads import one_thread
from srm.trajectory import Demonstrations, Mask, Rollout


@dataclass(frozen=True)
class WordMean:
    """A word in the mean over episodes: times for an event; for a signal its sum, or its mean over the steps."""

    word: str
    of: str  # "times", "sum" or "mean"
    demonstrated: IntervalEstimate
    played: IntervalEstimate | None  # None: no episode to read it from

    @property
    def ratio(self) -> float | None:
        """Of the policy to the demonstrations; None where that says nothing."""
        if self.played is None or self.demonstrated.mean == 0:
            return None
        return self.played.mean / self.demonstrated.mean


@dataclass(frozen=True)
class WordMeans:
    """Every word of a task's vocabulary, of demonstrations and of a policy."""

    words: tuple[WordMean, ...]
    demonstrations: int
    episodes: int  # that the policy played
    solved: int  # of these; only they are compared

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.demonstrations} demonstrations beside {self.solved} solved episodes of {self.episodes}; mean [95 % interval]"
        rows = [("", "demonstrated", "policy", "ratio"), *map(_row, self.words)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(mean: WordMean) -> tuple[str, str, str, str]:
    played = "-" if mean.played is None else f"{mean.played:.3g}"
    return (
        f"{mean.word}, {mean.of}",
        f"{mean.demonstrated:.3g}",
        played,
        "" if mean.ratio is None else f"{mean.ratio:.2f}",
    )


def word_means(
    player: EnvPlayer, success: SuccessReader, reader: EventReader, demonstrations: Demonstrations
) -> WordMeans:
    """Of a player whose envs were just reset."""
    refuse_misfit(demonstrations, player.envs)
    with one_thread():
        played, _ = play_whole(player)
    demonstrated = by_episode(reader, demonstrations.as_rollout())
    over = played.terminated | played.truncated
    solved = success.read(played)
    done = by_episode(reader, played, over if solved is None else solved)
    words = tuple(
        WordMean(word, of, mean_estimate(values), mean_estimate(done[word, of]) if len(done[word, of]) else None)
        for (word, of), values in demonstrated.items()
    )
    return WordMeans(words, len(demonstrations), int(over.sum()), len(done["steps", "times"]))


def by_episode(reader: EventReader, rollout: Rollout, counted: Mask | None = None) -> dict[tuple[str, str], np.ndarray]:
    """Each word of each whole episode, [E]; of those only whose last step is `counted` [T, B], if that is given."""
    events, vocabulary = reader.read(rollout), reader.vocabulary
    episode, whole = episode_numbers(rollout)
    kept = whole.copy()
    if counted is not None:
        kept &= np.isin(np.arange(len(whole)), episode[counted])

    def summed(of_step: np.ndarray) -> np.ndarray:
        """[E] of [T, B]."""
        return np.bincount(episode[rollout.valid], of_step[rollout.valid], len(whole))[kept]

    steps = summed(np.ones(rollout.valid.shape))
    read = {("steps", "times"): steps}
    for event in vocabulary.events:
        happened = np.zeros(rollout.valid.shape)
        at = events.event == vocabulary.event_index[event.name]
        np.add.at(happened, (events.step[at], events.env[at]), 1)
        read[event.name, "times"] = summed(happened)
    for signal in vocabulary.signals:
        read[signal.name, "sum"] = summed(events.signals[..., vocabulary.signal_index[signal.name]])
        if signal.change_of is None:
            read[signal.name, "mean"] = read[signal.name, "sum"] / np.maximum(steps, 1)
    return read
