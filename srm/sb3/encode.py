"""What a policy of Stable-Baselines3 sees: one row of numbers for each observation, whatever the environment shows.

Grids of cells, whose numbers are names (a door is 4), become one-hot in each channel, and pictures numbers from 0 to 1; anything else
is taken as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srm.domains.encodings import cells_of
from srm.domains.spaces import LARGEST_GRID
from srm.trajectory import plain_arrays


def flat(seen: Any) -> np.ndarray:
    """[B, D] float32, of what B environments observe together. Of MiniGrid's dictionary it is the image."""
    if isinstance(seen, dict):
        parts = [seen["image"]] if "image" in seen else list(seen.values())
    else:
        parts = [array for _, array in plain_arrays(np.asarray(seen))]
    return np.concatenate([_numbers(np.asarray(part)) for part in parts], axis=1)


def _numbers(array: np.ndarray) -> np.ndarray:
    picture = array.dtype == np.uint8 and array.ndim == 4
    cells = cells_of(array.shape[1:]) if picture and max(array.shape[1:3]) <= LARGEST_GRID else None
    if cells is None:
        return array.reshape(len(array), -1).astype(np.float32) / (255 if picture else 1)
    channels = [
        np.eye(size, dtype=np.float32)[np.minimum(array[..., channel], size - 1)]
        for channel, size in enumerate(cells.sizes)
    ]
    return np.concatenate(channels, axis=-1).reshape(len(array), -1)
