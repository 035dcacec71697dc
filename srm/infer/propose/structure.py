"""What the stories have in common: milestones in order, what comes in either order or only sometimes, how often, and several ways.

    stories -> ways      demonstrations that share what they do; one way, unless they exclude each other
    way     -> links     the milestones that nearly all of its stories pass in the same order, each with what happens besides

Agreement is never asked of every story: of ten, one may be odd. What was undone and done again at once is no part of a story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from srm.infer.propose.facts import undoers, without_detours
from srm.infer.propose.reading import Account, Story
from srm.machine.vocabulary import Vocabulary

ODD = 0.1  # the share of stories that may disagree
SOMETIMES = 0.2  # the share of stories that must have an event for it to be part of the task
CONSTANT = 0.5  # an event that happens at more than this share of the steps is no milestone
BEAM = 400  # beginnings of a common order that are followed
MOST_LINKS = 24


@dataclass(frozen=True)
class Beside:
    """An event that comes before a milestone, in any order with others."""

    event: str
    least: int  # how often, over the stories
    most: int
    stories: int  # that have it


@dataclass(frozen=True)
class Milestone:
    """A milestone, and what happens between it and the one before."""

    event: str
    stories: int  # that pass it in this order
    besides: tuple[Beside, ...] = ()


@dataclass(frozen=True)
class Way:
    """One way to solve the task. What lies between the milestones that are asked for comes besides."""

    skeleton: tuple[str, ...]  # milestones in order
    sequences: tuple[tuple[str, ...], ...]  # the stories that go this way, without detours
    numbers: tuple[int, ...]  # of their demonstrations
    undoing: Mapping[str, tuple[str, ...]]  # what undoes each event
    lasting: frozenset[str]  # events that hold for a while, and are reached only once

    def links(self, places: Sequence[int]) -> tuple[Milestone, ...]:
        """The milestones at these places of the skeleton."""
        events = tuple(self.skeleton[place] for place in places)
        matches = [match for sequence in self.sequences if (match := _match(events, sequence)) is not None]
        return tuple(
            Milestone(event, len(matches), tuple(self._besides([match[k] for match in matches], events, k)))
            for k, event in enumerate(events)
        )

    @property
    def common(self) -> frozenset[str]:
        """What nearly all stories of this way have."""
        return _common(self.sequences)

    @property
    def fixed(self) -> tuple[int, ...]:
        """The places of milestones that come neither in either order with others, nor several times in a row."""
        free = _free(self.skeleton, self.sequences)
        last = len(self.skeleton) - 1
        return tuple(k for k, e in enumerate(self.skeleton) if k == last or not (e in free or self._repeated(k)))

    def _repeated(self, k: int) -> bool:
        matches = [match for sequence in self.sequences if (match := _match(self.skeleton, sequence)) is not None]
        again = sum(self.skeleton[k] in match[k + 1] for match in matches)
        return self.skeleton[k] not in self.lasting and again >= self._least

    @property
    def events(self) -> tuple[str, ...]:
        """Milestones and what comes besides, in order."""
        links = self.links(self.fixed)
        return tuple(dict.fromkeys(e for link in links for e in (*(b.event for b in link.besides), link.event)))

    @property
    def events_before_end(self) -> frozenset[str]:
        """What comes on the way to the last milestone, which may be the same event."""
        links = self.links(self.fixed)
        besides = (beside.event for link in links for beside in link.besides)
        return frozenset((*besides, *(link.event for link in links[:-1])))

    @property
    def _least(self) -> float:
        """Of the stories, how many must have an event for it to be part of the task."""
        return min(len(self.sequences), max(2, SOMETIMES * len(self.sequences)))

    def _besides(self, stretches: Sequence[tuple[str, ...]], events: tuple[str, ...], k: int) -> Iterator[Beside]:
        """What happens in a stretch often enough, unless it only undoes what was reached."""
        undoing = {undoer for event in events[:k] for undoer in self.undoing[event]} - set(events[k:])
        for event in sorted({name for stretch in stretches for name in stretch}, key=self._rank):
            counts = [stretch.count(event) for stretch in stretches]
            having = sum(count > 0 for count in counts)
            is_over = event in self.lasting and event in events[:k]
            if event not in undoing and not is_over and having >= self._least:
                yield Beside(event, min(counts), max(counts), having)

    def _rank(self, event: str) -> tuple[float, str]:
        """When an event first happens, on average."""
        places = [sequence.index(event) for sequence in self.sequences if event in sequence]
        return sum(places) / len(places), event


@dataclass(frozen=True)
class Structure:
    ways: tuple[Way, ...]
    end: str | None  # what ends the demonstrations
    remarks: tuple[str, ...]  # what was considered
    unused: Mapping[str, str] = field(default_factory=dict)  # events that have no place in any way, and why


def needed(count: int) -> int:
    """Of so many stories, how many must agree."""
    return count - int(count * ODD)


def find_structure(account: Account, thresholds: Collection[str] = ()) -> Structure:
    """`thresholds`: the events among them that are comparisons of a signal."""
    vocabulary, stories = account.vocabulary, account.solved
    meaningful, remarks = _meaningful(account)
    end = _end(account, meaningful, thresholds)
    plain = [_plain(story, meaningful, end, vocabulary) for story in stories]
    common = _common(plain)
    plain = [_without_undone(events, common, vocabulary) for events in plain]
    groups = _split(list(range(len(plain))), plain)
    ways = [_way(group, stories, plain, end, vocabulary) for group in groups]
    used = {event for way in ways for event in way.events}
    unused = {e.name: _unused(e.name, stories, end) for e in vocabulary.events if e.name in meaningful - used}
    return Structure(tuple(sorted(ways, key=lambda way: -len(way.numbers))), end, tuple(remarks), unused)


# Which events matter


def _meaningful(account: Account) -> tuple[frozenset[str], list[str]]:
    """The events that may be milestones, and why others are not."""
    stories = account.solved
    events, remarks = [], []
    for event in account.vocabulary.events:
        name = event.name
        having = sum(name in story.names for story in stories)
        first = sum(any(o.event == name and o.step == 0 for o in story.occurrences) for story in stories)
        share = account.shares[name]
        played = account.random.shares[name] if account.random else 0.0
        if not having:
            why = "in no demonstration" + (f", {100 * played:.1f} % of the steps of random play" if played else "")
        elif share > CONSTANT:
            why = f"happens at {100 * share:.0f} % of all demonstrated steps, so nobody has to reach it"
        elif not event.act and first > len(stories) / 2:
            why = f"holds from the first step in {of_all(first, len(stories))}, so nobody has to reach it"
        elif played >= share:
            why = f"no rarer in random play ({100 * played:.1f} % of the steps) than in the demonstrations ({100 * share:.1f} %)"
        elif having < max(2, SOMETIMES * len(stories)) and len(stories) > 1:
            why = f"only in {of_all(having, len(stories))}"
        else:
            events.append(name)
            continue
        remarks.append(f"{name}: left out, {why}")
    return frozenset(events), remarks


def of_all(count: int, total: int) -> str:
    if total == 1:
        return "the one demonstration"
    return f"all {total} demonstrations" if count == total else f"{count} of {total} demonstrations"


def _end(account: Account, meaningful: frozenset[str], thresholds: Collection[str]) -> str | None:
    """The event at the last step of nearly all stories; of several no threshold, and the one that play has least, which says more."""
    stories = account.solved
    last = Counter(o.event for s in stories for o in s.occurrences if o.step == s.length - 1 and o.event in meaningful)
    played = account.random.shares if account.random else {}
    often = [event for event, count in last.items() if count >= needed(len(stories))]
    return min(
        often, key=lambda event: (event in thresholds, -last[event], played.get(event, 0.0), event), default=None
    )


def _unused(event: str, stories: Sequence[Story], end: str | None) -> str:
    """Why what might be a milestone has no place in any way."""
    early = any(o.event == event and o.step < story.length - 1 for story in stories for o in story.occurrences)
    if end is not None and not early:
        return f"{event}: left out, it happens at the last step alone, with {end}"
    return f"{event}: left out, it is done and undone again, or done by few of those who go the same way"


# Stories as sequences of events


def _plain(story: Story, meaningful: frozenset[str], end: str | None, vocabulary: Vocabulary) -> tuple[str, ...]:
    """What happens together with the end is no part of it: the end has precedence, so nothing else would be paid."""
    last = {o.event for o in story.occurrences if o.step == story.length - 1}
    over = last - {end} if end in last else set()
    kept = (o.event for o in story.occurrences if o.step < story.length - 1 or o.event not in over)
    events = tuple(name for name in kept if name in meaningful)
    return tuple(events[place] for place in without_detours(events, vocabulary))


def _common(plain: Sequence[tuple[str, ...]]) -> frozenset[str]:
    having = Counter(name for events in plain for name in set(events))
    return frozenset(name for name, count in having.items() if count >= needed(len(plain)))


def _without_undone(events: tuple[str, ...], common: frozenset[str], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Leaves out what is uncommon and only undoes, with what makes up for it later: a door closed, and opened again."""
    dropped: set[int] = set()
    for place, name in enumerate(events):
        undone = [other for other in undoers(name, vocabulary) if other in events[:place]]
        if name in common or not undone or place in dropped:
            continue
        again = next((n for n in range(place + 1, len(events)) if events[n] in undoers(name, vocabulary)), None)
        dropped |= {place} | ({again} if again is not None else set())
    return tuple(name for place, name in enumerate(events) if place not in dropped)


