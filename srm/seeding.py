"""One random stream per purpose, so that a new draw in one place cannot shift the draws of another."""

from __future__ import annotations

import zlib

import numpy as np

from srm.errors import SettingError


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A generator for one purpose of one run: `stream(seed, "assignments")`."""
    if seed < 0:
        raise SettingError(f"seed {seed}: seeds are 0 or more")
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])
