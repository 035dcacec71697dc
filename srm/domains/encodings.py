"""Which observations are grids of cells, as their domains say."""

from __future__ import annotations

from srm.domains.cells import Cells
from srm.domains.registry import domains


def cells_of(observation_shape: tuple[int, ...]) -> Cells | None:
    """What the cells of an observation of this shape hold, if it has cells."""
    grids = (domain.cells() for domain in domains() if domain.cells is not None)
    fits = (cells for cells in grids if len(observation_shape) == 3 and observation_shape[2] == len(cells.sizes))
    return next(fits, None)
