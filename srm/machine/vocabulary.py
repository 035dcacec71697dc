"""The words a machine may use, as data: events, their attributes, signals, and what is known of how events can follow
one another.

A domain lists its words once (MiniGrid's are in `srm.domains.minigrid.vocabulary`); machines are checked against them before
anything runs. Nothing here reads an environment: that is the event reader's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from srm.errors import MachineError
from srm.installed import additions

NOTHING = -1  # an attribute that an occurrence does not have: the colour of a box that held no key
_STRIDE = 1 << 15
LARGEST_COORDINATE = _STRIDE - 1


def pack_cell(x: int, y: int) -> int:
    """A cell of a grid as one number, so that every attribute is one integer."""
    return x * _STRIDE + y


def unpack_cell(cell: int) -> tuple[int, int]:
    return divmod(cell, _STRIDE)


@dataclass(frozen=True)
class Event:
    """A named fact about one step. At most one *act* happens at a step, since one action is taken."""

    name: str
    meaning: str
    attributes: tuple[str, ...] = ()
    act: bool = True


@dataclass(frozen=True)
class Attribute:
    """What an occurrence of an event carries: one of `values`, or (None) a cell of a grid."""

    name: str
    meaning: str
    values: tuple[str, ...] | None

    @property
    def is_cell(self) -> bool:
        return self.values is None


@dataclass(frozen=True)
class Signal:
    """A real number known at every step, such as a position or a speed. It never leaves `low`..`high`; None: no bound is known.

    `change_of` names a signal of which this is the change in a step: however long an episode lasts, changes add up to no more than the range of
    that signal is wide.
    """

    name: str
    meaning: str
    low: float | None = None
    high: float | None = None
    change_of: str | None = None

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not all(map(isfinite, bounds)) or bounds != sorted(bounds):
            raise MachineError(
                f"signal {self.name}: low={self.low}, high={self.high}; give two numbers, the lower first"
            )


@dataclass(frozen=True)
class Balance:
    """`least <= count(plus) - count(minus) <= most` at every moment of an episode.

    `most=None` says that the bound is finite but depends on the environment (how many doors there are). Either way a sequence
    of events that is repeated for ever must leave the balance where it was: a key is dropped before it is picked up again,
    and a door that cannot be locked is unlocked only once.
    """

    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Vocabulary:
    """All words of one domain, and the facts about them that proofs may use."""

    name: str
    events: tuple[Event, ...]
    attributes: tuple[Attribute, ...] = ()
    signals: tuple[Signal, ...] = ()
    balances: tuple[Balance, ...] = ()
    exclusive: tuple[
        tuple[str, ...], ...
    ] = ()  # groups of events of which at most one happens at a step, beside the acts

    def __post_init__(self) -> None:
        for kind, words in (("event", self.events), ("attribute", self.attributes), ("signal", self.signals)):
            names = [word.name for word in words]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise MachineError(f"words {self.name}: {kind} {min(twice)} is listed twice")
        for signal in self.signals:
            if signal.change_of is not None and signal.change_of not in self.signal_index:
                raise MachineError(
                    f"words {self.name}: {signal.name} is the change of {signal.change_of}, which is not a signal"
                )
        for event in self.events:
            for attribute in event.attributes:
                if attribute not in self.attribute_index:
                    raise MachineError(
                        f"words {self.name}: event {event.name} has an attribute {attribute} that is not listed"
                    )
        for balance in self.balances:
            for name in (*balance.plus, *balance.minus):
                if name not in self.event_index:
                    raise MachineError(f"words {self.name}: a balance speaks of {name}, which is not an event")
        for name in (name for group in self.exclusive for name in group):
            if name not in self.event_index:
                raise MachineError(f"words {self.name}: {name} is said to exclude others, but is not an event")

    @cached_property
    def event_index(self) -> dict[str, int]:
        return {event.name: index for index, event in enumerate(self.events)}

    @cached_property
    def attribute_index(self) -> dict[str, int]:
        return {attribute.name: index for index, attribute in enumerate(self.attributes)}

    @cached_property
    def signal_index(self) -> dict[str, int]:
        return {signal.name: index for index, signal in enumerate(self.signals)}

    @property
    def acts(self) -> tuple[str, ...]:
        return tuple(event.name for event in self.events if event.act)

    def width(self, name: str) -> float | None:
        """How far the changes of a signal can add up to, if it has a range."""
        signal = self.signals[self.signal_index[name]]
        return None if signal.low is None or signal.high is None else signal.high - signal.low

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """Events of which at most one happens at a step: the acts, and those that are declared exclusive."""
        return tuple(frozenset(group) for group in (self.acts, *self.exclusive) if len(set(group)) > 1)


@dataclass(frozen=True)
class InfoWord:
    """A signal that is the number `key` of Gymnasium's `info`. `missing` stands for it at steps that have none; None: every step has it."""

    signal: Signal
    key: str
    missing: float | None = None


INFO = "info"  # what the vocabulary of such words is called


@dataclass(frozen=True)
class InfoWords:
    """The words that a machine brings along: numbers of `info` in one environment. They are data, so a file alone can name them."""

    env_id: str
    words: tuple[InfoWord, ...]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(INFO, (), signals=tuple(word.signal for word in self.words))


# Those that ship, by name: a domain enters its own where it is defined. A machine is checked by the one it names.
VOCABULARIES: dict[str, Vocabulary] = {}


def find_vocabulary(name: str | None) -> Vocabulary | None:
    """One that ships, or that an installed package adds."""
    if name is None or name in VOCABULARIES:
        return VOCABULARIES.get(name or "")
    addition = additions().get(name)
    if addition is None:
        return None
    loaded = addition.load()
    vocabulary = getattr(loaded, "vocabulary", loaded)  # a task has one, and words written as functions make one
    if not isinstance(vocabulary, Vocabulary) or vocabulary.name != name:
        what = f"the words {vocabulary.name}" if isinstance(vocabulary, Vocabulary) else type(loaded).__name__
        raise MachineError(
            f"{addition.entry.value} of the package {addition.package} adds {what} under the name {name}; "
            "it must be a Vocabulary of that name, or a task in its words"
        )
    return vocabulary
