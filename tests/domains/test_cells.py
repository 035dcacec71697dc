from __future__ import annotations

import numpy as np
import pytest

from srm.domains.cells import BLANK, Cells
from srm.domains.encodings import cells_of
from srm.domains.minigrid.encoding import MINIGRID_CELLS
from srm.errors import TaskError

COINS = Cells("a table of coins", ("values", "sides"), (3, 2), lambda value, side: side == 1)


@pytest.mark.parametrize("cells", [MINIGRID_CELLS, COINS], ids=lambda cells: cells.kind)
def test_every_content_has_a_code_of_its_own_that_means_it(cells: Cells) -> None:
    contents = np.array(list(np.ndindex(*cells.sizes)), np.uint8)
    codes = cells.encode(contents[:, None])  # a grid one cell wide
    assert codes.dtype == np.uint8
    assert sorted(codes.tolist()) == list(range(1, cells.codes))
    assert BLANK not in codes
    assert (cells.meanings[codes - 1] == contents).all()


def test_usual_contents_have_the_lowest_codes() -> None:
    assert COINS.meanings.tolist() == [[0, 1], [1, 1], [2, 1], [0, 0], [1, 0], [2, 0]]
    wall, door, odd_key = (
        MINIGRID_CELLS.encode(np.array([[cell]], np.uint8)).item() for cell in ((2, 5, 0), (4, 3, 2), (5, 0, 2))
    )
    assert max(wall, door) < odd_key


def test_codes_are_laid_out_cell_by_cell() -> None:
    grids = np.random.default_rng(0).integers(0, (3, 2), (4, 5, 7, 6, 2)).astype(np.uint8)
    codes = COINS.encode(grids)
    assert codes.shape == (4, 5, 42)
    assert codes[2, 3, 4 * 6 + 5] == COINS.encode(grids[2, 3, 4:5, 5:6]).item()


def test_a_view_with_other_things_than_minigrids_is_refused() -> None:
    observation = np.zeros((1, 7, 7, 3), np.uint8)
    observation[0, 3, 3, 0] = 11
    expected = r"an observation holds \(11, 0, 0\).*MiniGrid's partial observation.*types, colours and states are below 11, 6 and 3.*--net mlp"
    with pytest.raises(TaskError, match=expected):
        MINIGRID_CELLS.encode(observation)


def test_observations_are_grids_of_cells_by_their_shape() -> None:
    assert cells_of((7, 7, 3)) is MINIGRID_CELLS
    assert cells_of((7, 7, 4)) is None
    assert cells_of((3,)) is None
