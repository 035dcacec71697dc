"""What a domain must offer so that machines can speak of it: its words, and a way to read them in a rollout.

    vocabulary              names, meanings and known facts; symbols only (`srm.machine.vocabulary`)
    read(rollout) -> Events what happened at each of its T x B steps, for all envs at once

An event reader is stateless: an event of step t follows from the observation before it, the action, and the observation after it (and
the poses), so a rollout can be read whole, in pieces, or from a file years later.
"""

from __future__ import annotations

from typing import Protocol

from srm.machine.vocabulary import Vocabulary
from srm.trajectory import Events, Rollout


class EventReader(Protocol):
    """A domain's vocabulary and its reading."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def read(self, rollout: Rollout) -> Events:
        """Every event of every valid step. Steps that are not valid have none."""
        ...
