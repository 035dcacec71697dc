"""A vocabulary written as functions over arrays, a line each, and the event reader that follows from them.

    words = srm.Vocabulary("lander")

    @words.event
    def touch(before, action, after): return (after[..., 6] > 0) & (before[..., 6] == 0)

    @words.signal(low=0, high=2)
    def speed(after): return np.hypot(after[..., 2], after[..., 3])

A function takes any of `before`, `after` [T, B, ...], `action` [T, B], `terminated`, `truncated` [T, B] and `info` (a mapping to [T, B])
and returns [T, B]: yes or no for an event, numbers for a signal. What is declared (ranges, exclusivity, balances) proofs rely on, and
`srm.domains.reading` checks it wherever a rollout is read.

A word may remember: a running maximum, the steps since an event. What it remembers at the end of a rollout is a row of numbers for each
env, [B, memories], NaN where the next step begins an episode; who reads successive rollouts carries it, as the machine's node is carried.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from srm.domains.base import Expert, Task
from srm.domains.controls import Controls
from srm.errors import MachineError, TrajectoryError
from srm.machine import vocabulary as symbols
from srm.machine.validate import RESERVED
from srm.trajectory import Events, Mask, Rollout, Trajectory, as_rollout

ARGUMENTS = ("before", "action", "after", "terminated", "truncated", "info")

Function = Callable[..., Any]
Word = str | Function  # a word's name, or the function that was declared as it


@dataclass(frozen=True)
class InfoSource:
    """A number of `info`; `missing` stands for it where a step has none, None refuses that."""

    key: str
    missing: float | None


@dataclass(frozen=True)
class MemorySource:
    """A number that an episode remembers of another word."""

    kind: Literal["running_max", "steps_since", "change"]
    of: str


class WrittenVocabulary:
    """Words as they are declared, one after another. `vocabulary` and `reader` give what the rest of the package takes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._events: dict[str, tuple[symbols.Event, Function]] = {}
        self._signals: dict[str, tuple[symbols.Signal, Function | InfoSource | MemorySource]] = {}
        self._balances: list[symbols.Balance] = []
        self._exclusive: list[tuple[str, ...]] = []

    # Words

    def event(self, function: Function) -> Function:
        """Declares the function as an event of its name, a fact about a step beside any others. Its docstring is the meaning."""
        name = self._new_name(function.__name__)
        self._refuse_arguments(function)
        self._events[name] = symbols.Event(name, _meaning(function), act=False), function
        return function

    def signal(self, function: Function | None = None, *, low: float | None = None, high: float | None = None) -> Any:
        """Declares the function as a signal of its name, which never leaves `low`..`high`."""
        if function is None:
            return lambda declared: self.signal(declared, low=low, high=high)
        name = self._new_name(function.__name__)
        self._refuse_arguments(function)
        self._signals[name] = symbols.Signal(name, _meaning(function), low, high), function
        return function

    def from_info(
        self,
        key: str,
        *,
        name: str | None = None,
        low: float | None = None,
        high: float | None = None,
        missing: float | None = None,
    ) -> str:
        """A signal that is read from Gymnasium's `info`. Returns its name, which is the key unless given."""
        name = self._new_name(name or key)
        self._signals[name] = symbols.Signal(name, f"{key} of info", low, high), InfoSource(key, missing)
        return name

    def running_max(self, signal: Word, name: str | None = None) -> str:
        """A signal: the largest value of another one in this episode so far. Returns its name, `max_SIGNAL` unless given."""
        of = self._known(signal, self._signals, "signal")
        name = self._new_name(name or f"max_{of}")
        known = self._signals[of][0]
        largest = symbols.Signal(name, f"the largest {of} of the episode so far", known.low, known.high)
        self._signals[name] = largest, MemorySource("running_max", of)
        return name

    def steps_since(self, event: Word, name: str | None = None) -> str:
        """A signal: steps since an event last happened (0 when it happens), or since the episode began. `since_EVENT` unless given."""
        of = self._known(event, self._events, "event")
        name = self._new_name(name or f"since_{of}")
        self._signals[name] = symbols.Signal(name, f"steps since {of}", low=0), MemorySource("steps_since", of)
        return name

    def change(self, signal: Word, name: str | None = None) -> str:
        """A signal: by how much another one changed in the step, 0 in an episode's first. Changes add up to what the other one's range allows, so
        paying for them cannot be farmed. Returns its name, `change_SIGNAL` unless given."""
        of = self._known(signal, self._signals, "signal")
        name, known = self._new_name(name or f"change_{of}"), self._signals[of][0]
        width = None if known.low is None or known.high is None else known.high - known.low
        low = None if width is None else -width
        change = symbols.Signal(name, f"by how much {of} changed in this step", low, width, change_of=of)
        self._signals[name] = change, MemorySource("change", of)
        return name

    # Facts

    def once(self, event: Word) -> None:
        """The event happens at most once in an episode."""
        self._balances.append(symbols.Balance((self._known(event, self._events, "event"),), most=1))

    def alternate(self, first: Word, second: Word) -> None:
        """The two events take turns, and `first` comes first."""
        plus, minus = (self._known(word, self._events, "event") for word in (first, second))
        self._balances.append(symbols.Balance((plus,), (minus,), most=1))

    def exclusive(self, *events: Word) -> None:
        """At most one of these events happens at a step. Any others may happen together."""
        names = tuple(dict.fromkeys(self._known(word, self._events, "event") for word in events))
        if len(names) < 2:
            raise MachineError(f"words {self.name}: exclusive needs two events or more")
        self._exclusive.append(names)

    # What follows from them

    @property
    def vocabulary(self) -> symbols.Vocabulary:
        events = tuple(event for event, _ in self._events.values())
        signals = tuple(signal for signal, _ in self._signals.values())
        return symbols.Vocabulary(
            self.name, events, signals=signals, balances=tuple(self._balances), exclusive=tuple(self._exclusive)
        )

    def reader(self) -> WordReader:
        functions = tuple(function for _, function in self._events.values())
        return WordReader(self.vocabulary, functions, tuple(source for _, source in self._signals.values()))

    def task(
        self,
        env_id: str,
        *,
        name: str | None = None,
        meaning: str = "",
        expert: Expert | None = None,
        frames: int = 500_000,
        machines: tuple[str | Path, ...] = (),
        success: Word | Callable[[Trajectory], bool] | None = None,
        controls: Controls | None = None,
    ) -> Task:
        """A task in these words as they are now, of the vocabulary's name unless given. An episode is solved if `success` happens, an event, or
        if it says so, a function of a `Trajectory`."""
        reader = self.reader()
        return Task(
            name=name or self.name,
            meaning=meaning or f"{env_id} in the words {self.name}",
            env_id=env_id,
            vocabulary=reader.vocabulary,
            event_reader=lambda: reader,
            machines=tuple(map(str, machines)),
            expert=expert,
            frames=frames,
            success=self._success(success, reader),
            controls=controls,
        )

    def _success(self, success: Any, reader: WordReader) -> Callable[[Trajectory], bool] | None:
        declared = any(success is function for _, function in self._events.values())
        if not (declared or isinstance(success, str)):
            return success
        event = reader.vocabulary.event_index[self._known(success, self._events, "event")]
        return lambda trajectory: event in reader.read(as_rollout([trajectory])).event

    def _new_name(self, name: str) -> str:
        if not (name.isidentifier() and name.isascii()):
            raise MachineError(
                f"words {self.name}: {name!r} cannot stand in a machine; give name=, of letters, digits, _"
            )
        if name in RESERVED:
            raise MachineError(f"words {self.name}: {name} is a word of the language of machines; choose another name")
        if name in self._events or name in self._signals:
            raise MachineError(f"words {self.name}: {name} is declared twice; give one of them another name")
        return name

    def _known(self, word: Word, words: Mapping[str, Any], kind: str) -> str:
        name = word if isinstance(word, str) else word.__name__
        if name not in words:
            raise MachineError(
                f"words {self.name}: {name} is not a declared {kind}; declare it first, with @words.{kind}"
            )
        return name

    def _refuse_arguments(self, function: Function) -> None:
        for name in inspect.signature(function).parameters:
            if name not in ARGUMENTS:
                known = ", ".join(ARGUMENTS)
                raise MachineError(f"words {self.name}: {function.__name__} takes {name}; it may take any of {known}")


