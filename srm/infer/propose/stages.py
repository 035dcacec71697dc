"""From ways to nodes: stages, stretches that may be done again, and ways that share how they begin and end.

A *stage* waits for one milestone, its closer; what comes besides pays as often as it was seen. Demonstrations by somebody who knows the
world go straight to the right door, and who does not know it may have to unlock several before the target is in sight. So the first stage
can hold a stretch that is done *again*: each kind of event pays once between two unlockings, and what comes next leads on.

Several ways are followed at once. A place is the set of what may lie ahead, so ways split where they differ and join where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from srm.infer.propose.again import Again
from srm.infer.propose.structure import Beside, Milestone, Way

DONE = "done"


@dataclass(frozen=True)
class Stage:
    """A milestone that is waited for, and what pays on the way to it."""

    closer: str
    stories: int
    besides: tuple[Beside, ...] = ()
    repeated: Milestone | None = None  # may be passed several times before the closer comes
    again: Again | None = None  # why, and how often


Future = tuple[Stage, ...]
Place = frozenset[Future]


@dataclass(frozen=True)
class Waypoint:
    """A place with its name, where each closer leads, and the milestone that was reached last, if there is one way here."""

    name: str
    place: Place
    targets: Mapping[str, str]
    before: str | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those that are waited for, one for each way."""
        return tuple(sorted({future[0] for future in self.place}, key=lambda stage: stage.closer))

    @property
    def ahead(self) -> frozenset[str]:
        """Every event that still pays on some way."""
        stages = [stage for future in self.place for stage in future]
        events = {event for stage in stages for event in (stage.closer, *(b.event for b in stage.besides))}
        return frozenset(events | {stage.repeated.event for stage in stages if stage.repeated})


def stages_of(way: Way, again: Again | None) -> Future:
    """With a stretch that may be done again, the first stage holds all of it."""
    if again is None:
        return tuple(Stage(link.event, link.stories, link.besides) for link in way.links(way.fixed))
    first, closer, *later = way.links([place for place in way.fixed if place >= again.place])
    events = {first.event, *(beside.event for beside in first.besides)}
    besides = (*first.besides, *(beside for beside in closer.besides if beside.event not in events))
    start = Stage(closer.event, closer.stories, besides, replace(first, besides=()), again)
    return (start, *(Stage(link.event, link.stories, link.besides) for link in later))


def find_waypoints(futures: Sequence[Future]) -> tuple[Waypoint, ...]:
    """Every place that can be reached, the start first."""
    start: Place = frozenset(futures)
    names = {start: _name(start, ())}
    entries: dict[Place, list[str]] = {start: []}  # the closers that lead there
    targets: dict[Place, dict[str, str]] = {}
    queue = [start]
    for place in queue:
        targets[place] = {}
        for closer in sorted({future[0].closer for future in place}):
            following = frozenset(future[1:] for future in place if future[0].closer == closer)
            if () in following:
                targets[place][closer] = DONE
                continue
            if following not in names:
                names[following] = _name(following, tuple(names.values()))
                entries[following] = []
                queue.append(following)
            targets[place][closer] = names[following]
            entries[following].append(closer)
    return tuple(
        Waypoint(names[place], place, targets[place], entries[place][0] if len(entries[place]) == 1 else None)
        for place in queue
    )


def _name(place: Place, others: Sequence[str]) -> str:
    """After what is waited for; with a number where another place waits for the same."""
    name = "before_" + "_or_".join(sorted({future[0].closer for future in place}))
    number = 2
    free = name
    while free in others:
        free, number = f"{name}_{number}", number + 1
    return free
