"""Accounts of demonstrations written by hand: `account("key door", "key door goal", ...)`, and random ones for properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from srm.infer.propose.reading import Account, Occurrence, PlayAccount, Story
from srm.machine.vocabulary import Balance, Event, Signal, Vocabulary

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


def story(text: str, number: int = 0, *, solved: bool = True, signals: Sequence[float] = ()) -> Story:
    """An event at every second step; `a+b` happen at the same one."""
    steps = text.split()
    occurrences = [Occurrence(2 * n + 1, name) for n, names in enumerate(steps) for name in names.split("+")]
    length = 2 * len(steps) or 1
    values = np.array([[value] for value in signals]) if len(signals) else np.zeros((length, 0))
    return Story(number, len(values), solved, tuple(occurrences), values)


def account(
    *texts: str,
    failed: Sequence[str] = (),
    random: Sequence[str] = (),
    runs: Sequence[str] = (),
    words: Vocabulary = WORDS,
) -> Account:
    stories = [story(text, n) for n, text in enumerate(texts)]
    stories += [story(text, len(texts) + n, solved=False) for n, text in enumerate(failed)]
    return account_of(stories, random=random, runs=runs, words=words)


def account_of(
    stories: Sequence[Story], *, random: Sequence[str] = (), runs: Sequence[str] = (), words: Vocabulary = WORDS
) -> Account:
    played = tuple(story(text, n, solved=False) for n, text in enumerate(random))
    own = tuple(story(text, n, solved=False) for n, text in enumerate(runs))
    return Account(
        words,
        tuple(stories),
        shares(stories, words),
        PlayAccount(played, shares(played, words)) if random else None,
        (PlayAccount(own, shares(own, words)),) if runs else (),
    )


def shares(stories: Sequence[Story], words: Vocabulary) -> dict[str, float]:
    tally = Counter(name for each in stories for name in each.names)
    total = max(1, sum(each.length for each in stories))
    return {event.name: tally[event.name] / total for event in words.events}


SIGNAL = Signal("height", "how high")


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Any events, some of which hold for a while, and any balances between them."""
    names = [f"e{n}" for n in range(draw(st.integers(1, 6)))]
    events = tuple(Event(name, name, act=draw(st.booleans())) for name in names)
    some = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True).map(tuple)
    balances = []
    for _ in range(draw(st.integers(0, 3))):
        plus = draw(some)
        minus = tuple(name for name in draw(st.one_of(st.just(()), some)) if name not in plus)
        balances.append(Balance(plus, minus, most=draw(st.sampled_from([None, 1, 2]))))
    return Vocabulary("drawn", events, balances=tuple(balances))


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    """Demonstrations of one or two orders of events, each with others in between and some left out."""
    words = draw(vocabularies())
    name = st.sampled_from([event.name for event in words.events])
    texts = st.lists(name, max_size=8).map(" ".join)
    orders = draw(st.lists(st.lists(name, min_size=1, max_size=6), min_size=1, max_size=2))

    def variant() -> str:
        events = list(draw(st.sampled_from(orders)))
        for _ in range(draw(st.integers(0, 3))):
            place = draw(st.integers(0, len(events)))
            events[place : place + draw(st.integers(0, 1))] = draw(st.lists(name, max_size=1))
        return " ".join(events)

    return account(
        *(variant() for _ in range(draw(st.integers(1, 6)))),
        failed=draw(st.lists(texts, max_size=2)),
        random=draw(st.one_of(st.just([]), st.just(["e0"]), st.lists(texts, min_size=1, max_size=3))),
        runs=draw(st.one_of(st.just([]), st.lists(texts, min_size=10, max_size=12))),
        words=words,
    )
