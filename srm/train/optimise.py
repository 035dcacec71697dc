"""Gradient steps: Adam with a bound on the gradient's norm, and its memory as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from srm.train.together import average


class Optimiser:
    """Steps some named weights."""

    def __init__(
        self, weights: Mapping[str, nn.Parameter], *, learning_rate: float, epsilon: float, norm: float
    ) -> None:
        self._weights, self._norm = dict(weights), norm
        # Fused: one call for all weights, 0.1 ms; the default spends 0.9 ms on a step of the CNN's.
        self._adam = torch.optim.Adam(list(self._weights.values()), lr=learning_rate, eps=epsilon, fused=True)

    def step(self) -> float:
        """Goes down the gradients that the weights hold; returns their norm before it was bounded."""
        average([weight.grad for weight in self._weights.values() if weight.grad is not None])
        norm = nn.utils.clip_grad_norm_(self._weights.values(), self._norm)
        self._adam.step()
        self._adam.zero_grad()
        return float(norm)

    def tensors(self) -> dict[str, Tensor]:
        """Adam's memory, for a checkpoint; empty before the first step."""
        return {
            f"{name}.{part}": value
            for name, weight in self._weights.items()
            for part, value in self._adam.state.get(weight, {}).items()
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        for name, weight in self._weights.items():
            state = {part: tensors.get(f"{name}.{part}") for part in ("step", "exp_avg", "exp_avg_sq")}
            if all(value is not None for value in state.values()):
                self._adam.state[weight] = {part: value.clone() for part, value in state.items() if value is not None}
