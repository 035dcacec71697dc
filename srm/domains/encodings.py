"""Which observations are grids of cells. A domain whose observations are adds what its cells hold here."""

from __future__ import annotations

from srm.domains.cells import Cells
from srm.domains.minigrid.encoding import MINIGRID_CELLS

GRIDS = (MINIGRID_CELLS,)


def cells_of(observation_shape: tuple[int, ...]) -> Cells | None:
    """What the cells of an observation of this shape hold, if it has cells."""
    fits = (cells for cells in GRIDS if len(observation_shape) == 3 and observation_shape[2] == len(cells.sizes))
    return next(fits, None)
