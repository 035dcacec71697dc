"""Ways back: a milestone that may have to be passed again before the next one comes.

Demonstrations by somebody who knows the world never show it. The vocabulary does, where it says that the milestone may happen several times
and not without end (a door is unlocked once, and there are several). So does the play of a policy: the milestone happened, and the next never came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srm.infer.propose.facts import happens_again
from srm.infer.propose.reading import PlayAccount, Story
from srm.infer.propose.structure import Way
from srm.machine.vocabulary import Vocabulary

EPISODES = 10  # of play that pass the milestone, before they decide
STUCK = 0.05  # the share of them that may stop there although no way back is needed


@dataclass(frozen=True)
class Again:
    """The stretch up to this place of the skeleton may be done again."""

    place: int
    reason: str
    finite: bool  # the vocabulary bounds how often; else the machine has to


def find_again(way: Way, vocabulary: Vocabulary, runs: Sequence[PlayAccount]) -> tuple[Again | None, tuple[str, ...]]:
    """The last milestone that may have to be passed again, and what was considered."""
    stories = [story for play in runs for story in play.stories]
    remarks = []
    links = way.links(way.fixed)
    for index, (place, after) in reversed(list(enumerate(zip(way.fixed, way.fixed[1:], strict=False)))):
        event, following = way.skeleton[place], way.skeleton[after]
        before = {beside.event for link in links[: index + 1] for beside in link.besides}
        if following in {event, *before}:
            continue  # nothing would tell passing it again from going on
        passing = [story for story in stories if event in story.names]
        stuck = sum(not _follows(story, event, following) for story in passing)
        decided = len(passing) >= EPISODES
        finite = happens_again(event, vocabulary)
        free = not any(event in (*balance.plus, *balance.minus) for balance in vocabulary.balances)
        played = f"play stopped after it in {stuck} of {len(passing)} episodes"
        if decided and stuck <= STUCK * len(passing):
            remarks.append(
                f"{event}: no way back, since play went on to {following} in {len(passing) - stuck} of {len(passing)} episodes"
            )
        elif finite:
            why = played if decided else "may have to be done again"
            return Again(place, f"{why}, until {following}", True), tuple(remarks)
        elif free and decided:
            return Again(place, f"{played}, until {following}", False), tuple(remarks)
        elif free:
            remarks.append(
                f"{event}: no way back; the vocabulary does not bound how often it happens, and no --play shows that one is needed"
            )
    return None, tuple(remarks)


def _follows(story: Story, event: str, following: str) -> bool:
    return following in story.names[story.names.index(event) :]
