"""Attributes of milestones: a value that matters becomes part of the guard, an equality between two events is remarked.

A value matters if the demonstrations never have another and play does: a red button among others. Two milestones may share a value that
differs from demonstration to demonstration, as a key has the colour of its door. A guard compares an attribute with a constant, so
that stays a remark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from srm.infer.propose.reading import Account, Story
from srm.infer.propose.structure import needed

FEWEST = 3  # demonstrations, before a constant value means anything
OCCURRENCES = 5  # of the event in play, before its values are compared
OTHERS = 0.2  # the share of other values in play that makes a constant one remarkable


def find_guards(account: Account, milestones: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """`event where attribute = value` for the events that need it, and what was considered."""
    guards, remarks = {}, []
    plays = [*([account.random] if account.random else ()), *account.runs]
    played = [story for play in plays for story in play.stories]
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
    return guards, (*remarks, *_equalities(account.solved, milestones))


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


def _equalities(stories: Sequence[Story], milestones: Sequence[str]) -> Iterator[str]:
    """For each attribute, the milestones whose last occurrences share it; values that never differ say nothing."""
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
        for group in groups:
            if len(group) > 1:
                listed = f"{', '.join(group[:-1])} and {group[-1]}"
                yield f"{listed} have the same {name}; a guard compares an attribute with a constant, so no rule asks for it"


def _agree(one: Sequence[str | None], other: Sequence[str | None]) -> bool:
    return sum(a == b for a, b in zip(one, other, strict=True)) >= needed(len(one))


def _last(story: Story, event: str, name: str) -> str | None:
    return next((dict(o.attributes).get(name) for o in reversed(story.occurrences) if o.event == event), None)