Vocabulary = WrittenVocabulary  # its name at the front door, `srm.Vocabulary`


def _meaning(function: Function) -> str:
    return inspect.getdoc(function) or function.__name__.replace("_", " ")


@dataclass(frozen=True, eq=False)
class WordReader:
    """Reads the words of a `WrittenVocabulary` in rollouts."""

    vocabulary: symbols.Vocabulary
    functions: tuple[Function, ...]  # [E]
    sources: tuple[Function | InfoSource | MemorySource, ...]  # of each signal

    def read(self, rollout: Rollout) -> Events:
        """As if every env began an episode."""
        return self.read_on(rollout, self.begin(rollout.envs))[0]

    def begin(self, envs: int) -> np.ndarray:
        """The memory of envs that were just reset: one column for each signal that remembers."""
        return np.full((envs, sum(isinstance(source, MemorySource) for source in self.sources)), np.nan)

    def read_on(self, rollout: Rollout, memory: np.ndarray) -> tuple[Events, np.ndarray]:
        """The next rollout of the same envs, and what they remember after it."""
        known: dict[str, Any] = {
            "before": rollout.observations[:-1],
            "action": rollout.actions,
            "after": rollout.after(),
            "terminated": rollout.terminated,
            "truncated": rollout.truncated,
            "info": rollout.info,
        }
        happened = self._happened(rollout, known)
        signals, memory = self._read_signals(rollout, known, happened, memory.copy())
        if memory.shape[1]:
            over = rollout.terminated[-1] | rollout.truncated[-1] | ~rollout.valid[-1]
            memory[over] = np.nan
        step, env, event, attributes = _occurrences(happened) if np.count_nonzero(happened) else NOTHING_HAPPENED
        try:
            return Events(rollout.steps, rollout.envs, step, env, event, attributes, signals), memory
        except TrajectoryError:
            self._refuse_not_finite(signals)
            raise

    def _happened(self, rollout: Rollout, known: Mapping[str, Any]) -> Mask:
        """[T, B, E]."""
        happened = np.zeros((rollout.steps, rollout.envs, len(self.functions)), np.bool_)
        for index, function in enumerate(self.functions):
            read = self._call(function, known, rollout)
            if read.dtype.kind != "b":
                raise TrajectoryError(f"event {function.__name__}: returned {read.dtype}, expected yes or no (bool)")
            happened[..., index] = read & rollout.valid
        return happened

    def _call(self, function: Function, known: Mapping[str, Any], rollout: Rollout) -> np.ndarray:
        try:
            read = np.asarray(function(**{name: known[name] for name in _arguments(function)}))
        except Exception as error:  # whatever a function of the user's does
            raise TrajectoryError(f"{function.__name__}: raises {type(error).__name__}: {error}; mend it") from error
        shape = rollout.valid.shape
        if read.shape != shape:
            raise TrajectoryError(
                f"{function.__name__}: returned shape {list(read.shape)}, expected [T, B] = {list(shape)}; "
                "take a number of an observation as after[..., i]"
            )
        return read

    def _read_signals(
        self, rollout: Rollout, known: Mapping[str, Any], happened: Mask, memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """[T, B, S], and the memory after the rollout."""
        signals = np.zeros((rollout.steps, rollout.envs, len(self.sources)))
        fresh, column = rollout.fresh()[:-1] if memory.shape[1] else None, 0
        for index, source in enumerate(self.sources):
            if isinstance(source, MemorySource):
                assert fresh is not None
                if source.kind == "steps_since":
                    events = happened[..., self.vocabulary.event_index[source.of]]
                    read, memory[:, column] = steps_since(events, fresh, memory[:, column])
                else:
                    follow = running_max if source.kind == "running_max" else changes
                    values = signals[..., self.vocabulary.signal_index[source.of]]
                    read, memory[:, column] = follow(values, fresh, memory[:, column])
                column += 1
            elif isinstance(source, InfoSource):
                read = self._of_info(source, rollout)
            else:
                read = self._call(source, known, rollout)
            signals[..., index] = read
        if np.count_nonzero(rollout.valid) < rollout.valid.size:
            signals[~rollout.valid] = 0.0
        return signals, memory

    def _refuse_not_finite(self, signals: np.ndarray) -> None:
        for step, env, index in np.argwhere(~np.isfinite(signals))[:1]:
            raise TrajectoryError(
                f"step {step} of env {env}: signal {self.vocabulary.signals[index].name} reads "
                f"{signals[step, env, index]}, expected a finite number; mend it, or what the environment observes"
            )

    def _of_info(self, source: InfoSource, rollout: Rollout) -> np.ndarray:
        numbers = rollout.info.get(source.key, np.full(rollout.valid.shape, np.nan))
        if source.missing is not None:
            return np.where(np.isnan(numbers), source.missing, numbers)
        absent = np.isnan(numbers) & rollout.valid
        if absent.any():
            step, env = np.argwhere(absent)[0]
            keys = ", ".join(sorted(rollout.info)) or "no numbers"
            raise TrajectoryError(
                f"step {step} of env {env}: info has no number {source.key}, which the words {self.vocabulary.name} read "
                f"(info has {keys}); if it is missing at some steps, say what stands for it: from_info(..., missing=0)"
            )
        return numbers


Occurrences = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # step, env, event [N], attributes [N, 0]
NOTHING_HAPPENED: Occurrences = (
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int16),
    np.zeros((0, 0), np.int32),
)


