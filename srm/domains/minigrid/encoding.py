"""What a cell of MiniGrid's partial observation holds, for the networks that look at cells."""

from __future__ import annotations

from srm.domains.cells import Cells

DOOR = 4
COLOURS = 6
# unseen, empty, wall, goal and lava have no colour to choose
_ONLY_COLOUR = {0: 0, 1: 0, 2: 5, 8: 1, 9: 0}


def _usual(kind: int, colour: int, state: int) -> bool:
    """What MiniGrid's own environments show, some fifty of 198: only doors have states."""
    return kind == DOOR or (state == 0 and colour == _ONLY_COLOUR.get(kind, colour))


MINIGRID_CELLS = Cells("MiniGrid's partial observation", ("types", "colours", "states"), (11, COLOURS, 3), _usual)
