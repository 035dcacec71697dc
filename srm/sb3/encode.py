"""What a policy of Stable-Baselines3 sees: one row of numbers for each observation, whatever the environment shows.

Grids of cells, whose numbers are names (a door is 4), become one-hot in each channel; anything else is taken as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srm.domains.encodings import cells_of
from srm.domains.envs import observation_of


def flat(seen: Any) -> np.ndarray:
    """[B, D] float32, of what B environments observe together."""
    observations = np.asarray(observation_of(seen))
    cells = cells_of(observations.shape[1:]) if observations.dtype == np.uint8 else None
    if cells is None:
        return observations.reshape(len(observations), -1).astype(np.float32)
    channels = [
        np.eye(size, dtype=np.float32)[np.minimum(observations[..., channel], size - 1)]
        for channel, size in enumerate(cells.sizes)
    ]
    return np.concatenate(channels, axis=-1).reshape(len(observations), -1)
