"""What the vocabulary's balances say of milestones: what undoes them, and whether they may happen again.

pick_up_key - drop_key: 0 to 1      drop_key undoes pick_up_key, and pick_up_key undoes drop_key
unlock_door: 0 or more, but finite  it may happen again, and not without end
reach_goal: 0 to 1                  it happens once
"""

from __future__ import annotations

from srm.machine.vocabulary import Balance, Vocabulary


def undoers(event: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The events that take back what the event did, by the balances that speak of the fewest others."""
    of = [balance for balance in vocabulary.balances if event in (*balance.plus, *balance.minus)]
    paired = [balance for balance in of if balance.plus and balance.minus]
    fewest = min((len(_others(event, balance)) for balance in paired), default=0)
    undoing = (
        other for balance in paired if len(_others(event, balance)) == fewest for other in _others(event, balance)
    )
    return tuple(dict.fromkeys(undoing))


def _others(event: str, balance: Balance) -> tuple[str, ...]:
    return balance.minus if event in balance.plus else balance.plus


def taking_turns(event: str, undoer: str, vocabulary: Vocabulary) -> Balance | None:
    """The balance in which only the undoer makes up for the event, so that what the two pay together is bounded: a key is taken and put down."""
    for balance in vocabulary.balances:
        for alone, others in ((balance.minus, balance.plus), (balance.plus, balance.minus)):
            if alone == (undoer,) and event in others:
                return balance
    return None


def happens_again(event: str, vocabulary: Vocabulary) -> bool:
    """Whether the vocabulary says that it may happen several times in an episode, and never without end."""
    alone = [balance for balance in vocabulary.balances if balance.plus == (event,) and not balance.minus]
    return bool(alone) and all(balance.most is None or balance.most > 1 for balance in alone)


def without_detours(events: tuple[str, ...], vocabulary: Vocabulary) -> tuple[int, ...]:
    """The places that stay when whatever was undone and done again at once is left out: of key, no key, key stays one key."""
    kept: list[int] = []
    for place in range(len(events)):
        kept.append(place)
        while len(kept) > 2:
            first, second, third = (events[n] for n in kept[-3:])
            if first != third or second not in undoers(first, vocabulary):
                break
            del kept[-2:]
    return tuple(kept)
