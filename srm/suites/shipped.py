"""The suites that ship, by name; a TOML file is one's own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from srm.errors import RunError, near
from srm.suites.comparisons import COMPARISONS
from srm.suites.control import CONTROL
from srm.suites.figures import FIGURES
from srm.suites.suite import Suite, read_suite

SUITES = {suite.name: suite for suite in (*FIGURES, *COMPARISONS, *CONTROL)}


def find_suite(name: str, own_tasks: Collection[str] = ()) -> Suite:
    """One that ships, or a TOML file, which may ask for those tasks of one's own that the user has named."""
    if name in SUITES:
        return SUITES[name]
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return read_suite(path, own_tasks)
    raise RunError(f"there is no suite {name} (`srm suite` lists them), and no file of that name{near(name, SUITES)}")
