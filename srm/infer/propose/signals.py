"""Signals as milestones: a height that every demonstration reaches and random play does not.

A threshold is a hole of a guard, between what random play hardly ever passes and what nearly all demonstrations do:

    height > ?height_from       ?height_from in 0.2 .. 0.7

Stories get an occurrence of their own where a signal first passes the middle of that range, so that orders are found as for events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from srm.infer.propose.reading import Account, Floats, Occurrence, PlayAccount, Story
from srm.infer.propose.structure import needed
from srm.machine.vocabulary import Event, Signal

RARE = 0.01  # share of random steps that may lie beyond a threshold
DIGITS = 3


@dataclass(frozen=True)
class Threshold:
    """`signal > t` (or `<`), with t between `low` and `high`."""

    signal: str
    above: bool
    low: float
    high: float

    @property
    def event(self) -> str:
        """The name by which stories and holes speak of it."""
        return f"{'high' if self.above else 'low'}_{self.signal}"

    @property
    def hole(self) -> str:
        return f"{self.signal}_{'from' if self.above else 'to'}"

    @property
    def guard(self) -> str:
        return f"{self.signal} {'>' if self.above else '<'} ?{self.hole}"

    def passes(self, values: Floats) -> np.ndarray:
        """[T] of a signal's values [T], at the middle of the range."""
        middle = (self.low + self.high) / 2
        return values > middle if self.above else values < middle


def find_thresholds(account: Account) -> tuple[tuple[Threshold, ...], tuple[str, ...]]:
    """Of each signal the side on which it separates demonstrations from random play, and what was considered."""
    signals = account.vocabulary.signals
    if account.random is None:
        return (), tuple(
            f"{signal.name}: left out, since there is no random play to compare with" for signal in signals
        )
    thresholds, remarks = [], []
    for column, signal in enumerate(signals):
        sides = [side for above in (True, False) for side in _side(account, column, signal, above)]
        if sides:
            thresholds.append(max(sides, key=lambda side: side.high - side.low))
        else:
            remarks.append(
                f"{signal.name}: left out, random play gets as far as the demonstrations, so no threshold separates them"
            )
    return tuple(thresholds), tuple(remarks)


def _side(account: Account, column: int, signal: Signal, above: bool) -> Iterator[Threshold]:
    assert account.random is not None
    sign = 1.0 if above else -1.0
    stories = [sign * story.signals[:, column] for story in account.solved]
    far = sorted((float(values.max()) for values in stories), reverse=True)[needed(len(stories)) - 1]
    near = float(np.quantile(sign * account.random.signals[:, column], 1 - RARE))
    starts = sum(values[0] > near for values in stories)
    if far <= near or starts > len(stories) - needed(len(stories)):
        return
    low, high = _outside(near), -_outside(-far)
    if low < high and not any(
        event.name == Threshold(signal.name, above, 0, 1).event for event in account.vocabulary.events
    ):
        yield Threshold(signal.name, above, *((low, high) if above else (-high, -low)))


def _outside(value: float) -> float:
    """Rounded up, to few digits."""
    if value == 0:
        return 0.0
    step = 10.0 ** (int(np.floor(np.log10(abs(value)))) + 1 - DIGITS)
    return float(f"{np.ceil(value / step) * step:.12g}")


def with_thresholds(account: Account, thresholds: tuple[Threshold, ...]) -> Account:
    """The same stories, with an occurrence where each threshold is first passed."""
    if not thresholds:
        return account
    columns = {signal.name: column for column, signal in enumerate(account.vocabulary.signals)}

    def read(story: Story) -> Story:
        fresh = []
        for threshold in thresholds:
            beyond = np.flatnonzero(threshold.passes(story.signals[:, columns[threshold.signal]]))
            fresh += [Occurrence(int(beyond[0]), threshold.event)] if len(beyond) else []
        ordered = sorted((*fresh, *story.occurrences), key=lambda occurrence: occurrence.step)
        return replace(story, occurrences=tuple(ordered))

    def shares(stories: tuple[Story, ...]) -> dict[str, float]:
        total = max(1, sum(story.length for story in stories))
        return {t.event: sum(t.event in story.names for story in stories) / total for t in thresholds}

    def played(play: PlayAccount) -> PlayAccount:
        stories = tuple(map(read, play.stories))
        return replace(play, stories=stories, shares=play.shares | shares(stories))

    events = (Event(t.event, f"{t.signal} passes a threshold", act=False) for t in thresholds)
    stories = tuple(map(read, account.stories))
    return replace(
        account,
        vocabulary=replace(account.vocabulary, events=(*account.vocabulary.events, *events)),
        stories=stories,
        shares=account.shares | shares(tuple(story for story in stories if story.solved)),
        random=None if account.random is None else played(account.random),
        runs=tuple(map(played, account.runs)),
    )
