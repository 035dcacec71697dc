"""Tensors of a checkpoint, which somebody may have damaged: each has the shape and type of what it replaces, and finite numbers.

A compiled kernel that is given less memory than it expects writes beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from srm.errors import RunError


def saved(tensors: Mapping[str, Tensor], name: str, like: Tensor) -> Tensor:
    """The tensor of that name, or why it cannot be what it should."""
    if name not in tensors:
        raise RunError(f"these weights have no {name}: they are of another network or learner")
    tensor = tensors[name]
    if tensor.shape != like.shape:
        shape, expected = list(tensor.shape), list(like.shape)
        raise RunError(f"{name} is {shape}, expected {expected}: these weights are of another network or task")
    if tensor.dtype != like.dtype:
        raise RunError(f"{name} holds {tensor.dtype}, expected {like.dtype}: these weights are damaged")
    if not torch.isfinite(tensor).all():
        raise RunError(f"{name} has a number that is not finite: these weights are damaged")
    return tensor


def load_weights(module: nn.Module, part: str, tensors: Mapping[str, Tensor]) -> None:
    """Puts the tensors `part.*` into a module, or says which of them does not fit."""
    for name, value in module.state_dict().items():
        with torch.no_grad():
            value.copy_(saved(tensors, f"{part}.{name}", value))
