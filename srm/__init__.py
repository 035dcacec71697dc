"""Symbolic reward machines: say what a task consists of, and infer what each part is worth.

    machine = srm.load("first.srm")                     # draws itself in a notebook
    machine.check()                                     # what can be proved, as text or HTML
    demos = srm.demonstrations("doorkey")
    posterior = srm.infer("doorkey", machine, demos)    # seconds; plots itself
    run = srm.learn("doorkey", machine, demos, frames=300_000)
    srm.evaluate(run.policy, "DoorKey-16x16", episodes=200)

This list is the public surface. Each name is loaded when it is first used, so that `import srm` takes a few milliseconds and loads
neither PyTorch nor NumPy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from srm.errors import (
    AssignmentError,
    DemonstrationError,
    ExtraError,
    MachineError,
    RunError,
    SettingError,
    SrmError,
    TaskError,
    TrajectoryError,
)

if TYPE_CHECKING:
    from srm.api.inference import infer, propose
    from srm.api.machines import check, from_terms, load
    from srm.api.play import audit, demonstrations, envs, record, rollout
    from srm.api.runs import compare, evaluate, learn, resume, train
    from srm.domains.base import Task
    from srm.domains.words import Vocabulary
    from srm.evaluate.wrappers import SymbolicReward, SymbolicRewardVector
    from srm.machine.model import Machine
    from srm.results import RunResult
    from srm.trajectory import Demonstrations

__version__ = "0.2.0"

__all__ = [
    "AssignmentError",
    "DemonstrationError",
    "Demonstrations",
    "ExtraError",
    "Machine",
    "MachineError",
    "RunError",
    "RunResult",
    "SettingError",
    "SrmError",
    "SymbolicReward",
    "SymbolicRewardVector",
    "Task",
    "TaskError",
    "TrajectoryError",
    "Vocabulary",
    "audit",
    "check",
    "compare",
    "demonstrations",
    "envs",
    "evaluate",
    "from_terms",
    "infer",
    "learn",
    "load",
    "propose",
    "record",
    "resume",
    "rollout",
    "train",
]

_HOME = {
    **dict.fromkeys(("infer", "propose"), "srm.api.inference"),
    **dict.fromkeys(("check", "from_terms", "load"), "srm.api.machines"),
    **dict.fromkeys(("audit", "demonstrations", "envs", "record", "rollout"), "srm.api.play"),
    **dict.fromkeys(("compare", "evaluate", "learn", "resume", "train"), "srm.api.runs"),
    "Demonstrations": "srm.trajectory",
    "Machine": "srm.machine.model",
    "RunResult": "srm.results",
    "SymbolicReward": "srm.evaluate.wrappers",
    "SymbolicRewardVector": "srm.evaluate.wrappers",
    "Task": "srm.domains.base",
    "Vocabulary": "srm.domains.words",
}


def __getattr__(name: str) -> Any:
    if name == "sb3":  # a part of its own, which needs an extra
        return import_module("srm.sb3")
    if name not in _HOME:
        raise AttributeError(f"module srm has no attribute {name}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _FrontDoor(ModuleType):
    """Importing `srm.infer.x` would put the package `srm.infer` in the place of the function: what is public stays what it is."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
