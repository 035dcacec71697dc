"""Hoppers in two styles: policies that were trained here, each paid by a machine whose values are known. docs/hopper.md has the commands.

STYLES    each policy by the name of its style; `hopper_frugal` and `hopper_fast` of the library are the machines that paid them
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from srm.domains.base import Expert
from srm.domains.control.policies import actor_of_file

POLICIES = Path(__file__).parent / "policies"
STYLES: Mapping[str, Expert] = {name: actor_of_file(POLICIES / f"{name}.safetensors") for name in ("frugal", "fast")}
