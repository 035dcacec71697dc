"""Policies that ship as demonstrators: what `srm train` wrote, played by numpy alone, so that showing how it is done needs no torch.

    mean, variance  [D]           of what was observed in training
    layers          [out, in], [out]  of the actor, with tanh between them; the last one gives the mean of its Gaussian

A demonstrator does what is likeliest, which is that mean, clipped to the environment's torques from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from srm.errors import RunError
from srm.files import read_whole
from srm.tensors import unpack

FARTHEST = 10.0  # spreads from the mean, as in training
_MOST_BYTES = 400_000
_LAYERS = ("body.layers.0", "body.layers.2", "head")


@dataclass(frozen=True, eq=False)
class ShippedPolicy:
    """An actor of two layers with tanh."""

    mean: np.ndarray
    spread: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]

    def act(self, observation: np.ndarray) -> np.ndarray:
        """[A] float32."""
        inner = np.clip((observation - self.mean) / self.spread, -FARTHEST, FARTHEST).astype(np.float32)
        *hidden, (weight, bias) = self.layers
        for each, offset in hidden:
            inner = np.tanh(each @ inner + offset)
        return np.clip(weight @ inner + bias, -1, 1)


@cache
def read_shipped(path: Path) -> ShippedPolicy:
    """A `policy.safetensors` of a run, of which only the actor is kept."""
    try:
        tensors, _ = unpack(read_whole(path, _MOST_BYTES))
        moments = "net.encoder.moments"
        return ShippedPolicy(
            mean=tensors[f"{moments}.mean"],
            spread=np.sqrt(tensors[f"{moments}.variance"] + 1e-8),
            layers=tuple(
                (tensors[f"net.towers.actor.{layer}.weight"], tensors[f"net.towers.actor.{layer}.bias"])
                for layer in _LAYERS
            ),
        )
    except (OSError, ValueError, KeyError) as problem:
        raise RunError(f"{path}: no policy of two layers ({problem}); install the package again") from None


def actor_of_file(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """An expert that acts by it. The file is read when it first acts."""

    def act(observation: np.ndarray) -> np.ndarray:
        return read_shipped(path).act(observation)

    return act
