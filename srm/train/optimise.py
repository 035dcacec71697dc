"""Gradient steps: Adam with a bound on the gradient's norm, and its memory as plain arrays.

All weights of an optimiser lie in one array, and so do their gradients: a step is five operations rather than five for each weight,
0.3 ms instead of 0.9 for the CNN.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from srm.train.together import average

PARTS = ("exp_avg", "exp_avg_sq")  # of Adam's memory, as long as the weights


class Optimiser:
    """Steps some named weights."""

    def __init__(
        self, weights: Mapping[str, nn.Parameter], *, learning_rate: float, epsilon: float, norm: float
    ) -> None:
        self._shapes, self._norm = {name: weight.shape for name, weight in weights.items()}, norm
        self._all = nn.Parameter(torch.cat([weight.detach().flatten() for weight in weights.values()]))
        self._all.grad = torch.zeros_like(self._all)
        for name, weight in weights.items():
            weight.data = self._views(self._all.data)[name]
            weight.grad = self._views(self._all.grad)[name]
        self._adam = torch.optim.Adam([self._all], lr=learning_rate, eps=epsilon, fused=True)

    def step(self) -> float:
        """Goes down the gradients that the weights hold; returns their norm before it was bounded."""
        gradient = self._all.grad
        assert gradient is not None
        average(gradient)
        norm = float(gradient.norm())
        if norm > self._norm:
            gradient.mul_(self._norm / (norm + 1e-6))
        self._adam.step()
        gradient.zero_()
        return norm

    def tensors(self) -> dict[str, Tensor]:
        """Adam's memory, for a checkpoint; empty before the first step."""
        state = self._adam.state.get(self._all)
        if not state:
            return {}
        parts = {part: self._views(state[part]) for part in PARTS}
        return {f"{name}.{part}": views[name] for part, views in parts.items() for name in self._shapes} | {
            f"{name}.step": state["step"] for name in self._shapes
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        names = [f"{name}.{part}" for name in self._shapes for part in ("step", *PARTS)]
        if not all(name in tensors for name in names):
            return
        state = {part: torch.cat([tensors[f"{name}.{part}"].flatten() for name in self._shapes]) for part in PARTS}
        first = next(iter(self._shapes))
        self._adam.state[self._all] = {"step": tensors[f"{first}.step"].clone(), **state}

    def _views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of an array of all weights, by name."""
        sizes = [shape.numel() for shape in self._shapes.values()]
        return {
            name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), flat.split(sizes), strict=True)
        }
