"""Where a run comes from, for its config: the environment and who steps it, the versions that played it, and what was typed."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from srm.domains.base import Task
from srm.domains.registry import packages
from srm.extras import DISTRIBUTION, is_missing


def origin(env_id: str, stepped_by: str, *, typed: bool = True) -> dict[str, Any]:
    """`typed`: on the command line. What a program in Python asked for cannot be typed again."""
    known = {"env_id": env_id, "envs": stepped_by, "versions": versions()}
    return {**known, "command": command(sys.argv[1:])} if typed else known


def envs_line(env_id: str, stepped_by: str) -> str:
    """What is said first by everything that plays."""
    return f"envs: {env_id} ({stepped_by})"


def stepped_by(task: Task) -> str:
    """Who steps a task's environments, for those that have none at hand."""
    envs = task.make_envs(1, seed=0)
    envs.close()
    return envs.stepped_by


def command(arguments: Sequence[str]) -> str:
    """What was typed, but for where the run was to lie: whoever runs it again wants another place."""
    words = iter(arguments)
    kept = [word for word in words if not (word in ("-o", "--out") and next(words, None) is not None)]
    return shlex.join(["srm", *(word for word in kept if not word.startswith("--out="))])


def versions() -> dict[str, str]:
    envpool = () if is_missing("envpool") else ("envpool",)
    names = (DISTRIBUTION, "torch", "numpy", "gymnasium", *packages(), *envpool)
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
