"""All that a model of Stable-Baselines3 has learnt, as tensors by name: no file of ours is ever unpickled.

    net.NAME                         the policy's weights
    OPTIMISER.state.INDEX.NAME       Adam's moments
    variable.NAME                    what else is learnt, such as the weight of SAC's entropy
    steps                            played so far, which schedules depend on

A replay buffer is not kept: a run that is resumed fills a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import Tensor

from srm.errors import RunError


def write_state(model: BaseAlgorithm) -> dict[str, Tensor]:
    tensors = {f"net.{name}": value.detach().clone() for name, value in model.policy.state_dict().items()}
    for name, optimiser in _optimisers(model).items():
        for index, moments in optimiser.state_dict()["state"].items():
            for part, value in moments.items():
                tensors[f"{name}.state.{index}.{part}"] = torch.as_tensor(value).detach().clone()
    for name in model._get_torch_save_params()[1]:
        variable = attrgetter(name)(model)
        if variable is not None:
            tensors[f"variable.{name}"] = variable.detach().clone()
    return tensors | {"steps": torch.tensor(model.num_timesteps)}


def read_state(model: BaseAlgorithm, tensors: Mapping[str, Tensor]) -> None:
    read_policy(model, tensors)
    for name, optimiser in _optimisers(model).items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(f"{name}.state."):
                index, part = key.removeprefix(f"{name}.state.").split(".", 1)
                state.setdefault(int(index), {})[part] = value
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    for name in model._get_torch_save_params()[1]:
        if f"variable.{name}" in tensors:
            with torch.no_grad():
                attrgetter(name)(model).copy_(tensors[f"variable.{name}"])
    model.num_timesteps = int(tensors.get("steps", torch.tensor(0)))


def read_policy(model: BaseAlgorithm, tensors: Mapping[str, Tensor]) -> None:
    """The weights alone."""
    weights = {name.removeprefix("net."): value for name, value in tensors.items() if name.startswith("net.")}
    try:
        model.policy.load_state_dict(weights)
    except RuntimeError as problem:
        reason = str(problem).splitlines()[-1].strip()
        raise RunError(f"these weights are of another network or task: {reason}") from None


def _optimisers(model: BaseAlgorithm) -> dict[str, Any]:
    names = (name for name in model._get_torch_save_params()[0] if name.endswith("optimizer"))
    made = {name: attrgetter(name)(model) for name in names}
    return {name: optimiser for name, optimiser in made.items() if optimiser is not None}
