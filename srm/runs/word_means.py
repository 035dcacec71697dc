"""How a policy does a task, word by word, beside those who demonstrated it: how often each event happens in an episode, and what each signal reads.

Two who solve a task may differ in all of it: one hurries and burns fuel, the other takes its time. What is compared is their solved
episodes, since how somebody fails says nothing of a style.

    word_means(trained, task, demonstrations) -> WordMeans
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from srm.domains.base import EventReader, Task
from srm.domains.demonstrations import refuse_misfit
from srm.infer.posterior.evidence import episode_numbers
from srm.rl.evaluation import IntervalEstimate, mean_estimate, play_whole
from srm.rl.threads import one_thread
from srm.runs.evaluation import EVAL_SEEDS, success_reader
from srm.runs.policy import Trained
from srm.trajectory import Demonstrations, Mask, Rollout

ENVS = 32  # each plays several episodes


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
        width = max(len(f"{mean.word}, {mean.of}") for mean in self.words)
        yield f"{self.demonstrations} demonstrations beside {self.solved} solved episodes of {self.episodes}; mean [95 % interval]"
        yield f"  {'':<{width}}  {'demonstrated':<26}  {'policy':<26}  ratio"
        for mean in self.words:
            played = "-" if mean.played is None else f"{mean.played:.4g}"
            ratio = "" if mean.ratio is None else f"{mean.ratio:.2f}"
            yield f"  {f'{mean.word}, {mean.of}':<{width}}  {f'{mean.demonstrated:.4g}':<26}  {played:<26}  {ratio}".rstrip()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def word_means(trained: Trained, task: Task, demonstrations: Demonstrations, seed: int = 0) -> WordMeans:
    """`task` names the environment that the policy plays in, its actions drawn."""
    envs = task.make_envs(ENVS, EVAL_SEEDS + seed)
    try:
        refuse_misfit(demonstrations, envs)
        with one_thread():
            played, _ = play_whole(trained.player(task, envs, EVAL_SEEDS + seed))
    finally:
        envs.close()
    reader = task.event_reader()
    shown = by_episode(reader, demonstrations.as_rollout())
    over = played.terminated | played.truncated
    solved = success_reader(trained, task).read(played)
    done = by_episode(reader, played, over if solved is None else solved)
    words = tuple(
        WordMean(word, of, mean_estimate(values), mean_estimate(done[word, of]) if len(done[word, of]) else None)
        for (word, of), values in shown.items()
    )
    counted = len(next(iter(done.values())))
    return WordMeans(words, len(demonstrations.trajectories), int(over.sum()), counted)


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
        sums = summed(events.signals[..., vocabulary.signal_index[signal.name]])
        read |= {(signal.name, "sum"): sums, (signal.name, "mean"): sums / np.maximum(steps, 1)}
    return read
