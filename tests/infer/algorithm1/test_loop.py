"""The table of docs/algorithm.md is what `--as-printed` changes, no more and no less."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import srm
from srm.infer.algorithm1.loop import InferConfig

PAGE = Path(srm.__file__).parents[1] / "docs" / "algorithm.md"
ROW = re.compile(r"\| `--([\w.-]+)` \| `([^`]+)`[^|]* \| `([^`]+)`[^|]* \| .+ \|")


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Every setting by its flag."""
    found: dict[str, str] = {}
    for name, value in config.items():
        flag = prefix + name.replace("_", "-")
        found |= flat(value, f"{flag}.") if isinstance(value, dict) else {flag: str(value)}
    return found


def test_the_page_lists_every_setting_that_as_printed_changes() -> None:
    usual, printed = flat(asdict(InferConfig())), flat(asdict(InferConfig().as_printed()))
    changed = {flag: (usual[flag], printed[flag]) for flag in usual if usual[flag] != printed[flag]}
    section = PAGE.read_text(encoding="utf-8").split("## Where it differs")[1].split("###")[0]
    assert {flag: (default, other) for flag, default, other in ROW.findall(section)} == changed