# Several ways


def _split(group: list[int], plain: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Stories that exclude each other: some have one event and never another, the rest the other and never the one."""
    least = max(2, SOMETIMES * len(group))
    events = sorted({name for n in group for name in plain[n]})
    for one in events:
        having = [n for n in group if one in plain[n]]
        lacking = [n for n in group if one not in plain[n]]
        if min(len(having), len(lacking)) < least:
            continue
        for other in events:
            instead = sum(other in plain[n] for n in lacking)
            beside = sum(other in plain[n] for n in having)
            if instead >= needed(len(lacking)) and beside <= len(having) - needed(len(having)):
                return [*_split(having, plain), *_split(lacking, plain)]
    return [group]


# One way


def _way(
    group: Sequence[int],
    stories: Sequence[Story],
    plain: Sequence[tuple[str, ...]],
    end: str | None,
    vocabulary: Vocabulary,
) -> Way:
    sequences = [plain[n] for n in group]
    skeleton = common_order([_before_end(events, end) for events in sequences], needed(len(group)))
    skeleton = (*skeleton, end) if end is not None else skeleton
    events = {name for sequence in sequences for name in sequence}
    return Way(
        skeleton,
        tuple(sequences),
        tuple(stories[n].number for n in group),
        {name: undoers(name, vocabulary) for name in events},
        frozenset(events - set(vocabulary.acts)),
    )


def _before_end(events: tuple[str, ...], end: str | None) -> tuple[str, ...]:
    return events[: len(events) - 1 - events[::-1].index(end)] if end in events else events


def common_order(sequences: Sequence[tuple[str, ...]], least: int) -> tuple[str, ...]:
    """The longest sequence that at least so many of the sequences contain in order, with gaps; the earliest of several.

    A repetition at once counts once: how often is asked later. Beginnings are followed `BEAM` at a time.
    """
    events = sorted({name for sequence in sequences for name in sequence})
    # What is known of a beginning: the place in each sequence after its last event, None where it is not contained.
    beam: list[tuple[tuple[str, ...], tuple[int | None, ...]]] = [((), tuple(0 for _ in sequences))]
    best: tuple[str, ...] = ()
    for _ in range(MOST_LINKS):
        longer: dict[tuple[str, ...], tuple[int | None, ...]] = {}
        for beginning, places in beam:
            for event in events:
                if beginning and beginning[-1] == event:
                    continue
                after = tuple(_after(event, s, place) for s, place in zip(sequences, places, strict=True))
                if sum(place is not None for place in after) >= least:
                    longer[(*beginning, event)] = after
        if not longer:
            break
        beam = sorted(longer.items(), key=_lateness)[:BEAM]
        best = beam[0][0]
    return best


def _after(event: str, sequence: tuple[str, ...], place: int | None) -> int | None:
    if place is None or event not in sequence[place:]:
        return None
    return sequence.index(event, place) + 1


def _lateness(entry: tuple[tuple[str, ...], tuple[int | None, ...]]) -> tuple[int, float, tuple[str, ...]]:
    beginning, places = entry
    reached = [place for place in places if place is not None]
    return len(places) - len(reached), sum(reached) / len(reached), beginning


def _match(skeleton: tuple[str, ...], sequence: tuple[str, ...]) -> list[tuple[str, ...]] | None:
    """What stands before each milestone and after the one before it; None where the sequence lacks one."""
    stretches, place = [], 0
    for event in skeleton:
        after = _after(event, sequence, place)
        if after is None:
            return None
        stretches.append(sequence[place : after - 1])
        place = after
    return stretches


def _free(skeleton: tuple[str, ...], sequences: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """Milestones that an event common to the stories, but not of the skeleton, precedes in some stories and follows in others."""
    least = needed(len(sequences))
    free = set()
    for other in _common(sequences) - set(skeleton):
        for event in skeleton:
            both = [s for s in sequences if other in s and event in s]
            before = sum(s.index(other) < s.index(event) for s in both)
            if before < least and len(both) - before < least:
                free.add(event)
    return frozenset(free)
