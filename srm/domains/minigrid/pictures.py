"""An observation of MiniGrid as a picture, by its own package."""

from __future__ import annotations

import numpy as np

from srm.trajectory import Observations


def draw_observation(observation: Observations) -> np.ndarray | None:
    """[height, width, 3], the agent in the middle of the lowest row; None of an observation that is not MiniGrid's."""
    from minigrid.core.grid import Grid

    if observation.shape != (7, 7, 3):
        return None
    grid, visible = Grid.decode(observation)
    picture: np.ndarray = grid.render(32, agent_pos=(3, 6), agent_dir=3, highlight_mask=visible)
    return picture
