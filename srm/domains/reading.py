"""What happened in rollouts, held against what their vocabulary declares: proofs rely on it, so what contradicts it is refused at its
first step.

    ranges       a signal never leaves low..high
    exclusive    at most one act happens at a step, and at most one event of each exclusive group
    balances     least <= count(plus) - count(minus) <= most, at every moment of an episode

A domain that ships tests its own balances against its package, so they are followed only in the words of others.

    T steps        B envs        N occurrences
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from srm.domains.base import EventReader, RememberingReader
from srm.domains.registry import domain_of
from srm.errors import TrajectoryError
from srm.machine.vocabulary import Balance, Signal, Vocabulary
from srm.trajectory import Events, Rollout

_SLACK = 1e-6  # rounding of float32 at a declared bound; within it a signal reads the bound itself


class EventStream:
    """Successive rollouts of the same envs, the first of which begins with an episode in each: what words remember, and where balances
    stand, is carried on."""

    def __init__(self, event_reader: EventReader, column: str = "env") -> None:
        self.event_reader, self._column = event_reader, column  # what a column of the rollouts is, for messages
        self._own = domain_of(event_reader.vocabulary) is None
        # Asked once: of a protocol this takes 10 microseconds, as long as a wrapper's whole step may.
        self._remembering = event_reader if isinstance(event_reader, RememberingReader) else None
        bounds = [_bounds(signal) for signal in event_reader.vocabulary.signals]
        self._low, self._high = (np.array([bound[side] for bound in bounds]) for side in (0, 1))  # [signals]
        self._bounded = bool(np.isfinite([*self._low, *self._high]).any())
        self._bounds = list(zip(self._low.tolist(), self._high.tolist(), strict=True))
        self._memory: np.ndarray | None = None  # of words that remember
        self._levels: np.ndarray | None = None  # [B, balances], where each stands

    def read(self, rollout: Rollout) -> Events:
        events, vocabulary = self._read(rollout), self.event_reader.vocabulary
        if not isinstance(events, Events):
            returned = f"{type(self.event_reader).__name__}.read returned {type(events).__name__}"
            raise TrajectoryError(f"{returned}; it must return srm.trajectory.Events, as docs/own_task.md shows")
        _refuse_together(vocabulary, events, self._column)
        if self._own and vocabulary.balances:
            self._follow_balances(rollout, events)
        if not self._bounded or self._within(events.signals):
            return events
        return _in_range(vocabulary, events, rollout, self._column)

    def _within(self, signals: np.ndarray) -> bool:
        if signals.size == len(self._bounds):  # a step of one env: a quarter of the time that arrays take
            numbers = zip(signals.ravel().tolist(), self._bounds, strict=True)
            return all(low <= number <= high for number, (low, high) in numbers)
        within = (signals >= self._low) & (signals <= self._high)
        return np.count_nonzero(within) == signals.size  # a fifth of the time of `all`

    def begin(self, env: int | np.ndarray | slice) -> None:
        """An env, or several, were reset before their episode was over."""
        for carried in (self._memory, self._levels):
            if carried is not None:
                carried[env] = np.nan if carried is self._memory else 0

    def _read(self, rollout: Rollout) -> Events:
        if self._remembering is None:
            return self.event_reader.read(rollout)
        if self._memory is None:
            self._memory = self._remembering.begin(rollout.envs)
        events, self._memory = self._remembering.read_on(rollout, self._memory)
        return events

    def _follow_balances(self, rollout: Rollout, events: Events) -> None:
        vocabulary = self.event_reader.vocabulary
        if self._levels is None:
            self._levels = np.zeros((rollout.envs, len(vocabulary.balances)), np.int64)
        if len(events) == 0 and not np.count_nonzero(self._levels):
            return  # nothing moves: most steps of a wrapper
        fresh = rollout.fresh()
        for column, balance in enumerate(vocabulary.balances):
            changes = [(name in balance.plus) - (name in balance.minus) for name in vocabulary.event_index]
            change = np.zeros((rollout.steps, rollout.envs), np.int64)
            np.add.at(change, (events.step, events.env), np.array(changes)[events.event])
            level = running_sum(change, fresh[:-1], self._levels[:, column])
            broken = (level < balance.least) | ((level > balance.most) if balance.most is not None else False)
            if broken.any():
                raise TrajectoryError(f"{_place(broken, self._column)}: {_broken(balance)}")
            self._levels[:, column] = np.where(fresh[-1], 0, level[-1])


def read_events(event_reader: EventReader, rollout: Rollout, column: str = "env") -> Events:
    """What happened in a rollout that begins with an episode in each column."""
    return EventStream(event_reader, column).read(rollout)


def running_sum(change: np.ndarray, fresh: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The sum [T, B] of changes since the episode began; `first` [B] is that before the first step, `fresh` where one begins."""
    total = np.cumsum(change, axis=0)
    begun = np.maximum.accumulate(
        np.where(fresh, np.arange(len(change))[:, None], -1), axis=0
    )  # -1: not in this rollout
    before = np.take_along_axis(total - change, np.maximum(begun, 0), axis=0)
    level: np.ndarray = np.where(begun < 0, total + first, total - before)
    return level


