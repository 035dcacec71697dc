"""What a domain must offer so that machines can speak of it: its words, and a way to read them in a rollout.

    words                   names, meanings and known facts; symbols only (`srm.machine.words`)
    read(rollout) -> Events what happened at each of its T x B steps, for all envs at once

A vocabulary is stateless: an event of step t follows from the observation before it, the action, and the observation after it (and
the places), so a rollout can be read whole, in pieces, or from a file years later.
"""

from __future__ import annotations

from typing import Protocol

from srm.machine.words import Words
from srm.trajectory import Events, Rollout


class Vocabulary(Protocol):
    """A domain's words and their reading."""

    @property
    def words(self) -> Words: ...

    def read(self, rollout: Rollout) -> Events:
        """Every event of every real step. Steps that are not real have none."""
        ...
