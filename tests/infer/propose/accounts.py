"""Accounts of demonstrations written by hand: `account("key door", "key:red door:red goal", ...)`, and random ones for properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from srm.infer.propose.reading import Account, Occurrence, PlayAccount, Story
from srm.machine.vocabulary import Attribute, Balance, Event, Signal, Vocabulary

ACTS = ("take", "drop", "unlock", "open", "close", "press", "goal")
WORDS = Vocabulary(
    "house",
    (*(Event(name, name) for name in ACTS), Event("see", "sees the goal", act=False)),
    balances=(
        Balance(("take",), ("drop",), most=1),
        Balance(("open", "unlock"), ("close",)),
        Balance(("unlock",)),
        Balance(("goal",), most=1),
    ),
)


COLOUR, SHAPE = Attribute("colour", "its colour", ("red", "blue")), Attribute("shape", "its shape", ("round", "square"))


def story(text: str, number: int = 0, *, solved: bool = True, signals: Sequence[float] = (), length: int = 0) -> Story:
    """An event at every second step; `a+b` happen at the same one, and `a:red:round` has a colour and a shape."""
    steps = text.split()
    occurrences = [_occurrence(2 * n + 1, name) for n, names in enumerate(steps) for name in names.split("+")]
    length = max(length, 2 * len(steps), 1)
    values = np.array([[value] for value in signals]) if len(signals) else np.zeros((length, 0))
    return Story(number, len(values), solved, tuple(occurrences), values)


def _occurrence(step: int, text: str) -> Occurrence:
    name, *values = text.split(":")
    return Occurrence(step, name, tuple(zip((COLOUR.name, SHAPE.name), values, strict=False)))


def account(
    *texts: str,
    failed: Sequence[str] = (),
    random: Sequence[str] = (),
    runs: Sequence[str] = (),
    random_length: int = 0,
    words: Vocabulary = WORDS,
) -> Account:
    """`random_length`: of each episode of random play at least so many steps."""
    stories = [story(text, n) for n, text in enumerate(texts)]
    stories += [story(text, len(texts) + n, solved=False) for n, text in enumerate(failed)]
    return account_of(stories, random=random, runs=runs, random_length=random_length, words=words)


def account_of(
    stories: Sequence[Story],
    *,
    random: Sequence[str] = (),
    runs: Sequence[str] = (),
    random_length: int = 0,
    words: Vocabulary = WORDS,
) -> Account:
    played = tuple(story(text, n, solved=False, length=random_length) for n, text in enumerate(random))
    own = tuple(story(text, n, solved=False) for n, text in enumerate(runs))
    return Account(
        words,
        tuple(stories),
        shares(stories, words),
        PlayAccount(played, shares(played, words)) if random else None,
        (PlayAccount(own, shares(own, words)),) if runs else (),
    )


def shares(stories: Sequence[Story], words: Vocabulary) -> dict[str, float]:
    """Of the stories that solve the task; of all where none does, as in play."""
    counted = [each for each in stories if each.solved] or stories
    tally = Counter(name for each in counted for name in each.names)
    total = max(1, sum(each.length for each in counted))
    return {event.name: tally[event.name] / total for event in words.events}


SIGNAL = Signal("height", "how high")


@st.composite
def vocabularies(draw: st.DrawFn, attributes: Sequence[tuple[str, ...]]) -> Vocabulary:
    """Any events, some of which hold for a while, each with some of the attributes, and any balances between them."""
    names = [f"e{n}" for n in range(draw(st.integers(3, 6)))]
    events = tuple(Event(n, n, draw(st.sampled_from(attributes)), act=draw(st.booleans())) for n in names)
    some = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True).map(tuple)
    balances = []
    for _ in range(draw(st.integers(0, 3))):
        plus = draw(some)
        minus = tuple(name for name in draw(st.one_of(st.just(()), some)) if name not in plus)
        balances.append(Balance(plus, minus, most=draw(st.sampled_from([None, 1, 2]))))
    return Vocabulary("drawn", events, (COLOUR,), balances=tuple(balances))


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    """Demonstrations of one or two orders of events, each with others in between and some left out. All of what a demonstration does may
    have one colour, and all that play does any."""
    matching = draw(st.booleans())
    words = draw(vocabularies([(COLOUR.name,)] if matching else [(), (COLOUR.name,)]))
    name = st.sampled_from([event.name for event in words.events])
    texts = st.lists(name, max_size=8)
    order = st.lists(name, min_size=3 if matching else 1, max_size=6, unique=draw(st.booleans()))
    orders = draw(st.lists(order, min_size=1, max_size=2))
    coloured = {event.name for event in words.events if event.attributes}

    def painted(names: list[str], colours: Sequence[str] = ("red", "blue")) -> str:
        return " ".join(f"{n}:{draw(st.sampled_from(colours))}" if n in coloured else n for n in names)

    def variant(number: int) -> str:
        events = list(draw(st.sampled_from(orders)))
        for _ in range(draw(st.integers(0, 3)) if not matching or draw(st.booleans()) else 0):
            place = draw(st.integers(0, len(events)))
            events[place : place + draw(st.integers(0, 1))] = draw(st.lists(name, max_size=1))
        return painted(events, [["red"], ["blue"]][number % 2]) if matching else painted(events)

    def played(least: int, most: int) -> list[str]:
        return [painted(names) for names in draw(st.lists(texts, min_size=least, max_size=most))]

    mixed = [" ".join(f"{event}:red {event}:blue" for event in sorted(coloured))] * 5 if matching and coloured else []
    return account(
        *(variant(number) for number in range(draw(st.integers(4 if matching else 1, 6)))),
        failed=played(0, 2),
        random=[*played(*draw(st.sampled_from([(0, 0), (1, 3)]))), *mixed],
        runs=played(*draw(st.sampled_from([(0, 0), (10, 12)]))),
        random_length=300 if matching else 0,
        words=words,
    )
