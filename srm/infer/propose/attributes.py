"""Attributes of milestones: a value that matters becomes part of the guard, an equality between two events part of the pay.

A value matters if the demonstrations never have another and play does: a red button among others. Two milestones may share a value that
differs from demonstration to demonstration, as a key has the colour of its door. That matters if play has others in the same episode. A guard
compares an attribute with a constant, so the rule of the later milestone asks for it in hindsight: only the key of that colour stays paid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srm.infer.propose.reading import Account, Story
from srm.infer.propose.structure import needed

FEWEST = 3  # demonstrations, before a constant value means anything
OCCURRENCES = 5  # of the event in play, before its values are compared
OTHERS = 0.2  # the share of other values in play that makes a constant one remarkable


@dataclass(frozen=True)
class Match:
    """Milestones whose values of an attribute agree, in order: a key, and the lock of its colour."""

    attribute: str
    events: tuple[str, ...]
    broken: bool  # by play, which has several values in one episode
    finding: str  # how often

    def __str__(self) -> str:
        return f"{', '.join(self.events[:-1])} and {self.events[-1]} have the same {self.attribute}; {self.finding}"


def find_guards(account: Account, milestones: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """`event where attribute = value` for the events that need it, and what was considered."""
    guards, remarks = {}, []
    played = _played(account)
    for event in milestones:
        tests = []
        for name, value in _constants(account.solved, event).items():
            others = Counter(_values(played, event, name))
            total = sum(others.values())
            if total >= OCCURRENCES and total - others[value] >= OTHERS * total:
                tests.append(f"{name} = {value}")
            elif total >= OCCURRENCES:
                remarks.append(f"{event}: its {name} is always {value}, in play too, so no guard asks for it")
        if tests:
            guards[event] = f"{event} where {', '.join(tests)}"
    return guards, tuple(remarks)


def find_matches(account: Account, milestones: Sequence[str]) -> tuple[Match, ...]:
    """The equalities of the demonstrations, and whether play breaks them: who cannot take a wrong key need not be asked for the right one."""
    played = _played(account)
    matches = []
    for name, group in _equalities(account.solved, milestones):
        event = group[0]
        having = [story for story in played if event in story.names]
        mixed = sum(len(set(_values([story], event, name))) > 1 for story in having)
        few = len(having) < OCCURRENCES
        finding = (
            f"play hardly ever has {event}"
            if few
            else f"play has several in {mixed} of {len(having)} episodes with {event}"
        )
        matches.append(Match(name, tuple(group), not few and mixed >= OTHERS * len(having), finding))
    return tuple(matches)


def _played(account: Account) -> list[Story]:
    plays = [*([account.random] if account.random else ()), *account.runs]
    return [story for play in plays for story in play.stories]


def _values(stories: Sequence[Story], event: str, name: str) -> Iterator[str]:
    for story in stories:
        for occurrence in story.occurrences:
            if occurrence.event == event:
                yield dict(occurrence.attributes).get(name, "none")


def _constants(stories: Sequence[Story], event: str) -> dict[str, str]:
    names = {name for s in stories for o in s.occurrences if o.event == event for name, _ in o.attributes}
    having = sum(event in story.names for story in stories)
    values = {name: set(_values(stories, event, name)) for name in sorted(names)}
    return {name: value.pop() for name, value in values.items() if len(value) == 1 and having >= FEWEST}


def _equalities(stories: Sequence[Story], milestones: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """For each attribute, the milestones whose last occurrences share it, in order; values that never differ say nothing."""
    names = sorted({name for story in stories for o in story.occurrences for name, _ in o.attributes})
    for name in names:
        groups: list[list[str]] = []
        for event in milestones:
            values = [_last(story, event, name) for story in stories]
            known = [value for value in values if value is not None]
            if len(known) < max(FEWEST, needed(len(stories))) or len(set(known)) == 1:
                continue
            same = (g for g in groups if _agree(values, [_last(story, g[0], name) for story in stories]))
            group = next(same, None)
            groups.append([event]) if group is None else group.append(event)
        yield from ((name, group) for group in groups if len(group) > 1)


def _agree(one: Sequence[str | None], other: Sequence[str | None]) -> bool:
    return sum(a == b for a, b in zip(one, other, strict=True)) >= needed(len(one))


def _last(story: Story, event: str, name: str) -> str | None:
    return next((dict(o.attributes).get(name) for o in reversed(story.occurrences) if o.event == event), None)