def _place(where: np.ndarray, column: str) -> str:
    step, env = np.argwhere(where)[0]
    return f"step {step} of {column} {env}"


def _refuse_together(vocabulary: Vocabulary, events: Events, column: str) -> None:
    """Two events of one step that exclude each other."""
    if len(events) < 2:
        return
    names = list(vocabulary.event_index)
    for group in vocabulary.groups:
        happened = np.flatnonzero(np.isin(events.event, [vocabulary.event_index[name] for name in group]))
        step, env = events.step[happened], events.env[happened]
        together = np.flatnonzero((np.diff(step) == 0) & (np.diff(env) == 0))
        if len(together):
            at = together[0]
            first, second = (names[events.event[row]] for row in happened[at : at + 2])
            raise TrajectoryError(
                f"step {step[at]} of {column} {env[at]}: {first} and {second} happen together, {_remedy(vocabulary, first, second)}"
            )


def _remedy(vocabulary: Vocabulary, first: str, second: str) -> str:
    if {first, second} <= set(vocabulary.acts):
        return (
            "but at most one act happens at a step; "
            f"in the vocabulary {vocabulary.name} declare one of them with `act=False`, if both can be true"
        )
    return "which words.exclusive forbids; leave one of them out of it"


def _in_range(vocabulary: Vocabulary, events: Events, rollout: Rollout, column: str) -> Events:
    """The events with signals that rounding has put beyond the end of their range put back on it."""
    for index, signal in enumerate(vocabulary.signals):
        if signal.low is None and signal.high is None:
            continue
        low, high = _bounds(signal)
        read = events.signals[..., index]
        slack = _SLACK * max(1.0, *(abs(bound) for bound in (low, high) if np.isfinite(bound)), 0.0)
        beyond = ((read < low) | (read > high)) & rollout.valid
        if not beyond.any():
            continue
        outside = beyond & ~((read >= low - slack) & (read <= high + slack))
        if outside.any():
            raise TrajectoryError(
                f"{_place(outside, column)}: signal {signal.name} reads {read[outside][0]:g}, "
                f"outside its range {low:g}..{high:g}; proofs rely on it, so declare a wider one"
            )
        signals = events.signals.copy()
        signals[..., index] = np.where(beyond, np.clip(read, low, high), read)
        events = replace(events, signals=signals)
    return events


def _bounds(signal: Signal) -> tuple[float, float]:
    return -np.inf if signal.low is None else signal.low, np.inf if signal.high is None else signal.high


def _broken(balance: Balance) -> str:
    plus, minus = " + ".join(balance.plus), " + ".join(balance.minus)
    if not minus and balance.most == 1:
        return f"{plus} happens a second time in an episode, but is declared to happen once"
    if (balance.least, balance.most) == (0, 1):
        return f"{plus} and {minus} do not take turns, as is declared"
    bounds = f"{balance.least} or more" if balance.most is None else f"{balance.least}..{balance.most}"
    return f"the balance of {plus} less {minus or 'nothing'} leaves {bounds}, where it is declared to stay"