def _occurrences(happened: Mask) -> Occurrences:
    """Of [T, B, E], sorted by env, step, event."""
    env, step, event = np.nonzero(happened.transpose(1, 0, 2))
    return step.astype(np.int32), env.astype(np.int32), event.astype(np.int16), np.zeros((len(step), 0), np.int32)


@cache
def _arguments(function: Function) -> tuple[str, ...]:
    """What it takes. Asking for it costs as much as reading a word: 7 microseconds."""
    return tuple(inspect.signature(function).parameters)


def running_max(values: np.ndarray, fresh: Mask, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest of values [T, B] since the episode began, and the last row; `last` [B] is that before, NaN: none."""
    largest = np.empty(values.shape)
    for t, row in enumerate(values):
        last = np.fmax(np.where(fresh[t], np.nan, last), row)
        largest[t] = last
    return largest, last


def steps_since(happened: Mask, fresh: Mask, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps [T, B] since the event, or since the episode began; as `running_max`."""
    since = np.empty(happened.shape)
    for t, row in enumerate(happened):
        last = np.where(row, 0.0, np.where(fresh[t] | np.isnan(last), 0.0, last) + 1)
        since[t] = last
    return since, last


def changes(values: np.ndarray, fresh: Mask, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much values [T, B] differ from those of the step before, 0 where an episode begins; as `running_max`."""
    before = np.concatenate([last[None], values[:-1]])
    before[fresh] = np.nan
    return np.nan_to_num(values - before, nan=0.0), values[-1]
