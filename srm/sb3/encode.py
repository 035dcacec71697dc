"""What a policy of Stable-Baselines3 sees: one row of numbers for each observation, whatever the environment shows.

Grids of cells, whose numbers are names (a door is 4), become one-hot in each channel; anything else is taken as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srm.domains.encodings import cells_of
from srm.trajectory import plain_arrays


def flat(seen: Any) -> np.ndarray:
    """[B, D] float32, of what B environments observe together. Of MiniGrid's dictionary it is the image."""
    if isinstance(seen, dict):
        parts = [seen["image"]] if "image" in seen else list(seen.values())
    else:
        parts = [array for _, array in plain_arrays(np.asarray(seen))]
    return np.concatenate([_numbers(np.asarray(part)) for part in parts], axis=1)


def _numbers(array: np.ndarray) -> np.ndarray:
    cells = cells_of(array.shape[1:]) if array.dtype == np.uint8 else None
    if cells is None:
        return array.reshape(len(array), -1).astype(np.float32)
    channels = [
        np.eye(size, dtype=np.float32)[np.minimum(array[..., channel], size - 1)]
        for channel, size in enumerate(cells.sizes)
    ]
    return np.concatenate(channels, axis=-1).reshape(len(array), -1)
