"""Packages that only some work needs. Each comes with an extra of this package, and a refusal names the command that brings it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from srm.errors import ExtraError

DISTRIBUTION = "symbolic-reward-machines"  # what pip calls this package
MODULE_OF = {  # extra -> what it lets one import
    "minari": "minari",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "ray": "ray",
    "arviz": "arviz",
    "sb3": "stable_baselines3",
    "envpool": "envpool",
    "studio": "uvicorn",
    "box2d": "Box2D",
    "mujoco": "mujoco",
    "driving": "highway_env",
}


def install(extra: str) -> str:
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def require(extra: str, purpose: str, *parts: str) -> Any:
    """The module of an extra, with such `parts` of it as are not loaded by themselves; `purpose` is what needs it."""
    name = MODULE_OF[extra]
    try:
        module = import_module(name)
        for part in parts:
            import_module(f"{name}.{part}")
    except ImportError as error:
        raise ExtraError(f"{purpose} needs {name} ({error}); install it with: {install(extra)}") from None
    return module


def is_missing(extra: str) -> bool:
    try:
        return find_spec(MODULE_OF[extra]) is None
    except ValueError:  # a module in sys.modules that was put there by hand
        return False
