"""Observations that are grids of cells, each of which holds one value in every channel.

    observations [..., width, height, channels] uint8   what each cell holds
    codes        [..., cells] uint8                     all channels of a cell as one number; 0 is a cell of no observation

A network that looks codes up in a table needs to know how many there are, and is faster when those that occur come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from srm.errors import TaskError

BLANK = 0  # the episode had not begun yet


@dataclass(frozen=True)
class Cells:
    """What a cell can hold."""

    kind: str  # of observation, for messages
    channels: tuple[str, ...]
    sizes: tuple[int, ...]  # values of each channel, from 0 on
    usual: Callable[..., bool]  # whether a cell with these values, one of each channel, is a common sight

    def __post_init__(self) -> None:
        assert math.prod(self.sizes) < 256, f"{self.sizes} of {self.kind} do not fit a byte"

    @cached_property
    def meanings(self) -> np.ndarray:
        """[codes - 1, channels] of the codes from 1 on, usual ones first."""
        return np.array(sorted(np.ndindex(*self.sizes), key=lambda meaning: not self.usual(*meaning)))

    @property
    def codes(self) -> int:
        return len(self.meanings) + 1

    @cached_property
    def _code_of(self) -> np.ndarray:
        """[product of sizes] by all channels of a cell, taken as the digits of one number."""
        code_of = np.zeros(len(self.meanings), np.uint8)
        code_of[np.ravel_multi_index(tuple(self.meanings.T), self.sizes)] = np.arange(1, self.codes)
        return code_of

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Codes [..., cells] of observations [..., width, height, channels]."""
        values = [observations[..., channel] for channel in range(len(self.sizes))]
        most = [value.max(initial=0) for value in values]
        if any(largest >= size for largest, size in zip(most, self.sizes, strict=True)):
            raise TaskError(
                f"an observation holds ({', '.join(map(str, most))}); the cell networks read {self.kind}, "
                f"whose {_listed(self.channels)} are below {_listed(self.sizes)}; for other observations use --net mlp, "
                "and --reward-net.trunk plain where a reward net learns"
            )
        number = values[0]
        for value, size in zip(values[1:], self.sizes[1:], strict=True):
            number = number * np.uint8(size) + value
        codes = self._code_of[number]
        return codes.reshape(*codes.shape[:-2], -1)


def _listed(words: tuple[object, ...]) -> str:
    return f"{', '.join(map(str, words[:-1]))} and {words[-1]}"
